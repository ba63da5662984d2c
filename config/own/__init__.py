"""Code of the user's own that settings name, and the folders that are trusted with it."""

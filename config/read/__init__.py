"""From files and arguments to a checked config."""

"""HTML pages and figures. A page loads nothing, and is made of files alone."""

"""Parts that all kinds of environment share: spaces, masks, rows, wrappers, checks."""

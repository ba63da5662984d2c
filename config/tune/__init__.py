"""Values to try, and section tune_cfg."""

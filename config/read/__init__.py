"""From files and arguments to a checked config, or to a tuning with values to try."""

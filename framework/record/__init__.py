"""Output of a run while it trains: the console, log files, loggers, traces, and callbacks of the user's own."""

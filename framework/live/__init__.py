"""The page of the command watch: all runs of a folder in a browser on this machine, while they train."""

"""The reading of a command line: words in, a request out. Imports nothing heavy."""

"""Runs from the command line: train, test, resume, many seeds, and their task directories."""

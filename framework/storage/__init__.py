"""Copies of runs in a store: written while they train, and read as if they were here."""

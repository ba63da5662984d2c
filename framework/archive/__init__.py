"""Reads runs from their task directories: lists, curves, series, scores and statistics."""

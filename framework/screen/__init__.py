"""Text on a terminal: lines, live blocks, formats of numbers and durations."""

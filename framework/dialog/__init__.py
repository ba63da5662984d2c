"""Training of a dialogue policy by a program's own loop, with ConvLab-2's names."""

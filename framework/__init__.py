"""Everything between a valid configuration and a finished run: collecting, learning, saving, and telling."""

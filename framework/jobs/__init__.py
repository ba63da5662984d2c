"""Several runs in one command: seeds, experiments and tunings. Repeatable, whatever was killed in between."""

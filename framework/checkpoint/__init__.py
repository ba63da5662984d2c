"""Checkpoints: the store, the journal of the replay memory, and atomic writes."""

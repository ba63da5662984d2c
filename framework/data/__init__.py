"""Batches and replay buffers for training loops of one's own, on the memory that training uses."""

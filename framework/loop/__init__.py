"""The training loop: rounds of collecting and learning, evaluations, and when to save."""

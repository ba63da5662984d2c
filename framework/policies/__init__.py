"""The policies of a run: the plan, and several policies in one environment, of which each learns from its
agents' part."""

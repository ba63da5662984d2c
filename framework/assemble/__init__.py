"""From a config to environments, agents, memories and collectors; what fits together, and what it needs."""

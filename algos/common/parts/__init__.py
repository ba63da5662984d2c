"""Parts of agents that several algorithms share."""

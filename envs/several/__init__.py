"""Several agents in one environment: rosters, joint observations, rows."""

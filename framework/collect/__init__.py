"""Steps of environments as columns [T, N]; the room that calls environments (framework/dialog plays sampled ones)."""

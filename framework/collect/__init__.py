"""Steps of environments as columns [T, N]; the only room that calls an environment."""

"""Configuration: typed defaults, a strict loader, and everything generated from them. Imports nothing of ours."""

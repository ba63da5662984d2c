"""Runs in repositories of model hubs: what is uploaded of a run, its card, and what is downloaded."""

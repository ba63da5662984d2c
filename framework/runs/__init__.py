"""A run: its session, its resume, its saved model opened to play."""

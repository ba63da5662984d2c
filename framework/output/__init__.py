"""Former places of two modules whose names programs and settings contain: they keep answering."""

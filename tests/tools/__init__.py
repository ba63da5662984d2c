"""Programs that measure; pytest does not collect them."""

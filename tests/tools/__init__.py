"""Programs that measure, also with files of other projects, which a user has; pytest does not collect them."""

"""Programs for checks against other projects' files, which a user has on the own machine."""

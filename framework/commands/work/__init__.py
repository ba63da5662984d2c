"""The work of commands, once their words and the configuration are valid. Heavy packages are imported here alone."""

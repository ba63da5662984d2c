"""What commands do once their words and the configuration are valid. Heavy packages are imported here, not before."""

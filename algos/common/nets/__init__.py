"""Networks, from the layer lists of the configuration."""

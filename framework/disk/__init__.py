"""Files of a run: whole or absent, cut back on a resume, and read while another process writes them."""

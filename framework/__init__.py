"""Everything between a valid configuration and a finished run: collecting, learning, saving, and telling."""

import config.machine  # noqa: F401 - before torch, whose threads wait as it says

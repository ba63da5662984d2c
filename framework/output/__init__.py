"""Everything a person sees of a run: terminal, CSV, TensorBoard, figures, video, report."""

import logging

LOGGER = logging.getLogger("joystick")

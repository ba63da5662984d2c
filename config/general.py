"""Former place of config/config.py: imports from here keep working."""

from config.config import LOGGERS, RUN_LIMITS, Endless, GeneralConfig, address, task_folder

__all__ = ["LOGGERS", "RUN_LIMITS", "Endless", "GeneralConfig", "address", "task_folder"]

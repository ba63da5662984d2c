"""Everything between a valid configuration and a finished run: collecting, learning, saving, and telling."""

from pathlib import Path

from config import machine
from config.own import former
from config.read import stores


def _bring(url: str, tasks: Path, go_on: bool, model: str | int | None, take_over: bool) -> Path:
    from framework.storage.copies import bring  # only who names a URL needs it

    return bring(url, tasks, go_on, model, take_over)


machine.choose_waiting()  # before torch is loaded
former.answer()
stores.brought_by(_bring)

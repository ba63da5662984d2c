"""Save points, and the checkpoints between them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.disk.atomic import remove_folder
from framework.loop.iteration import Count
from framework.loop.save_points import SavePoints

CFG: Any = SimpleNamespace(model_save_fre=100, keep_checkpoints=3, reward_threshold=None, save_best_model=False)


class Folders:
    """A store whose checkpoints are empty folders."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.facts = folder, dict[str, Any]()

    def save(self, number: int, state: Any, memory: Any, facts: dict[str, Any]) -> Path:
        (self.folder / str(number)).mkdir(parents=True, exist_ok=True)
        self.facts = facts
        return self.folder / str(number)

    def numbers(self) -> list[int]:
        return sorted(int(path.name) for path in self.folder.iterdir())

    def realign_best(self, number: int | None) -> None: ...

    def prune(self, keep: int) -> None:
        for number in self.numbers()[:-keep]:
            remove_folder(self.folder / str(number))


@pytest.mark.parametrize("interrupted", [None, 150, 200])
def test_an_interruption_costs_no_save_point(interrupted: int | None, tmp_path: Path) -> None:
    """At 200 it comes while the save point there is evaluated, which the resume then makes again."""
    store: Any = Folders(tmp_path / "models")
    points = SavePoints(CFG, store)

    def write(update: int) -> None:
        points.write((Count(update, 0, update), 1), points.state, None, {})  # type: ignore[arg-type]

    for update in (100, 150, 200, 300, 400):
        if update == interrupted:
            write(update)
            saved: Any = SimpleNamespace(tree=points.state(), facts=dict(store.facts))
            points = SavePoints(CFG, store)
            points.load_state(saved, (Count(update, 0, update), 1), False)
        if points.due(update):
            points.begin(update, update, None)
            write(update)
    assert store.numbers() == [200, 300, 400]

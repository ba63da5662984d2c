"""Save points, and the checkpoints between them."""

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from framework.disk.atomic import remove_folder
from framework.loop.iteration import Count
from framework.loop.save_points import TIMED, SavePoints

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


@pytest.mark.parametrize(("asked", "kept"), [(False, [100, 200]), (True, [100, 150, 200])])
def test_a_checkpoint_of_the_clock_stays_once_somebody_has_asked_for_it(
    asked: bool, kept: list[int], tmp_path: Path
) -> None:
    """Where all are kept, that of the clock alone goes with the next one."""
    store: Any = Folders(tmp_path / "models")
    store.prune = lambda keep: None
    points = SavePoints(SimpleNamespace(**{**vars(CFG), "keep_checkpoints": -1}), store)  # type: ignore[arg-type]
    for update in (100, 150, 200):
        if points.due(update):
            points.begin(update, update, None)
        points.write((Count(update, 0, update), 1), points.state, None, {})  # type: ignore[arg-type]
        if update == 150:
            points.note_interim(update, timed=True)
            if asked:
                points.note_interim(update, timed=False)
    assert store.numbers() == kept


@pytest.mark.parametrize(("timed", "kept"), [(True, [200]), (False, [150, 200])])
def test_a_checkpoint_of_the_clock_goes_with_the_first_one_after_a_kill(
    timed: bool, kept: list[int], tmp_path: Path
) -> None:
    """Where all are kept, that of an interruption stays."""
    cfg: Any = SimpleNamespace(**{**vars(CFG), "keep_checkpoints": -1})
    store: Any = Folders(tmp_path / "models")
    store.prune = lambda keep: None
    points = SavePoints(cfg, store)
    points.write((Count(150, 0, 150), 1), points.state, None, {TIMED: True} if timed else {})  # type: ignore[arg-type]
    saved: Any = SimpleNamespace(tree=points.state(), facts=dict(store.facts))
    points = SavePoints(cfg, store)
    points.load_state(saved, (Count(150, 0, 150), 1), False)
    points.begin(200, 200, None)
    points.write((Count(200, 0, 200), 1), points.state, None, {})  # type: ignore[arg-type]
    assert store.numbers() == kept


def test_a_model_that_could_not_be_saved_is_not_the_best(tmp_path: Path) -> None:
    """Otherwise the score would be that of a model that there is not, and no later one would be as good."""

    class Full(Folders):
        def save(self, number: int, state: Any, memory: Any, facts: dict[str, Any]) -> Path:
            if number == 200 and self.numbers() == [100]:
                raise OSError(28, "No space left on device")
            return super().save(number, state, memory, facts)

    points = SavePoints(CFG, Full(tmp_path / "models"))  # type: ignore[arg-type]
    for update, mean in ((100, 1.0), (200, 9.0), (300, 2.0)):
        evaluation: Any = SimpleNamespace(mean=mean)
        assert points.begin(update, update, evaluation)
        with contextlib.suppress(OSError):
            points.write((Count(update, 0, update), 1), points.state, None, {})  # type: ignore[arg-type]
        assert points.score == {100: (1.0, 100), 200: (1.0, 100), 300: (2.0, 300)}[update]
        assert points.evaluated == update


def test_the_best_model_counts_once_a_second_try_has_saved_it(tmp_path: Path) -> None:
    store: Any = Folders(tmp_path / "models")
    points, real = SavePoints(CFG, store), store.save

    def full(*args: Any) -> Path:
        raise OSError(28, "No space left on device")

    evaluation: Any = SimpleNamespace(mean=9.0)
    points.begin(100, 100, evaluation)
    store.save = full
    with pytest.raises(OSError, match="No space"):
        points.write((Count(100, 0, 100), 1), points.state, None, {})  # type: ignore[arg-type]
    assert points.score == (None, None)
    store.save = real
    points.write((Count(100, 0, 100), 1), points.state, None, {})  # type: ignore[arg-type]
    assert points.score == (9.0, 100)

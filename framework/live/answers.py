"""Answers to the page: the table of runs, the curves, files and messages of those that it shows, and what it asks to be
done."""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from config.read.task_files import TUNING, TaskFiles
from config.tell.language import tr
from config.tell.names import printable
from config.tell.system_errors import reason_of
from framework.archive.curve_tail import CurveTail
from framework.archive.curves import EPISODES, SECONDS
from framework.archive.run import RecordedRun
from framework.disk.lines import last_lines
from framework.disk.notes import LONGEST_NOTE, LONGEST_TAG, MOST_TAGS, Notes
from framework.disk.task_dir import is_locked
from framework.errors import JoystickError
from framework.live.files import Files
from framework.live.overview import ListedRun, Overview, Row, id_of
from framework.live.settings import Settings
from framework.live.stop import Stops
from framework.pages.columns import title

if TYPE_CHECKING:
    from framework.live.group_view import GroupView

MOST_SHOWN = 12
"""Number of runs that are shown at once."""
MOST_CURVES = 512
"""Number of curves that are kept, so that only what is new is read."""
NOT_DRAWN = ("episode", "step", "update", "terminated", "seed", "worker", "row")
"""Columns of episodes that say which one it is."""
MOST_COLUMNS = 200
"""Number of columns that can be drawn."""
USUAL = "return"
"""Name of the column that is drawn unless another is chosen: the score of an episode."""
MOST_SYSTEM = 20
"""Number of columns of system.csv that can be."""
SYSTEM = "system/"
"""Beginning of the names of columns of system.csv."""
LOG_BYTES = 2**14
"""Bytes at the end of the log that are shown."""
MOST_COMPARED = 500
"""Number of runs that are compared at once."""
Answer = dict[str, Any]


class Answers:
    """Answers one request at a time. `token` is what a request must know."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.token = secrets.token_urlsafe(32)
        self.overview = Overview(self.folder)
        self.files = Files()
        self._settings, self._stops = Settings(), Stops()
        self._curves: OrderedDict[tuple[Path, str], CurveTail] = OrderedDict()
        self._views: dict[Path, GroupView] = {}
        self._rows: dict[str, tuple[ListedRun, Row]] = {}
        """Runs with their rows by their ids, as they were looked at last."""
        self._version = 0
        """Number of looks."""
        self._changed: dict[str, tuple[int, Row | None]] = {}
        """Id of a run -> the look at which its row became what it is; None: the run is gone."""
        self._lock = threading.Lock()

    def now(self, ids: Sequence[str], column: str, group: str = "", since: int = 0) -> Answer:
        """Returns the runs, running ones first, and more about those that are shown. column: of train.csv or
        system.csv. group: id of the group that is shown. since: version of an earlier answer, after which alone rows
        are sent."""
        with self._lock:
            self._rows, left = self.overview.rows()
            self._note_changes()
            rows = [row for _, row in self._rows.values() if self._changed[row["id"]][0] > since]
            by_id = {key: run for key, (run, _) in self._rows.items()}
            groups = self._groups()
            return {
                "folder": printable(str(self.folder)),
                "time": time.time(),
                "version": self._version,
                "since": since,
                "runs": sorted(rows, key=lambda row: (not row["running"], -row["changed"])),
                "gone": [key for key, (look, row) in self._changed.items() if row is None and look > since > 0],
                "left": left,
                "groups": [self._group(folder) for folder in groups.values()],
                "shown": {key: self._details(by_id[key], column) for key in ids[:MOST_SHOWN] if key in by_id},
                "group": self._group_details(groups[group]) if group in groups else None,
            }

    def _note_changes(self) -> None:
        self._version += 1
        rows: dict[str, Row | None] = {key: row for key, (_, row) in self._rows.items()}
        for key, row in {**dict.fromkeys(self._changed), **rows}.items():
            if key not in self._changed or self._changed[key][1] != row:
                self._changed[key] = self._version, row

    # groups -----------------------------------------------------------------------------------------------

    def _groups(self) -> dict[str, Path]:
        return {id_of(run.group.name): run.group for run, _ in self._rows.values() if run.group}

    def _group(self, folder: Path) -> Answer:
        notes = Notes.read(folder)
        return {
            "id": id_of(folder.name),
            "name": printable(folder.name),
            "tuning": (folder / TUNING).is_file(),
            "running": is_locked(folder),
            "tags": notes.tags,
            "note": bool(notes.note),
        }

    def _group_details(self, folder: Path) -> Answer:
        """Returns the figures of a group."""
        from framework.live.group_view import GroupView, RunLines  # with statistics, which only this needs

        view = self._views.setdefault(folder, GroupView(folder))
        own = [(run, row) for run, row in self._rows.values() if run.group == folder]
        recorded = {run.id: RecordedRun(run.folder) for run in view.shown(own)}
        tasks = {key: run.task for key, run in recorded.items()}
        returns = {key: run.return_column for key, run in recorded.items()}
        more, lines = False, {}
        for key, task in tasks.items():
            episodes, evaluations = self._tail(task.train, returns[key]), self._tail(task.eval, "mean")
            clocks = self._clocks(task)
            more |= any(waiting for _, waiting in (episodes, evaluations, *clocks.values()))
            further = {axis: clock.line for axis, (clock, _) in clocks.items()}
            lines[key] = RunLines(episodes[0].line, evaluations[0].line, further)
        return {
            "id": id_of(folder.name),
            "files": [file._asdict() for file in self.files.of(folder, [""])],
            "note": Notes.read(folder).note,
            "more": more,
            **view.answer(own, lines),
        }

    # runs -------------------------------------------------------------------------------------------------

    def _details(self, run: ListedRun, column: str) -> Answer:
        recorded = RecordedRun(run.folder)
        of_system, scored = column.startswith(SYSTEM), recorded.return_column
        drawn = scored if of_system or column == USUAL else column
        episodes, waiting = self._tail(recorded.task.train, drawn)
        evaluations, more = self._tail(recorded.task.eval, "mean")
        system, more_system = self._tail(recorded.task.system, column.removeprefix(SYSTEM) if of_system else "seconds")
        offered = [name for name in episodes.columns if name not in NOT_DRAWN]
        offered += [f"{SYSTEM}{name}" for name in self._filled(recorded.task.system, system.columns)]
        return {
            "line": (system if of_system else episodes).line.points(),
            "evaluations": evaluations.line.points() if drawn == scored and not of_system else [],
            "clocks": {axis: clock.line.points() for axis, (clock, _) in self._clocks(recorded.task).items()},
            "columns": [name for name in offered[:MOST_COLUMNS] if printable(name) == name],
            "titles": {
                **{name: title(name) for name in (*offered[:MOST_COLUMNS], column) if title(name) != name},
                **(
                    {}
                    if scored == USUAL
                    else {USUAL: printable(tr("return of {policy}", policy=recorded.score_policy))}
                ),
            },
            "more": waiting or more or more_system,
            "started": printable(recorded.facts.started or ""),
            "files": [file._asdict() for file in self.files.of(run.folder)],
            "log": last_lines(recorded.task.log, LOG_BYTES),
            "errors": last_lines(recorded.task.errors, LOG_BYTES),
            "note": recorded.notes.note,
        }

    def _clocks(self, task: TaskFiles) -> dict[str, tuple[CurveTail, bool]]:
        """Returns how far a run was on further axes at its steps and updates, and True where there is more to read."""
        return {EPISODES: self._tail(task.train, "episode"), SECONDS: self._tail(task.system, "seconds")}

    def _filled(self, path: Path, columns: Sequence[str]) -> list[str]:
        """Returns the columns of system.csv that have numbers: most machines have no GPU."""
        names = [name for name in columns if name not in ("step", "update", "seconds")][:MOST_SYSTEM]
        return [name for name in names if self._tail(path, name)[0].line.points()]

    def _tail(self, path: Path, column: str) -> tuple[CurveTail, bool]:
        """Returns a curve with what is new, and True if there is more to read."""
        curve = self._curves.setdefault((path, column), CurveTail(path, column))
        self._curves.move_to_end((path, column))
        while len(self._curves) > MOST_CURVES:
            self._curves.popitem(last=False)
        return curve, curve.read()

    def settings(self, columns: Sequence[str], named: bool) -> Answer:
        """Returns cells of the settings of all runs; with `named` also the settings that can be columns."""
        with self._lock:
            return self._settings.answer([run for run, _ in self._rows.values()], columns, named)

    # what the page asks to be done ------------------------------------------------------------------------

    def write_notes(self, key: str, tags: Any, note: Any) -> Answer:
        """Writes the tags and the note of a run or a group."""
        try:
            notes = Notes.model_validate({"tags": tags, "note": note})
        except ValidationError:
            raise JoystickError(
                "at most {tags} tags of at most {letters} characters, without commas, and a note of at most "
                "{length:,} characters",
                tags=MOST_TAGS,
                letters=LONGEST_TAG,
                length=LONGEST_NOTE,
            ) from None
        with self._lock:
            try:
                notes.write(self._folder(key))
            except OSError as error:
                raise JoystickError("it could not be written: {reason}", reason=reason_of(error)) from None
        return {"tags": notes.tags, "note": notes.note}

    def stop(self, key: str) -> Answer:
        """Stops a run, a group or a tuning; a run of a job that is driven, by stopping the job."""
        with self._lock:
            folder = self._folder(key)
            group = self._rows[key][0].group if key in self._rows else None
            return {"said": self._stops.stop(group if group is not None and is_locked(group) else folder)}

    def compare(self, keys: Sequence[Any]) -> Answer:
        """Returns the address of a comparison of runs, which the command compare would write."""
        from framework.archive.comparisons import compared  # with statistics, and settings of all algorithms
        from framework.pages import compare_page

        if not 0 < len(keys) <= MOST_COMPARED:
            raise JoystickError("a comparison has up to {most} runs", most=MOST_COMPARED)
        with self._lock:
            runs = [self._rows[key][0] for key in keys if isinstance(key, str) and key in self._rows]
        if not runs:
            raise JoystickError("these runs are not there any more")
        result = compared([str(run.folder) for run in runs], None, self.overview.root)
        where = tr("{count} runs in {folder}", count=len(runs), folder=self.folder)
        about = f"{where}  ·  {time.strftime('%Y-%m-%d %H:%M:%S %z')}"
        page = compare_page.document(result.several, result.left_out, printable(about))
        return {"url": self.files.keep("compare.html", page.encode(errors="replace"))}

    def _folder(self, key: str) -> Path:
        """Returns the folder of a run or a group. Raises JoystickError if there is none, or no longer one."""
        folder = self._rows[key][0].folder if key in self._rows else self._groups().get(key)
        if folder is None or folder.is_symlink() or not folder.is_dir():
            raise JoystickError("this run is not there any more")
        if folder.resolve() != folder:
            raise JoystickError("its folder is behind a link now")
        return folder

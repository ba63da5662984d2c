"""--keep-alive: a training that is started again when something outside of it has ended it."""

import json
from argparse import Namespace
from pathlib import Path

from config.config import HOW_TO_LOAD
from config.model import policies
from config.read import stores
from config.read.loader import ConfigError
from config.read.paths import as_written, fixed
from config.read.run_config import RunConfig
from config.read.task_config import load_task_config
from config.read.task_files import GroupFiles
from config.read.yaml_reader import DocumentError
from config.system.name import is_windows
from config.tell.language import tr
from framework.archive.members import group_facts
from framework.commands.line import start
from framework.disk.atomic import remove_folder
from framework.disk.task_dir import ROOT
from framework.jobs import supervisor
from framework.screen.formatting import resume_command
from framework.storage import copies
from framework.storage.errors import StorageError

FLAG = "--keep-alive"
NAMES = {"general_cfg.algo_name", "general_cfg.env_name", "env_cfg.id"}
"""Settings that say which run it is."""
CHOSEN = (None, "auto")
"""Values for which a run chooses another one when it begins."""
DRAWN = ("general_cfg.seed", 0)
"""Setting and value for which a run draws a seed."""


def run(request: Namespace) -> int:
    """Trains, and goes on with what there is in the folder that --into names. Returns the exit status."""
    if is_windows():  # a child there gets no pipe
        return start.nothing_started(ConfigError("--keep-alive needs Linux or macOS; leave it out"))
    words = [word for word in request.command_line if word != FLAG]
    into = getattr(request, "into", None)  # `resume NAME` has no such flag
    if stores.is_url(into or "") and not request.take_over:
        words.append("--take-over")  # of a writer that was killed before its first checkpoint
    if request.resume:
        return supervisor.Supervisor(words, None).run()
    try:
        folder, place = _place(into)
        if folder and place == str(folder) and supervisor.was_killed_early(folder):
            remove_folder(folder)
        elif folder and (place != str(folder) or supervisor.can_go_on(folder)):
            continued = _continued(request, words, folder, place)
            return 0 if continued is None else supervisor.Supervisor(continued, None).run()
    except ConfigError as error:
        return start.nothing_started(error)
    return supervisor.Supervisor(words, lambda folder: _resumed(request, str(folder))).run()


def _place(into: str | None) -> tuple[Path | None, str]:
    """Returns the folder with the facts of the run that --into names, and what resume is to go on with: that folder, or
    the URL of a run in a store, which another machine may have trained. No folder without --into."""
    if not into:
        return None, ""
    folder = fixed(Path(into))
    if stores.is_url(into):
        try:
            _, name = stores.of_run(into)
        except ValueError:
            return None, ""  # the run itself says what is wrong with it
        try:
            if copies.can_go_on(into):
                return copies.cached(into, copies.facts), into
        except StorageError as error:
            raise ConfigError(str(error)) from None
        folder = fixed(ROOT / name)
    return folder, str(folder)


def _resumed(request: Namespace, place: str) -> list[str]:
    """Returns the words that go on with the run of a request, or with its group, in a folder or from a store. A writer
    that has gone silent there is no reason to wait for somebody."""
    words = [word for package in request.allow_import for word in ("--allow-import", package)]
    words += ["resume", place, *(["--take-over"] if stores.is_url(place) else [])]
    for name in ("pause_at_step", "jobs"):
        if value := getattr(request, name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    words += [f"--{name.replace('_', '-')}" for name in ("no_evaluation", "profile") if getattr(request, name)]
    try:
        general = next(iter(start.configured(request).values())).general
    except ConfigError:  # the file was changed or removed meanwhile
        return words
    if general.mp_backend == "ray" and general.ray_address:  # which no folder decides
        words += ["general_cfg.mp_backend=ray", f"general_cfg.ray_address={general.ray_address}"]
    return words


def _continued(request: Namespace, words: list[str], folder: Path, place: str) -> list[str] | None:
    """Returns the words that go on with a run, with the settings of this request where they differ; a resume refuses
    those that make it another run. None if it has ended. Raises ConfigError if the folder belongs to another command.
    folder: its facts; place: what resume goes on with."""
    is_group = GroupFiles(folder).group.is_file()
    if is_group and (recorded := group_facts(folder).command_line) != words:
        raise ConfigError(
            "{folder} is a group of another command ({words}); name a new folder, or continue it: {command}",
            folder=as_written(folder),
            words=" ".join(map(str, recorded or [])),
            command=resume_command(folder, tuple(request.allow_import)),
        )
    changed = [] if is_group else _changed(folder, *start.configured(request).values())
    if not changed and supervisor.finished(folder):
        print(tr("{folder} has finished: nothing is left to train", folder=as_written(folder)))
        return None
    resumed = _resumed(request, place)
    return [*resumed, *(word for word in changed if word not in resumed)]


def _changed(folder: Path, config: RunConfig, *others: RunConfig) -> list[str]:
    """Returns the settings of a configuration that differ from those of the run in a folder, as words: algorithm and
    environment, and what the user has written. Of what a run chooses itself, such as a seed, the folder has the choice.
    """
    try:
        recorded = policies.flat(load_task_config(folder).settings())
    except DocumentError as error:
        raise ConfigError(str(error)) from None
    settings = policies.flat(json.loads(json.dumps(config.as_dict())))
    return [
        f"{section}.{key}={json.dumps(value)}"
        for section, values in settings.items()
        for key, value in values.items()
        if (name := f"{section}.{key}") in NAMES or (name in config.explicit and value not in CHOSEN)
        if key not in HOW_TO_LOAD and (name, value) != DRAWN and value != recorded.get(section, {}).get(key, value)
    ]

"""report.html: a run or a test on one page, made only from the files in its task directory."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import algos
import envs
from config.config import GeneralConfig
from config.model import policies
from config.program import PROGRAM
from config.read.opening import regular
from config.read.task_config import load_task_config
from config.read.tasks import group_of
from config.read.yaml_reader import DocumentError
from framework.collect.fragment import RETURN
from framework.disk.atomic import write_whole
from framework.disk.csv_table import read_csv
from framework.disk.task_dir import REPORT, TaskDir
from framework.pages import html_curves
from framework.pages.html_page import (
    MOST_ROWS,
    Link,
    Name,
    address,
    cards,
    contents,
    page,
    pairs,
    paragraph,
    plain,
    section,
    table,
    text,
)
from framework.pages.html_training import film, training
from framework.screen.formatting import counted, spread

MOST_WARNINGS = 20
"""Number of warnings that are shown; logs/log.txt has all of them."""
NOT_SETTINGS = ("seed", "mode", "load_checkpoint", "load_path", "load_model_step")
"""Keys of general_cfg that other parts of the page show."""
Facts = Mapping[str, Any]


def write(task: Path, now: Facts | None = None) -> Path:
    """Writes the page of a task directory. Returns its path. now: of a run that trains, facts in the place of those in
    run.json."""
    run, config = {**TaskDir(task).read_run(), **(now or {})}, _yaml(task / "config.yaml")
    tested = config.get("general_cfg", {}).get("mode") == "test"
    name = _title(config) or task.name
    title = f"Test of {name}" if tested else name
    started = f"  ·  {run['started']}" if "started" in run else ""
    outcome, *sections = _test(task, run) if tested else training(task, run)
    sections += [
        section("Settings that differ from the defaults", settings_table(config)),
        section("Warnings", _warnings(task / "logs" / "log.txt")),
        section("System", pairs(system(run))),
    ]
    head = [f"<h1>{text(title)}</h1>", paragraph(f"{task.name}{started}", "quiet"), _group(task), outcome]
    path, body = task / REPORT, "\n".join([*head, contents("\n".join(sections))])
    drawn = (html_curves.STYLE, html_curves.SCRIPT) if html_curves.MARK in body else ()
    write_whole(path, page(title, body, *drawn).encode())
    return path


def _group(task: Path) -> str:
    """Returns a link to the page of the runs that this one belongs to; nothing for a run of its own."""
    group = group_of(task)
    if group is None:
        return ""
    page = address(group / REPORT, task)
    name = Link(group.name, page).element if page else text(group.name)
    return f"<p class=quiet>One of the runs of {name}</p>"


def _test(task: Path, run: Facts) -> list[str]:
    score = run.get("score") or {}
    episodes = read_csv(task / "results" / "test.csv")
    facts = [
        ("score", spread(score) if score else None),
        *((name, score.get(key)) for name, key in (("lowest", "min"), ("highest", "max"), ("median", "median"))),
        ("episodes", len(episodes) or None),
        ("seed", plain(run.get("seed"))),
    ]
    return [
        cards(facts),
        section("Checkpoint", _tested(task, run)),
        film(task / "videos"),
        section("Episodes", _episodes(episodes)),
    ]


# ------------------------------------------------------------------------------------------- what is read


def _yaml(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return load_task_config(path.parent).settings()
    except DocumentError:
        return {}


def _title(config: Facts) -> str:
    algo = policies.algorithms(config)
    env = config.get("env_cfg", {}).get("id") or config.get("general_cfg", {}).get("env_name")
    return f"{algo} on {env}" if algo and env else ""


def settings_table(config: Facts) -> str:
    """Returns a table of setting, value and default."""
    parts = dict(config) | {policies.section_of(name): policy for name, policy in policies.below(config).items()}
    rows = []
    for part, known in defaults_of(config).items():
        for key, value in parts.get(part, {}).items():
            shown_elsewhere = part == "general_cfg" and key in NOT_SETTINGS
            if not shown_elsewhere and (key not in known or known[key] != value):
                rows.append((Name(f"{part}.{key}"), _value(value), _value(known[key]) if key in known else ""))
    return table(("setting", "value", "default"), rows)


def defaults_of(config: Facts) -> dict[str, dict[str, Any]]:
    """Returns the defaults of each section, a section for each policy among them. Those of a user's own package are not
    known here: its code is not imported for a page."""
    general = config.get("general_cfg", {})
    defaults = {
        "general_cfg": GeneralConfig().model_dump(mode="json"),
        "algo_cfg": _defaults(algos, general.get("algo_name")),
        "env_cfg": _defaults(envs, general.get("env_name")),
    }
    for name, policy in policies.below(config).items():
        defaults[policies.section_of(name)] = _defaults(algos, policy.get("algo_name"), policy=True)
    return defaults


def _defaults(finder: Any, name: Any, policy: bool = False) -> dict[str, Any]:
    if not isinstance(name, str) or "." in name:
        return {}
    try:
        config = finder.get(name).Config
        made = policies.combined(config)(agents="*") if policy else config()
        defaults: dict[str, Any] = made.model_dump(mode="json")
    except (LookupError, ValueError):
        return {}
    return defaults


def _value(value: Any) -> str:
    written = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    return written.removesuffix("\n...\n").strip()


# ------------------------------------------------------------------------------------------- parts of a test


def _tested(task: Path, run: Facts) -> str:
    facts, checkpoint = run.get("checkpoint_facts") or {}, run.get("checkpoint")
    known = [counted(facts[noun], noun) for noun in ("update", "step", "episode") if isinstance(facts.get(noun), int)]
    rows: list[tuple[str, Any]] = [("tested", checkpoint), ("trained for", ", ".join(known) or None)]
    if isinstance(checkpoint, str):
        trained = Path(checkpoint).parent.parent
        page = address(trained / REPORT, task)
        rows.append(("report of its training", Link(trained.name, page) if page else None))
    rows.append(("compared with the online evaluation", run.get("compared")))
    return pairs((name, value) for name, value in rows if value)


def _episodes(rows: Sequence[Facts]) -> str:
    names = ("episode", "return", "length", "terminated", "seed")
    shown = rows[:MOST_ROWS]
    returns = [name for name in (rows[0] if rows else ()) if name.startswith(RETURN)]
    cells = [
        [*(row.get(name) for name in names[:-1]), plain(row.get("seed")), *(row.get(name) for name in returns)]
        for row in shown
    ]
    left_out = f"The first {len(shown)} of {len(rows)}; results/test.csv has all of them."
    return (paragraph(left_out, "quiet") if len(shown) < len(rows) else "") + table((*names, *returns), cells)


# ------------------------------------------------------------------------------------------- parts of both

_WARNING = re.compile(r"\S+ \S+ WARNING (.*)")


def _warnings(log: Path) -> str:
    """Returns the warnings in logs/log.txt, each once, the latest last."""
    try:
        with open(log, encoding="utf-8", errors="replace", opener=regular) as lines:
            found = dict.fromkeys(match[1] for line in lines if (match := _WARNING.match(line)))
    except OSError:
        return ""
    shown = list(found)[-MOST_WARNINGS:]
    more = f"The last {len(shown)} of {len(found)}; logs/log.txt has all of them."
    note = paragraph(more, "quiet") if len(shown) < len(found) else ""
    return note + "".join(paragraph(warning, "warning") for warning in shown)


_ABOUT = {
    "preset": "preset",
    "git_commit": "git commit",
    "python": "Python",
    "platform": "platform",
    "cpu": "CPU",
    "gpu": "GPU",
    "cores": "cores",
    "torch_threads": "torch threads",
}
"""Key of run.json -> label."""


def system(run: Facts) -> Iterable[tuple[str, Any]]:
    """Yields the circumstances of a run: its command, machine and versions."""
    words = run.get("command_line")
    if isinstance(words, list):
        yield "command", f"{PROGRAM} {shlex.join(map(str, words))}"
    for key, label in _ABOUT.items():
        if run.get(key) is not None:
            yield label, str(run[key])
    if memory := _memory(run):
        yield "peak memory", memory
    versions = run.get("versions")
    if isinstance(versions, dict):
        yield "versions", ", ".join(f"{name} {number}" for name, number in versions.items() if number)


def _memory(run: Facts) -> str:
    """Returns the largest memory of a run's processes."""
    found = run.get("peak_memory")
    sizes = found if isinstance(found, dict) else {}
    own, children, count = (sizes.get(key) for key in ("own", "children", "processes"))
    parts = [f"{own / 2**20:,.0f} MiB"] if isinstance(own, int) and own else []
    if isinstance(children, int) and isinstance(count, int) and count:
        kinds = "child process" if count == 1 else "child processes"
        parts.append(f"{count} {kinds} {children / 2**20:,.0f} MiB, where what they share counts in each")
    return "; ".join(parts)

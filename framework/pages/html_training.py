"""Sections of report.html that only a training run has."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from config.program import PROGRAM
from config.read.limits import is_limit
from config.read.opening import read_regular
from config.read.paths import as_written
from config.read.task_files import REPORT
from config.system.terminal import quoted
from config.tell.language import tr
from framework.archive import sentences
from framework.archive.curves import known
from framework.archive.find import tests_of
from framework.archive.run import RecordedRun, Row
from framework.collect.fragment import RETURN
from framework.disk.csv_table import MOST_BYTES
from framework.disk.facts import RunFacts
from framework.loop.iteration import EPISODE_COLUMNS
from framework.loop.stop_rules import as_much_again
from framework.pages import figures
from framework.pages import html_page as html
from framework.pages.html_curves import RunCharts
from framework.screen import outcome
from framework.screen.formatting import (
    NOT_LEARNING,
    clock,
    compare_command,
    counted,
    not_above_random,
    number,
    play_command,
    resume_command,
    scored,
    spread,
    video_command,
)

MOST_LINES = 40
"""Number of lines of dialogues that the report shows."""
NEWEST_ROWS = 10
"""Number of evaluations that are not folded away, if there are more than twice as many."""
MOST_AGENTS = 8
"""Number of agents of a policy that are named."""


class Training(NamedTuple):
    """The parts of the report of a training run, in the order of reading."""

    outcome: str
    results: list[str]
    """Sections about what came out."""
    charts: RunCharts
    details: list[str]
    """Sections about how the run went."""


def training(run: RecordedRun, general: Mapping[str, Any], drawn: str = "") -> Training:
    """Returns the parts of a report. general: its general_cfg; drawn: time of day, of a run that trains."""
    facts, task = run.facts, run.task
    charts = RunCharts(run, _levels(facts))
    return Training(
        _outcome(run, drawn),
        [
            html.section(tr("Learning curve"), _learning_curve(charts, task.results / "learning_curve.png")),
            film(task.videos),
            html.section(tr("Commands"), _commands(run, general)),
            html.section(tr("Evaluations"), _evaluations(run)),
            html.section(tr("Checkpoints"), _checkpoints(run)),
            html.section(tr("Tests"), _tests(run)),
            html.section(tr("Policies"), _policies(run)),
        ],
        charts,
        [
            html.section(tr("Metrics"), _metrics(run)),
            html.section(tr("Where the time went"), _profile(facts)),
            html.section(tr("Processes"), html.paragraph(facts.processes_said or "")),
            html.section(tr("Exactness"), _repeatable(facts) + _resumes(facts)),
        ],
    )


def _learning_curve(charts: RunCharts, figure: Path) -> str:
    """Returns the chart of the score, and the figure, which is folded away behind a chart."""
    chart, drawn = charts.score(), html.figure(tr("Learning curve"), figure, "image/png", drawn=True)
    return chart + html.folded(tr("As a figure: {file}", file="results/learning_curve.png"), drawn) if chart else drawn


def outcome_facts(run: RecordedRun) -> list[tuple[str, Any]]:
    """Returns the facts of the cards; those that are not known are None."""
    facts, best, score = run.facts, run.best, _score(run)
    last = run.episodes[-1] if run.episodes else {}
    seconds, step = facts.seconds, last.get("step") if facts.step is None else facts.step
    steps = _real(step)
    return [
        (tr("score"), spread(score) if score else None),
        (tr("best model"), best["mean"] if best else None),
        (tr("random policy"), facts.random_return),
        (tr("expected"), facts.expected_return),
        (tr("data"), facts.data_return),
        (tr("episodes"), last.get("episode") if facts.episode is None else facts.episode),
        (tr("steps"), step),
        (tr("updates"), last.get("update") if facts.update is None else facts.update),
        (tr("duration"), clock(seconds) if seconds else None),
        (tr("steps per second"), round(steps / seconds) if steps and seconds else None),
        (tr("seed"), html.plain(facts.seed)),
    ]


def _score(run: RecordedRun) -> Row | None:
    """Returns the score of a test, or of the last evaluation."""
    return run.facts.score or (run.evaluations[-1] if run.evaluations else None)


def _outcome(run: RecordedRun, drawn: str) -> str:
    """Returns how the run came out: why it ended, its numbers, and what is to be known about them."""
    facts, score = run.facts, _score(run)
    end = ""
    if facts.outcome:
        end = html.paragraph(tr("Ended: {outcome}", outcome=outcome.shown(facts.outcome)), "quiet")
    if end and facts.finished is False and run.checkpoints:
        end += html.command(resume_command(run.folder, _allowed(facts)))
    notes = ""
    if drawn:
        note = tr("Drawn while the run trained, as it stood at {time}. Reload the page later.", time=drawn)
        notes += html.paragraph(note, "quiet")
    if score and not_above_random(_real(score["mean"]), facts.random_return):
        advice = tr("The score is not above that of the random policy. What to do: {page}", page=NOT_LEARNING)
        notes += html.paragraph(advice, "warning")
    return end + html.cards(outcome_facts(run)) + notes


def film(folder: Path) -> str:
    """Returns the section of the video, or the beginning of the dialogues; nothing if there is neither."""
    path = folder / "dialogue.txt"
    if not path.is_file():
        title = tr("Video")
        return html.image(title, folder / "video.gif", "image/gif") or html.video(title, folder / "video.mp4")
    spoken = read_regular(path, MOST_BYTES).decode(errors="replace").splitlines()
    first = tr("The first {count} of {total} lines of {file}.", count=MOST_LINES, total=len(spoken), file=path.name)
    more = html.paragraph(first, "quiet")
    transcript = f"<pre>{html.text(chr(10).join(spoken[:MOST_LINES]))}</pre>"
    return html.section(tr("Dialogues"), transcript + (more if len(spoken) > MOST_LINES else ""))


def _allowed(facts: RunFacts) -> tuple[str, ...]:
    """Returns the packages of the user that the commands must allow to import."""
    return tuple(facts.allow_import or ())


def _commands(run: RecordedRun, general: Mapping[str, Any]) -> str:
    allowed = _allowed(run.facts)
    repeat = f"{PROGRAM} --yaml {quoted(str(as_written(run.folder / 'config.yaml')))}"
    film = [(tr("Film it"), video_command(run.folder, allowed))] if run.facts.can_film is not False else []
    return html.commands(
        [
            *([_further(run, general)] if run.facts.finished or run.checkpoints else []),
            (tr("Test the best model"), play_command(run.folder, allowed)),
            *film,
            (
                tr("Compare with another run, whose name comes in place of OTHER"),
                f"{compare_command(run.folder)} OTHER",
            ),
            (tr("Repeat the run from its beginning"), repeat),
        ]
    )


LIMITS = {"max_episode": "episode", "max_total_step": "step", "max_update": "update"}
"""Limit of a run -> its count in run.json."""


def _further(run: RecordedRun, general: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the command that resumes a run, and what it does; of a finished one with limits for as much again."""
    command = resume_command(run.folder, _allowed(run.facts))
    if not run.facts.finished:
        return tr("Resume training"), command
    limits = {name: general[name] for name in LIMITS if is_limit(general.get(name))}
    again = as_much_again(limits, {name: getattr(run.facts, LIMITS[name]) or 0 for name in limits})
    if not again:
        return tr("Train it further, with a higher limit behind the command"), command
    return tr("Train as much again"), f"{command} {again}"


def _tests(run: RecordedRun) -> str:
    """Returns a table of the tests of this run that have a report."""
    rows = []
    for test in tests_of(run):
        page, facts = html.address(test.folder / REPORT, run.folder), test.facts
        if page and facts.score:
            name = html.Link(test.folder.name, page)
            model = "/".join(Path(facts.checkpoint or "").parts[-2:])
            rows.append((name, facts.started, html.Number(spread(facts.score)), model))
    return html.table((tr("test"), tr("started"), tr("score"), tr("model")), rows)


def _levels(facts: RunFacts) -> dict[str, float]:
    """Returns the returns that the run is compared with, by their names."""
    levels = {
        tr("expected"): facts.expected_return,
        tr("data"): facts.data_return,
        tr("random policy"): facts.random_return,
    }
    return {name: level for name, value in levels.items() if (level := number(value)) is not None}


def _evaluations(run: RecordedRun) -> str:
    """Returns a table that also shows which evaluated models are kept."""
    rows, numbers, best, checkpoints = run.evaluations, run.facts.numbers or [], run.best, set(run.checkpoints)
    newest, cells = rows[-html.MOST_ROWS :], []
    for row in newest:
        update = row.get("update")
        names = [tr("best")] if row is best else []
        names += [f"models/{update}"] if update in checkpoints else []
        values = (row.get("min"), row.get("max"), *(row.get(name) for name in numbers))
        cells.append((update, row.get("step"), html.Number(spread(row)), *values, tr(", ").join(names)))
    episodes = {row["episodes"] for row in rows if "episodes" in row}
    notes = [tr("{episodes} each.", episodes=counted(episodes.pop(), "episode"))] if len(episodes) == 1 else []
    notes.append(html.part_of(rows, newest, "last", "results/eval.csv"))
    heads = (
        tr("update"), tr("step"), tr("mean ± std"), tr("min"), tr("max"), *map(html.Name, numbers), tr("model"),
    )  # fmt: skip
    last = len(cells) - NEWEST_ROWS if len(cells) > 2 * NEWEST_ROWS else 0
    earlier = html.folded(tr("{count} earlier ones", count=last), html.table(heads, cells[:last]))
    return html.paragraph(html.joined(filter(None, notes)), "quiet") + earlier + html.table(heads, cells[last:])


def _checkpoints(run: RecordedRun) -> str:
    numbers, best = run.checkpoints, run.best
    rows = []
    if (run.task.models / "best").is_dir():
        score = tr("update {number:,}: {score}", number=best["update"], score=scored(best)) if best else ""
        rows.append(("models/best", score))
    if numbers:
        scores = {row.get("update"): scored(row) for row in run.evaluations}
        newest = scores.get(numbers[-1])
        rows.append((f"models/{numbers[-1]}", tr("newest: {score}", score=newest) if newest else tr("newest")))
    others = ""
    if numbers:
        count = counted(len(numbers), "numbered checkpoint")
        others = tr("{checkpoints}: {numbers}", checkpoints=count, numbers=_listed(numbers))
    return html.pairs(rows) + html.paragraph(others, "quiet")


def _listed(numbers: Sequence[int]) -> str:
    texts = [str(number) for number in numbers]
    return ", ".join(texts if len(texts) <= 12 else [*texts[:3], "...", *texts[-3:]])


def _policies(run: RecordedRun) -> str:
    """Returns a table of the policies of a multi-agent environment; nothing for a single agent."""
    heads = (
        tr("policy"), tr("algorithm"), tr("agents"), tr("return in training"), tr("return in evaluation"),
        tr("last loss"),
    )  # fmt: skip
    train, evaluations = run.episodes, run.evaluations
    window = train[-figures.window_for(len(train)) :]
    cells = []
    for name, policy in (run.facts.policies or {}).items():
        marks = [tr("its return is the score")] if name == run.facts.score_policy else []
        marks += [] if policy.get("learns", True) else [tr("does not learn")]
        returns, losses = known(window, f"return_{name}"), known(train, f"{name}/loss")
        evaluated = evaluations[-1].get(f"return_{name}") if evaluations else None
        agents = policy.get("agents") or ()
        names, more = ", ".join(agents[:MOST_AGENTS]), len(agents) - MOST_AGENTS
        if more > 0:
            names = tr("{names} and {count} more", names=names, count=more)
        cells.append(
            (
                tr("{name} ({marks})", name=name, marks=tr(", ").join(marks)) if marks else name,
                policy.get("algorithm"),
                names,
                float(returns.mean()) if len(returns) else None,
                _real(evaluated),
                float(losses[-1]) if len(losses) else None,
            )
        )
    note = tr(
        "Returns are means over the agents of a policy; in training, over the last {episodes}.",
        episodes=counted(len(window), "episode"),
    )
    return (html.paragraph(note, "quiet") if cells else "") + html.table(heads, cells)


def _metrics(run: RecordedRun) -> str:
    """Returns a table of what the agent measured while it learned; with several policies, one for each."""
    train, cells = run.episodes, {policy: list[tuple[Any, ...]]() for policy in run.facts.policies or ()}
    for name in train[-1] if train else ():
        values = known(train, name)
        if name in (*EPISODE_COLUMNS, "phase") or not len(values):
            continue
        policy, _, metric = name.partition("/")
        if name.startswith(RETURN) and name.removeprefix(RETURN) in cells:
            policy, metric = name.removeprefix(RETURN), "return"
        policy, label = (policy, metric) if policy in cells else ("", name)
        row = (html.Name(label), *map(float, (values[0], values[-1], values.min(), values.max())))
        cells.setdefault(policy, []).append(row)
    heads = (tr("metric"), tr("first"), tr("last"), tr("lowest"), tr("highest"))
    return "".join(
        (f"<h3>{html.text(policy)}</h3>" if policy and rows else "") + html.table(heads, rows)
        for policy, rows in cells.items()
    )


def _profile(facts: RunFacts) -> str:
    """Returns a table of the parts that were timed; nothing without general_cfg.profile."""
    parts = facts.profile or []
    total = sum(_real(part.get("seconds")) or 0.0 for part in parts)
    rows = [(tr(str(part.get("name"))), seconds, 100 * seconds / total, part.get("calls") or None)
            for part in parts if total and (seconds := _real(part.get("seconds"))) is not None]  # fmt: skip
    return html.table((tr("part"), tr("seconds"), "%", tr("calls")), rows)


def _repeatable(facts: RunFacts) -> str:
    """Returns whether a run can be repeated to the byte, and if not, why."""
    verdict = facts.repeatable or {}
    if verdict.get("exact") is None:
        return ""
    reasons = [sentences.shown(str(reason)) for reason in verdict.get("inexact_because") or ()]
    reasons += [tr("the clock ended it")] if (facts.outcome or "").startswith("max_time") else []
    if reasons:
        return html.paragraph(tr("It cannot be repeated to the byte: {reasons}.", reasons=tr("; ").join(reasons)))
    return html.paragraph(
        tr(
            "A run in one go can be repeated to the byte: the same settings, seed and number of threads give equal "
            "numbers, with these versions on this kind of processor."
        )
    )


def _resumes(facts: RunFacts) -> str:
    said = []
    if facts.branched_from:
        verdict = facts.model_dump(include={"exact", "inexact_because"}, exclude_unset=True)
        said.append(tr("Started from {run}{exactness}.", run=facts.branched_from, exactness=_exactness(verdict)))
    for resume in facts.resumes or ():
        said.append(
            tr(
                "Resumed from checkpoint {name} at {time}{exactness}.",
                name=resume.get("from"),
                time=resume.get("started"),
                exactness=_exactness(resume),
            )
        )
    if facts.foreach_env:
        changes = sentences.shown(facts.foreach_env)
        said.append(tr("The {changes}; a resume begins without that, and is not exact.", changes=changes))
    for name in facts.altered_files or ():
        said.append(
            tr(
                "{name} was altered or damaged before a resume; its earlier rows may not be the run's own.",
                name=name,
            )
        )
    return "".join(map(html.paragraph, said))


def _exactness(verdict: Mapping[str, Any]) -> str:
    """Returns the level of exactness that was computed for a resume or a branch."""
    if verdict.get("exact") is True:
        return tr(": exact to the byte, as if the run had never stopped")
    because = verdict.get("inexact_because") or ()
    several = [because] if isinstance(because, str) else because
    reasons = tr("; ").join(sentences.shown(str(reason)) for reason in several)
    if not reasons:
        return ""
    if "exact" in verdict and verdict["exact"] is None:
        return tr(": unknown whether it is exact: {reasons}", reasons=reasons)
    return tr(": not exact: {reasons}", reasons=reasons)


def _real(value: Any) -> float | None:
    """Returns a finite number as a float; None for anything else, such as what the file of a stranger has."""
    return None if (real := number(value)) is None else float(real)

"""The result of an iteration as text."""

from config.tell.cells import padded
from config.tell.language import tr
from framework.loop.iteration import Result
from framework.screen import outcome
from framework.screen.formatting import clock, counted, listed, short


def pretty(result: Result) -> str:
    """Formats the result of an iteration for a terminal."""
    counts = ", ".join(counted(result[name], name) for name in ("step", "episode", "update"))
    lines = [
        tr(
            "iteration {number}   {counts} in {duration}",
            number=result["iteration"],
            counts=counts,
            duration=clock(result["seconds_total"]),
        )
    ]
    if result["episodes_this_iteration"]:
        low, mean, high = (short(result[f"return_{name}"]) for name in ("min", "mean", "max"))
        text = tr(
            "{mean} (from {low} to {high}), length {length}, {episodes}",
            mean=mean,
            low=low,
            high=high,
            length=short(result["length_mean"]),
            episodes=counted(result["episodes_this_iteration"], "episode"),
        )
        lines.append(_line(tr("return"), text))
    if result["evaluation"] is not None:
        lines.append(_line(tr("evaluation"), short(result["evaluation"])))
    if result["phase"] is not None:
        lines.append(_line(tr("phase"), f"{result['phase']:g}"))
    metrics = dict(result["metrics"])
    for policy, returns in result["policies"].items():
        values = {name: metrics.pop(name) for name in list(metrics) if name.startswith(f"{policy}/")}
        numbers = {"return": returns["return_mean"]} if returns["return_mean"] is not None else {}
        numbers |= {name.removeprefix(f"{policy}/"): value for name, value in values.items()}
        lines.append(_line(policy, listed(numbers)))
    if metrics:
        lines.append(_line(tr("metrics"), listed(metrics)))
    if result.get("reason"):
        lines.append(_line(tr("done"), outcome.shown(result["reason"])))
    return "\n".join(lines)


def _line(label: str, text: str) -> str:
    return f"{padded(label, 10)}  {text}"

"""The result of an iteration as text."""

from framework.loop.iteration import Result
from framework.screen.formatting import clock, counted, listed, short


def pretty(result: Result) -> str:
    """Formats the result of an iteration for a terminal."""
    counts = ", ".join(counted(result[name], name) for name in ("step", "episode", "update"))
    lines = [f"iteration {result['iteration']}   {counts} in {clock(result['seconds_total'])}"]
    if result["episodes_this_iteration"]:
        low, mean, high = (short(result[f"return_{name}"]) for name in ("min", "mean", "max"))
        episodes = counted(result["episodes_this_iteration"], "episode")
        lines.append(f"return      {mean} (from {low} to {high}), length {short(result['length_mean'])}, {episodes}")
    if result["evaluation"] is not None:
        lines.append(f"evaluation  {short(result['evaluation'])}")
    if result["phase"] is not None:
        lines.append(f"phase       {result['phase']:g}")
    metrics = dict(result["metrics"])
    for policy, returns in result["policies"].items():
        values = {name: metrics.pop(name) for name in list(metrics) if name.startswith(f"{policy}/")}
        numbers = {"return": returns["return_mean"]} if returns["return_mean"] is not None else {}
        numbers |= {name.removeprefix(f"{policy}/"): value for name, value in values.items()}
        lines.append(f"{policy:<10}  {listed(numbers)}")
    if metrics:
        lines.append(f"metrics     {listed(metrics)}")
    if result.get("reason"):
        lines.append(f"done        {result['reason']}")
    return "\n".join(lines)

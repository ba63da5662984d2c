"""Log of a training run: train.csv, eval.csv, TensorBoard and the console. Takes plain values from the loop."""

from pathlib import Path
from typing import Any, NamedTuple

from algos.base import Agent, Progress, Tree
from framework.collector import Episode
from framework.evaluator import Evaluation
from framework.learner import Learned
from framework.output.console import Console
from framework.output.csv_log import CsvLog, read_csv
from framework.output.tensorboard import TensorBoard
from framework.runs.task_dir import TaskDir

EPISODE_COLUMNS = ("episode", "step", "update", "return", "length", "terminated", "seed", "worker", "row")
EVAL_COLUMNS = ("update", "step", "episode", "mean", "std", "min", "max", "median", "episodes", "best")


class Count(NamedTuple):
    """Amount of training."""

    step: int = 0
    episode: int = 0
    update: int = 0


class RunLog:
    """Buffers rows until `flush`. `state` holds the positions in the files, for an exact resume."""

    def __init__(self, task: TaskDir, agent: Agent, console: Console, every_episodes: int, every_updates: int) -> None:
        self.task, self.agent, self.console = task, agent, console
        self.every_episodes, self.every_updates = every_episodes, every_updates
        exploration = tuple(agent.exploration(Progress()))
        self.train = CsvLog(task.results / "train.csv", [*EPISODE_COLUMNS, *agent.metric_names(), *exploration])
        self.eval = CsvLog(task.results / "eval.csv", list(EVAL_COLUMNS))
        self.board = TensorBoard(task.tb_logs, console.warn)
        self._sums: dict[str, list[float]] = {}
        """Metric -> [sum, count] since the last episode."""
        self._last: dict[str, float] = {}
        """Metric -> mean before the last episode that followed an update."""
        self._warned = False
        """True once the agent's warning has been shown."""

    def episode(self, episode: Episode, count: Count, progress: Progress) -> None:
        """Writes an episode that has ended. count.step: environment step at which it did."""
        means = self._last | {name: total / n for name, (total, n) in self._sums.items() if n}
        # a checkpoint sorts names; a person sees one order, before and after a resume
        self._last = {name: means[name] for name in self.agent.metric_names() if name in means} | means
        if not self._warned and (text := self.agent.warning(self._last, count.update)):
            self._warned = True
            self.console.warn(text)
        self._sums.clear()
        explored = self.agent.exploration(progress)
        self.train.append(
            {
                "episode": count.episode,
                "step": count.step,
                "update": count.update,
                "return": episode.total,
                "length": episode.length,
                "terminated": int(episode.terminated),
                "seed": episode.seed,
                "worker": episode.worker,
                "row": episode.row,
                **self._last,
                **explored,
            }
        )
        shown = {name: self._last[name] for name in self.agent.METRICS if name in self._last}
        self.console.episode(count.episode, episode.total, episode.length, {**shown, **explored})
        if count.episode % self.every_episodes == 0:
            values = {"train_ep_reward": episode.total, "train_ep_step": episode.length}
            self.board.scalars("interact", values, count.step)

    def updates(self, learned: Learned, first: int) -> None:
        """Writes the metrics of updates first .. first + learned.updates - 1."""
        for name, values in learned.metrics.items():
            pair = self._sums.setdefault(name, [0.0, 0])
            pair[0] += sum(values)
            pair[1] += len(values)
        last = first + learned.updates
        if last // self.every_updates > first // self.every_updates:
            self.board.scalars("model", {f"train_{n}": values[-1] for n, values in learned.metrics.items()}, last)

    def evaluation(self, evaluation: Evaluation, count: Count, best: bool) -> None:
        """Writes an evaluation. best: its model becomes models/best."""
        self.eval.append({**count._asdict(), **evaluation.facts(), "best": int(best)})
        self.board.scalars("interact", {"train_online_eval_reward": evaluation.mean}, count.step)
        self.console.evaluation(count.update, evaluation.mean, evaluation.std, len(evaluation.episodes), best)

    def flush(self) -> None:
        """Writes buffered rows to the files."""
        self.train.flush()
        self.eval.flush()
        self.board.flush()

    def state(self) -> Tree:
        """Returns the positions in the files and the metrics that no row holds yet."""
        self.flush()
        return {
            "train": self.train.position(),
            "eval": self.eval.position(),
            "crc": {"train": self.train.crc, "eval": self.eval.crc},
            "board": self.board.position(),
            "sums": self._sums,
            "last": self._last,
        }

    def load_state(self, state: Any) -> None:
        """Truncates the files to their saved positions: one curve, no row twice."""
        for log, name in ((self.train, "train"), (self.eval, "eval")):
            if not log.restore(state[name], state.get("crc", {}).get(name)):
                self.altered(log.path)
            elif name == "train":
                rows = read_csv(log.path)
                self.console.restore([float(row["return"]) for row in rows], int(rows[-1]["length"]) if rows else 0)
        self.board.restore(state["board"])
        self._sums, self._last = state["sums"], state["last"]

    def altered(self, path: Path) -> None:
        """Reports a file whose bytes before the checkpoint are no longer those that were written. Nothing that the
        training needs is in it, so the run continues, and run.json keeps the fact."""
        known = self.task.read_run().get("altered_files")
        names = known if isinstance(known, list) else []
        name = str(path.relative_to(self.task.path))
        self.task.write_run({"altered_files": [*names, *([] if name in names else [name])]})
        self.console.warn(f"{path} was altered or damaged since the checkpoint; the run continues, the file is kept")

    def close(self) -> None:
        """Writes buffered rows and closes the files."""
        self.flush()
        self.board.close()
        self.train.close()
        self.eval.close()

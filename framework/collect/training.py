"""The collector of training, whose state is restored by replaying the running episodes from their seeds."""

import numpy as np

from algos.base import Tree
from config.model.composite import amended
from envs.base import Array
from framework.collect.collector import Collector, RunningEpisodes, Tape


class TrainingCollector(Collector):
    """A collector whose state is in checkpoints. `state` returns that after the last complete round, so it is always
    exact."""

    repeated = 0, 0
    """Number of steps that `load_state` has repeated, and of those that it repeats."""

    def state(self, back: int = 0) -> Tree:
        """Returns the state after the last complete round, or `back` rounds before it: all that an exact resume
        needs."""
        mark = self._marks[-1 - back]
        at = mark.running
        tape = self._tape.between(mark.first_action(), mark.end, self.env.rows)
        rows = {"obs": at.obs, "episode": at.episode, "seed": at.seed, "length": at.length, "total": at.total}
        if self.phase is not None:
            rows["phase"] = at.phase
        age = mark.end - at.born
        return {
            "rows": rows,
            "policy": at.state,
            "age": age,
            "tape": tape,
            "rng": mark.rng,
            "steps": mark.steps,
            "incarnation": self.incarnation,
        }

    def load_state(self, state: Tree) -> list[int]:
        """Restores a state by replaying the running episodes from their seeds. Returns the rows whose replay differed:
        they start a new episode, and the resume is not exact."""
        if "tape" not in state:
            self._begin_at(state)
            return []
        rows = state["rows"]
        self._now = RunningEpisodes(
            rows["obs"].copy(), rows["episode"].copy(), rows["seed"].copy(), np.zeros_like(rows["length"]),
            np.zeros_like(rows["total"]), np.zeros_like(rows["length"]), self._phases(rows),
            None if state["policy"] is None else state["policy"].copy(),
        )  # fmt: skip
        same = self._replay(state) if self.env.replayable else np.zeros(self.env.rows, bool)
        self._now.total = rows["total"].copy()
        self.incarnation = state["incarnation"]
        if not same.all():
            self._dropped(~same)
            self.begin(~same)
        self.rng.bit_generator.state = state["rng"]
        self.steps = int(state["steps"])
        self._marks.clear()
        self.settle()
        return np.flatnonzero(~same).tolist()

    def _phases(self, rows: Tree) -> Array:
        """Returns the phases of the running episodes; the first one for a run that had no curriculum yet."""
        phases = rows.get("phase")
        return np.full(self.env.rows, self.phase or 0.0) if phases is None else np.array(phases, float)

    def _begin_at(self, state: Tree) -> None:
        """Restores a state made by `beginning`."""
        if self.phase is not None and state.get("phase") is not None:
            self.phase = state["phase"]
        self.first_episode, self.steps = state["rows"]["episode"], int(state["steps"])
        self.incarnation = int(state["incarnation"])
        self.rng.bit_generator.state = state["rng"]
        self._tape = Tape()
        self.__post_init__()

    def _replay(self, state: Tree) -> Array:
        """Replays the recorded actions, and returns a mask [N] of the rows that reached the same state. Rows are
        aligned at the end of the tape: each is reset when its own episode begins, and steps idly before that."""
        now, tape, total = self._now, state["tape"], len(state["tape"])
        self._tape = Tape()
        now.born = total - state["age"]
        self._restart(np.ones(self.env.rows, bool))
        for t in range(total):
            self.repeated = t, total
            begins = now.born == t
            if t and begins.any():
                self._restart(begins)
            self._begun(begins)
            step = self._advance(self._legal(tape[t]))
            self._tape.actions[-1] = tape[t]
            # An idle row may end; a running one ends only if the environment does not repeat itself.
            ends = step.terminated | step.truncated
            if ends.any():
                self._restart(ends)
        if total and (now.born == total).any():
            self._restart(now.born == total)
        self._begun(now.born == total)
        seen, length = state["rows"]["obs"], state["rows"]["length"]
        same = [a.tobytes() == b.tobytes() for a, b in zip(now.obs, seen, strict=True)]
        return np.array(same) & (now.length == length) & (state["age"] <= total)

    def _legal(self, action: Array) -> Array:
        """Replaces illegal actions: an idle row is in another episode than the one that its action was recorded in."""
        mask = self.env.action_mask
        return action if mask is None else amended(action, mask, self.env.action_space)

    def _restart(self, rows: Array) -> None:
        now = self._now
        now.obs = self._reset(rows, now.seed, now.phase)
        now.length[rows] = 0
        now.total[rows] = 0.0
        self._dropped(rows)

    def _dropped(self, rows: Array) -> None:
        for recorder in self.recorders:
            for row in np.flatnonzero(rows).tolist():
                recorder.drop(row)


def beginning(
    episode: Array, steps: int, incarnation: int, rng: np.random.Generator, phase: float | None = None
) -> Tree:
    """Returns the state of a collector that replaces a lost one and is about to begin these episodes [N]. phase: that
    of the curriculum; None: the first one."""
    rows = {"episode": episode}
    return {"rows": rows, "phase": phase, "steps": steps, "incarnation": incarnation, "rng": rng.bit_generator.state}

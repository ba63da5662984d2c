"""The environment: the system's policy talks to a user, and a judge scores it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from config.tell.language import tr
from envs.dialog import other_words
from envs.dialog.actions import Actions, Expert, Sets
from envs.dialog.acts import Act
from envs.dialog.channel import Channel
from envs.dialog.codec import Codec
from envs.dialog.config import Config
from envs.dialog.database import Database, Table
from envs.dialog.evaluator import Evaluator
from envs.dialog.goal import Goal, sample
from envs.dialog.parts import OURS, Guest, Judge, Language, Parts
from envs.dialog.person import Person, Read, Write
from envs.dialog.rule_policy import RulePolicy
from envs.dialog.speech import legal, utter
from envs.dialog.tracker import Tracker
from envs.dialog.transcript import Exchange, lines, text
from envs.dialog.user import User


class DialogEnv(gymnasium.Env):
    """A dialogue is an episode, and an exchange a step. It is a function of the seed and the actions."""

    metadata = {"render_modes": ["human", "text"]}

    def __init__(self, cfg: Config, database: Database, codec: Codec, actions: Actions, parts: Parts = OURS) -> None:
        self.cfg, self.database, self.codec, self.actions = cfg, database, codec, actions
        self.parts, self.metrics, self.language = parts, parts.metrics, Language(parts)
        self.render_mode = cfg.render_mode
        self.observation_space = Box(0.0, 1.0, (codec.size,), np.float32)
        self.action_space = actions.space
        self.expert = Expert(RulePolicy(codec), actions)
        """The rule policy: (observations [N, D], mask or None) -> actions [N, ...]."""
        self._person: tuple[Read, Write] | None = None
        """Functions that ask and tell a person, who takes the place of the user in the next dialogue; None for none."""
        self._channel = Channel(cfg.error_slot, cfg.error_value, cfg.error_intent)

    def __getattr__(self, name: str) -> Any:
        raise other_words.absent("Environment", name, other_words.OF_THE_ENVIRONMENT, dir(type(self)))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts a dialogue. options: {"goal": a Goal, or its JSON}; otherwise a goal is drawn."""
        super().reset(seed=seed)
        goal = (options or {}).get("goal")
        if goal is None:
            goal = sample(self.database, self.np_random, self.cfg)
        self.goal = goal if isinstance(goal, Goal) else Goal.from_json(goal)
        if missing := set(self.goal.parts) - set(self.codec.domains):
            raise ValueError(
                tr("{id} has no {domains}, which the goal has", id=self.cfg.id, domains=", ".join(sorted(missing)))
            )
        self.tables: Mapping[str, Table] = self.database.of_dialogue(self.np_random)
        self.tracker: Tracker = (self.parts.tracker or Tracker)(self.tables, self.codec.domains, self.database.places)
        judge, goal, tables = self.parts.evaluator, self.goal, self.tables
        self.evaluator = Evaluator(goal, tables) if judge is None else Judge(judge, goal, tables, self.cfg)
        self.user = self._speaker()
        self.language.begin(self.np_random)
        self.transcript: list[Exchange] = []
        """Exchanges of the dialogue so far."""
        self._finished = self.user.finished()
        heard = self._listen([], self.user.open())
        return self._observed(heard, []), self._mask()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self.user.ended:
            raise RuntimeError(tr("stepped after the end of the dialogue"))
        uttered = utter(self.actions.chosen(action), self.codec.system, self.tracker, self.cfg.max_acts)
        acts = list(uttered.values())
        self.tracker.note(acts)
        self.evaluator.note(acts)
        domain = self.tracker.active
        heard = self._listen(acts, self.user.respond(self.language.to_user(acts)))
        ended, reason = self.user.ended, self.user.reason
        reward = self._reward(len(acts), domain) * self.cfg.reward_scale
        info = self._mask()
        if ended:
            report = self.evaluator.report(reason, len(self.transcript) - 1)
            info |= {name: report[name] for name in self.metrics if report.get(name) is not None}
        cut = reason == "max_turn" and self.cfg.limit_is_truncation
        return self._observed(heard, uttered), reward, ended and not cut, cut, info

    def render(self) -> str | None:
        """Returns the goal and the dialogue so far with render_mode text; human prints each exchange when it is
        spoken."""
        return self.spoken() if self.render_mode == "text" else None

    def spoken(self) -> str:
        """Returns the goal and the dialogue so far as text."""
        return text(self.goal, self.transcript)

    def talk(self, read: Read, write: Write) -> Callable[[str], list[str]]:
        """Lets a person take the place of the simulated user in the next dialogue. read: asks for a line. Returns what
        gives the words that can follow those of an unfinished line."""
        self._person = read, write
        return lambda line: self.user.candidates(line) if isinstance(self.user, Person) else []

    # ------------------------------------------------------------------------------------------------- parts

    def _speaker(self) -> User | Person | Guest:
        """Returns who talks to the system in this dialogue."""
        cfg = self.cfg
        if self._person is not None:
            (read, write), self._person = self._person, None
            judge = self.evaluator
            reached = judge.success if isinstance(judge, Evaluator) else lambda: True  # one's own may lack the method
            return Person(self.goal, self.tracker, read, write, cfg.max_turn, reached)
        if self.parts.user is not None:
            return Guest(self.parts.user, self.goal, self.np_random, cfg)
        return User(self.goal, self.np_random, cfg.max_turn, cfg.patience, cfg.max_initiative)

    def _listen(self, system: Sequence[Act], user: Sequence[Act]) -> Sequence[Act]:
        """Writes an exchange down; returns what the system understands."""
        heard, tracker = self._channel.heard(self.language.to_system(user), self.tables, self.np_random), self.tracker
        tracker.hear(heard)
        active = tracker.active
        belief = (dict(tracker.belief[active]), dict(tracker.booking[active])) if active else ({}, {})
        matches = tracker.matches(active).bit_count() if active else None
        self.transcript.append(Exchange(tuple(system), tuple(user), tuple(heard), *belief, matches))
        if self.render_mode == "human":
            opening = len(self.transcript) == 1
            print(*([f"\n{self.goal}"] if opening else []), *lines(self.transcript[-1], opening), sep="\n", flush=True)
        return heard

    def _observed(self, heard: Sequence[Act], uttered: Sequence[int] | Mapping[int, Act]) -> np.ndarray:
        time = min(self.user.turn / self.cfg.max_turn, 1.0)
        return self.codec.encode(heard, uttered, self.tracker, time, self.user.ended)

    def _mask(self) -> dict[str, Any]:
        if not (isinstance(self.actions, Sets) and self.cfg.action_mask):
            return {}
        return {"action_mask": self.actions.mask(legal(self.codec.system, self.tracker))}

    def _reward(self, acts: int, domain: str | None) -> float:
        """Returns the reward of the exchange that was just spoken, before scaling; domain: what it was about."""
        cfg, user = self.cfg, self.user
        verdict = self.evaluator.reward(user.reason)
        if verdict is not None:
            return verdict
        if cfg.reward == "convlab":
            if self.evaluator.success():
                return 40.0
            return 5.0 if domain in self.goal.parts and self.evaluator.success(domain) else -1.0
        reward = -1.0
        if cfg.reward == "task":
            finished = user.finished()
            reward += cfg.domain_bonus * max(0, finished - self._finished) - cfg.act_penalty * acts
            self._finished = max(finished, self._finished)
        if user.ended:
            good = self.evaluator.strict(user.reason) if cfg.reward == "task" else user.reason == "complete"
            reward += 2.0 * cfg.max_turn if good else -float(cfg.max_turn)
        return reward

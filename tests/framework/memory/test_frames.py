"""A replay memory that stores each frame of an observation once, beside one that stores observations whole."""

import re
import sys
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

from algos.base import EnvSpec
from config.model.memory_spec import ReplaySpec
from config.read.loader import ConfigError, load
from envs.common.facts import frames_of
from envs.common.rows import assemble
from envs.common.wrappers import FrameStack
from framework.assemble import build, parts, resources
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.collect.fragment import Fragment, Origin
from framework.commands.work import dry_run
from framework.disk import journal as journals
from framework.memory import Replay, arrivals, ring
from framework.memory.frame_store import Compressed, Plain
from framework.memory.frames import Frames
from framework.policies.policy_plan import plan
from tests.tools.core import FakeJournal, saved_and_read, written
from tests.tools.distributed import Run, config_of, local, remote
from tests.tools.fake_ray import FakeRay
from tests.tools.paths import in_the_suite

PAGE = Path(__file__).parents[3] / "docs" / "environments.md"
DEPTH, SHAPE = 4, (4, 3, 2)
PADDINGS = ("copies", "zeros", "different")


# -------------------------------------------------------------------------------------------------- made-up films


class Film:
    """Rows of stacked frames of random pixels, of few values, so that neighbouring frames are often equal."""

    def __init__(self, rows=2, length=5.0, padding="copies", seed=0, broken=0.0, shape=SHAPE, values=3):
        """length: mean length of an episode. padding: what the first stack of an episode is filled up with. broken:
        share of the steps that move the stack on by more than one frame."""
        self.rng, self.rows, self.length, self.padding = np.random.default_rng(seed), rows, length, padding
        self.broken, self.shape, self.values = broken, shape, values
        self.obs = np.stack([self.start() for _ in range(rows)])

    def pixels(self, *lead):
        return self.rng.integers(0, self.values, (*lead, *self.shape[1:]), dtype=np.uint8)

    def start(self):
        stack = self.pixels(self.shape[0])
        if self.padding == "copies":
            stack[:] = stack[-1]
        elif self.padding == "zeros":
            stack[:-1] = 0
        return stack

    def step(self):
        moved = np.concatenate([self.obs[:, 1:], self.pixels(self.rows, 1)], 1)
        for row in np.flatnonzero(self.rng.random(self.rows) < self.broken).tolist():
            moved[row] = self.pixels(self.shape[0])
        ended = self.rng.random(self.rows) < 1 / self.length
        terminated = ended & (self.rng.random(self.rows) < 0.5)
        columns = {
            "obs": self.obs,
            "next_obs": moved,
            "action": self.rng.integers(0, 4, self.rows),
            "reward": self.rng.random(self.rows).astype(np.float32),
            "terminated": terminated,
            "truncated": ended & ~terminated,
            "state": self.rng.random((self.rows, 2)).astype(np.float32),
        }
        self.obs = moved.copy()
        for row in np.flatnonzero(ended).tolist():
            self.obs[row] = self.start()
        return columns

    def fragment(self, steps, worker=0, first=False):
        each = [self.step() for _ in range(steps)]
        columns = {name: np.stack([one[name] for one in each]) for name in each[0]}
        return Fragment(columns, {"state": None, "first": np.full(self.rows, first)}, Origin(worker))


def memory_of(depth=DEPTH, capacity=48, collectors=1, seed=1, mirror=None, **settings):
    settings = {"batch_size": 8, "warmup": 1, "updates_per_step": 0.5, "gamma": 0.5, **settings}
    spec, mirror = ReplaySpec(capacity, **settings), mirror if depth else None
    return Replay(spec, np.random.default_rng(seed), collectors=collectors, depth=depth, mirror=mirror)


def chunks(memory):
    """What a memory hands out now, as bytes; gives priorities back."""
    found = []
    while (chunk := memory.take(0.5)) is not None:
        if memory.spec.sequence == 1:
            memory.feedback(chunk.keys, chunk.columns["reward"])
        columns = {name: value.numpy() if torch.is_tensor(value) else value for name, value in chunk.columns.items()}
        arrays = {**columns, "place": chunk.keys.place, "serial": chunk.keys.serial}
        if chunk.arrived is not None:
            arrays["arrived"] = chunk.arrived["obs"]
        found.append({name: (value.dtype, value.shape, value.tobytes()) for name, value in sorted(arrays.items())})
    return found


def sound(memory):
    """Asserts that the counters say how often each frame is used, and that none is lost."""
    rings = memory._rings
    frames = rings.frames
    uses = np.bincount(np.concatenate([rings.flat[name].ravel() for name in ring.SEEN]), minlength=len(frames._uses))
    uses[0] += 1
    np.testing.assert_array_equal(frames._uses, uses)
    assert frames.used == np.count_nonzero(uses[1:])
    assert len(set(frames._free)) == len(frames._free)
    assert not uses[frames._free].any()


SETTINGS = [
    {}, {"n_step": 3}, {"priority_alpha": 0.6}, {"sequence": 3}, {"priority_alpha": 0.6, "n_step": 3},
    {"statistics": True}, {"compress": True}, {"mirror": torch.device("cpu")},
    {"mirror": torch.device("cpu"), "n_step": 3, "statistics": True},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    ("length", "padding", "broken"),
    [(1, "copies", 0.0), (1.5, "different", 0.2), (9, "zeros", 0.0), (40, "different", 0.05), (1e9, "copies", 0.0)],
)
def test_samples_are_those_of_whole_observations_to_the_byte(settings, length, padding, broken, monkeypatch):
    """For episodes of one step and endless ones, fragments that are longer than a ring, and several collectors."""
    monkeypatch.setattr(arrivals, "MOST_BYTES", 200)  # new observations of two steps of each collector at a time
    films = [Film(2, length, padding, seed, broken) for seed in range(2)]
    whole, frames = (memory_of(depth, collectors=2, **settings) for depth in (0, DEPTH))
    for number, steps in enumerate([1, 1, 1, 4, 2, 1, 7, 1, 3, 13, 1, 30, 1, 1, 2]):
        fragment = films[number % 2].fragment(steps, number % 2, first=number == 9)
        whole.add(fragment)
        frames.add(fragment)
        assert chunks(frames) == chunks(whole)
        sound(frames)


def test_the_device_that_learns_has_the_frames_of_samples():
    """Here the CPU in place of a GPU: observations are tensors, and what is not of frames stays in arrays."""
    memory = memory_of(mirror=torch.device("cpu"))
    memory.add(Film().fragment(30))
    chunk = memory.take(0.5)
    assert {name for name, value in chunk.columns.items() if torch.is_tensor(value)} == set(ring.SEEN)
    assert chunk.columns["obs"].dtype == torch.uint8


@pytest.mark.parametrize(
    ("device", "words", "free", "mirrored"),
    [
        ("cuda", (), 20e9, True), ("cuda", (), 14e9, False), ("cpu", (), 20e9, False),
        ("cuda", ("general_cfg.mp_backend=ray",), 20e9, False),
        ("cuda", ("algo_cfg.buffer_compress=true",), 20e9, False),
    ],
)  # fmt: skip
def test_a_gpu_that_learns_gets_the_frames_if_they_leave_half_of_its_memory(device, words, free, mirrored, monkeypatch):
    ours = config("algo_cfg.buffer_size=1000000", *words)
    (policy,) = plan(ours, EnvSpec("x", IMAGE, Discrete(4), 1, frames=4)).policies
    monkeypatch.setattr(parts, "device_of", lambda config: torch.device(device))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 80e9))
    assert parts.SingleParts(ours, policy)._mirror() == (torch.device(device) if mirrored else None)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_stack_of_any_number_of_frames_comes_back(depth):
    film, whole, frames = Film(3, 4, "different"), memory_of(0), memory_of(depth)
    for _ in range(30):
        fragment = film.fragment(2)
        whole.add(fragment)
        frames.add(fragment)
        assert chunks(frames) == chunks(whole)
    sound(frames)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64])
def test_values_of_every_type_come_back_to_the_bit(dtype):
    """-0.0 is equal to 0.0 and NaN to nothing, but they are other bits."""
    obs = np.random.default_rng(0).integers(0, 2, (6, 1, 2, 3)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        obs[0], obs[2], obs[4] = -0.0, 0.0, np.nan
    after = -np.roll(obs, -1, axis=0) if np.issubdtype(dtype, np.floating) else obs[::-1].copy()
    frames = Frames(2, (2, 3), np.dtype(dtype), 24)
    for given, stored in zip((obs, after), frames.store(obs, after, np.zeros((1, 2), np.int32)), strict=True):
        assert frames.stacks(stored).tobytes() == given.tobytes()


# --------------------------------------------------------------------------------------------------------- how many


def test_an_episode_takes_a_frame_for_each_step_and_one_for_its_beginning():
    """5 steps of one row: 6 frames of a stack filled up with copies, 7 with zeros, and 9 of four different ones."""
    for padding, count in zip(PADDINGS, (6, 7, 9), strict=True):
        memory = memory_of()
        memory.add(Film(1, 1e9, padding, values=256).fragment(5))
        assert memory._rings.frames.used == count


def test_a_ring_that_goes_around_takes_no_more_frames_than_it_holds():
    """48 places: 24 steps of two rows. Of endless episodes each has a frame for each step, and 4 for the oldest stack;
    of episodes of one step each has 4 + 1."""
    for length, most in ((1e9, 2 * (24 + 4)), (1, 48 * 5)):
        film, memory = Film(2, length, "different", values=256), memory_of()
        for steps in (1, 5, 24, 40) * 5:
            memory.add(film.fragment(steps))
            assert memory._rings.frames.used <= most
            assert memory._rings.frames._end <= 2 * most + 1, "frames are used again"
        assert memory._rings.frames.used == most


def test_stacks_that_are_none_are_stored_whole_and_never_worse_than_both_observations():
    film, memory = Film(1, 1e9, "different", broken=1.0, values=256), memory_of()
    memory.add(film.fragment(48))
    assert memory._rings.frames.used == 4 + 48 * 4, "an observation is still the successor before it"


def test_a_million_atari_transitions_take_7_1_gb_and_less_than_5_percent_more():
    """10,000 transitions of 84 x 84 x 4, in episodes of 100 steps that begin with four different frames, when the ring
    has gone around."""
    rng, memory = np.random.default_rng(0), memory_of(capacity=10_000)
    flags = {name: np.zeros((20, 1), bool) for name in ("terminated", "truncated")}
    for _ in range(105):
        film = np.frombuffer(rng.bytes(104 * 84 * 84), np.uint8).reshape(104, 84, 84)
        stacks = np.moveaxis(np.lib.stride_tricks.sliding_window_view(film, 4, axis=0), -1, 1)[:, None]
        for first in range(0, 100, 20):
            columns = {"obs": stacks[first : first + 20], "next_obs": stacks[first + 1 : first + 21], **flags,
                       "action": np.zeros((20, 1), np.int64), "reward": np.zeros((20, 1), np.float32)}  # fmt: skip
            memory.add(Fragment(columns, {"state": None, "first": np.zeros(1, bool)}, Origin()))
    rings = memory._rings
    size = rings.frames.nbytes + sum(column.nbytes for column in rings.flat.values())
    assert rings.size == 10_000
    assert size / 10_000 * 1e6 < 7.1e9 * 1.05


IMAGE = Box(0, 255, (4, 84, 84), np.uint8)


def config(*words):
    return load(None, ["general_cfg.algo_name=DQN", *words], find_algo=ALGOS, find_env=ENVS)


def test_the_estimate_of_a_memory_of_frames_is_what_it_takes():
    """A frame of 7,056 bytes and 8 for its counter, and four of them more for every hundred steps; 8 numbers of 4
    bytes; the action, 10 bytes, and two masks of four actions. Compressed to a quarter: 1,764 bytes and 8."""
    ours = config("algo_cfg.buffer_size=1000000")
    spec = EnvSpec("x", IMAGE, Discrete(4), 1, frames=4)
    (policy,) = plan(ours, spec).policies
    each = 7064 + 4 * 7064 // 100 + 32 + 8 + 10 + 8
    assert resources.policy_bytes(ours, policy) == 1_000_000 * each < 7.1e9 * 1.05
    (packed,) = plan(config("algo_cfg.buffer_compress=true"), spec).policies
    assert resources.kept_bytes(ours, packed, compressed=False) == each, "of the journal, which is not compressed"
    assert resources.policy_bytes(ours, packed) == 100_000 * (1772 + 4 * 1772 // 100 + 58)


def test_the_page_has_the_sizes_that_are_estimated():
    rows = re.findall(r"^\| ([\d x]+),.*\| (\d) \| (.*) GB \| (.*) GB \| (.*) GB \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == 3
    for shape, frames, *sizes in rows:
        space = Box(0, 255, tuple(map(int, shape.split(" x "))), np.uint8)
        found = []
        for words in ((), ("algo_cfg.buffer_compress=true",)):
            ours = config("algo_cfg.buffer_size=1000000", *words)
            (policy,) = plan(ours, EnvSpec("x", space, Discrete(4), 1, frames=int(frames))).policies
            found += [1e6 * resources.step_bytes(ours, policy), resources.policy_bytes(ours, policy)]
        assert sizes == [f"{found[number] / 1e9:.1f}" for number in (0, 1, 3)]


@pytest.mark.parametrize(
    ("space", "frames", "words", "depth"),
    [
        (IMAGE, 4, (), 4), (IMAGE, 1, (), 1), (IMAGE, 3, (), 1), (Box(0, 255, (4096,), np.uint8), 1, (), 1),
        (Box(0, 255, (4095,), np.uint8), 1, (), 0), (Box(-1, 1, (4,)), 4, (), 0),
        (IMAGE, 4, ("general_cfg.algo_name=PPO",), 0), (IMAGE, 4, ("algo_cfg.her_ratio=0.5",), 0),
    ],
)  # fmt: skip
def test_what_is_stored_as_frames(space, frames, words, depth):
    (policy,) = plan(config(*words), EnvSpec("x", space, Discrete(4), 1, frames=frames)).policies
    assert resources.depth_of(policy) == depth


# ------------------------------------------------------------------------------------------------- stopping, going on


def played(memory, films, plan, first=0):
    """Fragments of both collectors in turn, each learned from; returns all that was handed out."""
    found = []
    for number, steps in enumerate(plan, first):
        memory.add(films[number % 2].fragment(steps, number % 2, first=number % 5 == 4))
        found += chunks(memory)
    return found


PLANS = ((1, 2, 1), (3, 1, 9, 2, 1, 1, 30, 1, 2), (1,) * 60)


@pytest.mark.parametrize(
    "settings",
    [{}, {"priority_alpha": 0.6, "n_step": 3}, {"sequence": 3}, {"compress": True}, {"mirror": torch.device("cpu")}],
)
@pytest.mark.parametrize("size", [1, 200, 2**20])
@pytest.mark.parametrize("before", PLANS)
def test_the_journal_gives_a_memory_of_frames_back_to_the_byte(before, size, settings, monkeypatch):
    """RES-1: in frames of any size, and in several saves; it goes on as the memory that was never saved."""
    monkeypatch.setattr(journals, "FRAME_BYTES", size)
    memory, films = memory_of(collectors=2, **settings), [Film(2, 6, "different", seed, 0.1) for seed in range(2)]
    journal, half = FakeJournal(), len(before) // 2
    played(memory, films, before[:half])
    memory.write(journal)
    played(memory, films, before[half:], half)
    span = memory.write(journal)
    other = memory_of(collectors=2, seed=9, **settings)
    other.load_state(saved_and_read(memory.state()), journal.read(span))
    sound(other)
    assert abs(other._rings.frames.used - memory._rings.frames.used) <= 2 * 2 * DEPTH, "shared as before"
    films_again = [Film(2, 6, "different", seed, 0.1) for seed in range(2)]
    played(memory_of(collectors=2, **settings), films_again, before)
    after, count = (1, 4, 1, 9, 30, 1), len(before)
    assert played(other, films_again, after, count) == played(memory, films, after, count)


def test_the_journal_has_each_frame_once():
    memory = memory_of(capacity=2000)
    memory.add(Film(2, 1e9, "copies", values=256).fragment(1000))
    (frame,) = written(memory)
    assert frame.arrays["frames"].shape == (2 * 1001, 1, 3, 2)
    assert frame.arrays["obs"].shape == (1000, 2, 4)


def test_no_frame_of_the_journal_is_larger_than_the_limit(monkeypatch):
    """The frames of a memory that has gone around have numbers in any order."""
    monkeypatch.setattr(journals, "FRAME_BYTES", 1000)
    film, memory, other = Film(2, 3, "different", values=256), memory_of(capacity=200), memory_of(capacity=200)
    for steps in (1, 30, 7) * 10:
        memory.add(film.fragment(steps))
    found = written(memory)
    assert sum(int(frame.arrays["after"].sum() - frame.arrays["first"].sum()) for frame in found) == 100
    assert all(sum(value.nbytes for value in frame.arrays.values()) <= 1000 + 2 * 8 for frame in found)
    other.load_state(saved_and_read(memory.state()), found)
    assert chunks(other) == chunks(memory) != []


def test_a_checkpoint_with_whole_observations_is_read_into_frames():
    """That of a version before this one."""
    film, again = Film(2, 6, "different"), Film(2, 6, "different")
    old, new = memory_of(0), memory_of()
    old.add(film.fragment(30))
    again.fragment(30)
    new.load_state(saved_and_read(old.state()), written(old))
    sound(new)
    assert new._rings.frames.used < 2 * 48
    for _ in range(5):
        fragment = film.fragment(3)
        old.add(fragment)
        new.add(fragment)
        assert chunks(new) == chunks(old)


@pytest.mark.parametrize(("before", "after"), [(3, 1), (1, 3), (2, 3)])
def test_with_another_number_of_collectors_frames_move_to_their_rings(before, after, monkeypatch):
    monkeypatch.setattr(journals, "FRAME_BYTES", 500)
    whole, frames = [], []
    for depth, found in ((0, whole), (DEPTH, frames)):
        films = [Film(2, 6, "different", seed) for seed in range(before)]
        memory = memory_of(depth, collectors=before)
        for worker, film in enumerate(films):
            memory.add(film.fragment(9, worker))
        other = memory_of(depth, collectors=after)
        other.load_state(saved_and_read(memory.state()), written(memory))
        if depth:
            sound(other)
        other.add(films[0].fragment(2, 0, first=True))
        found += chunks(other)
    assert frames == whole != []


@pytest.mark.parametrize(
    "crafted",
    [
        {"obs": np.full((3, 2, 4), -1, np.int32)}, {"obs": np.full((3, 2, 4), 10**6, np.int32)},
        {"next_obs": np.zeros((3, 2, 10**6), np.int32)}, {"obs": np.zeros((3, 2, 4), np.float32)},
        {"frames": np.zeros((0, 1, 3, 2), np.uint8)}, {"frames": np.zeros(3, np.uint8)},
    ],
)  # fmt: skip
def test_a_crafted_frame_of_the_journal_is_refused(crafted):
    """SEC-4"""
    memory = memory_of()
    memory.add(Film(2).fragment(3))
    (frame,) = written(memory)
    with pytest.raises((ValueError, IndexError, TypeError)):
        memory_of().load_state(memory.state(), [frame._replace(arrays={**frame.arrays, **crafted})])


# ------------------------------------------------------------------------------------------------------- environments


class Pictures(gymnasium.Env):
    """A bright column walks over a picture of 64 x 64; it ends on the right, and the seed says where it begins."""

    observation_space, action_space = Box(0, 255, (64, 64), np.uint8), Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(0, 20))
        return self._seen(), {}

    def step(self, action):
        self.at += 1 + int(action)
        return self._seen(), float(action), self.at >= 30, False, {}

    def _seen(self):
        picture = np.zeros((64, 64), np.uint8)
        picture[:, self.at % 64] = 200
        return picture


def stacked(space: str = "ours") -> gymnasium.Env:
    if space == "ours":
        return FrameStack(Pictures(), 3)
    return gymnasium.wrappers.FrameStackObservation(Pictures(), 3, padding_type=space)


@pytest.mark.parametrize("kind", ["ours", "reset", "zero"])
@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_an_environment_that_stacks_frames_says_so(kind, vectorization):
    with closing(assemble(lambda index: stacked(kind), "pictures", 2, vectorization)) as env:
        assert env.frames == 3
        assert env.observation_space.shape == (3, 64, 64)
        assert build.env_spec(config(), env).frames == 3


def test_the_outermost_stack_counts_and_an_environment_may_stack_by_itself():
    class Own(Pictures):
        stack_size = 5

    assert frames_of(gymnasium.wrappers.TimeLimit(FrameStack(Own(), 2), 9)) == 2
    assert frames_of(Own()) == 5
    assert frames_of(Pictures()) == 1
    for wrong in ("4", 0, None):
        Own.stack_size = wrong
        assert frames_of(Own()) == 1


@pytest.mark.parametrize("grey", [True, False])
def test_the_rows_of_ale_are_stacks_of_frames(grey):
    pytest.importorskip("ale_py")
    words = ("env_cfg.id=ALE/Pong-v5", "env_cfg.vectorization=native", f"env_cfg.grayscale={grey}")
    ours = config(*words, "env_cfg.n_envs=2", "env_cfg.stack_num=3")
    with closing(build.make_env(ours, 2)) as env:
        assert env.frames == 3
        assert env.observation_space.shape[0] == 3
        memory, obs = memory_of(3), env.reset(np.ones(2, bool), np.arange(2))
        for number in range(20):
            out = env.step(np.array([number % 6, 1]))
            columns = {"obs": obs, "next_obs": out.obs.copy(), "reward": out.reward, "action": np.zeros(2, int),
                       "terminated": out.terminated, "truncated": out.truncated}  # fmt: skip
            memory.add(Fragment({name: value[None] for name, value in columns.items()}, {"first": np.zeros(2, bool)},
                                Origin()))  # fmt: skip
            obs = columns["next_obs"]
    assert memory._rings.frames.used <= 2 * (20 + 3)


# --------------------------------------------------------------------------------------------------------- whole runs

ALGORITHMS = {
    "DQN": ("algo_cfg.n_step=3",), "RainbowDQN": (), "DRQN": (), "SAC": (), "DDPG_HER": (),
}  # fmt: skip


def run_of(algo, monkeypatch, least, backend=local, **settings):
    monkeypatch.setattr(resources, "LEAST_OBSERVATION", least)
    ours = config_of(algo, "algo_cfg.buffer_size=90", *ALGORITHMS[algo], **settings)
    return Run(ours, backend(ours))


@pytest.mark.parametrize("algo", in_the_suite(ALGORITHMS, "RainbowDQN", "DRQN", "DDPG_HER"))
def test_a_run_learns_the_same_from_frames_to_the_bit(algo, monkeypatch):
    """Small observations as frames, which they are not by default; also from a checkpoint on, with all kinds of replay.
    Relabelled ones stay whole."""
    runs, saved = [], []
    for least in (10**9, 1):
        runs.append(run_of(algo, monkeypatch, least).until(96))
        saved.append(runs[-1].saved())
    whole, frames = (run.until(120).state() for run in runs)
    assert (runs[1].backend.memory._rings.frames is None) == (algo == "DDPG_HER")
    assert frames == whole
    assert run_of(algo, monkeypatch, 1).load(saved[1]).until(120).state()["weights"] == whole["weights"]
    assert run_of(algo, monkeypatch, 1).load(saved[0]).until(120).state() == whole


def test_two_workers_learn_the_same_from_frames_to_the_bit(monkeypatch):
    def many(config):
        return remote(config, FakeRay(3))

    whole, frames = (run_of("RainbowDQN", monkeypatch, least, many, workers=2).until(120) for least in (10**9, 1))
    assert frames.state() == whole.state()


IMAGES = (
    "general_cfg.env_name=python", "env_cfg.id=test_frames:Pictures", "algo_cfg.buffer_size=60",
    "env_cfg.wrappers=[{wrapper_name: FrameStack, stack_size: 3}]", "env_cfg.vectorization=sync",
    "algo_cfg.value_layers=[{layer_type: conv2d, out_channel: 2, kernel_size: 16, stride: 16}]",
)  # fmt: skip


def test_a_run_of_stacked_images_is_the_same_to_the_bit(monkeypatch):
    monkeypatch.setitem(sys.modules, "test_frames", sys.modules[__name__])
    found = []
    for words, least in (((), 10**9), ((), 4096), (("algo_cfg.buffer_compress=true",), 4096)):
        monkeypatch.setattr(resources, "LEAST_OBSERVATION", least)
        ours = config_of("DQN", *IMAGES, *words, toy="match", allow_import=["test_frames"])
        found.append(Run(ours, local(ours)).until(90))
    whole, frames, packed = found
    assert whole.backend.memory._rings.frames is None
    assert type(frames.backend.memory._rings.frames._store) is Plain
    assert type(packed.backend.memory._rings.frames._store) is Compressed
    assert frames.backend.memory._rings.depth == 3
    assert whole.state() == frames.state() == packed.state()
    assert packed.backend.memory._rings.frames.nbytes < frames.backend.memory._rings.frames.nbytes / 10


def test_a_dry_run_says_what_the_frames_take(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "test_frames", sys.modules[__name__])
    assert dry_run.describe(config_of("DQN", *IMAGES, toy="match", allow_import=["test_frames"])) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("memory  ")]
    each = 4104 + 3 * 4104 // 100 + 24 + 8 + 10 + 4
    assert line.endswith(f", about {60 * each / 1024:.4g} KiB when full, since each frame is stored once")


def test_compression_is_refused_where_observations_are_stored_whole():
    with pytest.raises(ConfigError, match=r"buffer_compress: is for images"):
        compatibility.check(config("algo_cfg.buffer_compress=true"))

"""Memories filled with ramps: what comes out must be what went in, in the right place."""

import numpy as np
import pytest

from config.model.course import rising
from config.model.memory_spec import ReplaySpec, RolloutSpec
from framework.assemble import build
from framework.errors import JoystickError
from framework.memory import Keys, Rollout
from framework.memory.replay import Replay
from framework.memory.sum_tree import SumTree
from tests.tools.config_fixtures import loaded
from tests.tools.core import FakeJournal, ramp, replay, saved_and_read, spec_of, toy_of, written

GAMMA = 0.5
ENDS = {(3, 0): "terminated", (6, 1): "truncated", (9, 0): "truncated", (9, 1): "terminated", (12, 2): "terminated"}


def filled(steps, rows=1, length=1, ends=None, **settings):
    memory = replay(**settings)
    for first in range(0, steps, length):
        memory.add(ramp(first, min(length, steps - first), rows, ends))
    return memory


def chunks(memory, count=None):
    """So many chunks, or all that are owed."""
    taken = []
    while (count is None or len(taken) < count) and (chunk := memory.take(0.0)) is not None:
        taken.append(chunk)
    return taken


def samples(memory):
    """{(step, row): (obs, action, reward, next_obs, discount)} of everything that is drawn while updates are owed."""
    found = {}
    for chunk in chunks(memory):
        columns = [chunk.columns[name].reshape(-1) for name in ("obs", "action", "reward", "next_obs", "discount")]
        for serial, *values in zip(chunk.keys.serial.reshape(-1).tolist(), *columns, strict=True):
            row = int(values[0]) // 1000
            assert found.setdefault((serial, row), values) == values
    return found


def expected(steps, capacity, rows, ends, n_step):
    """By hand: sum the rewards of up to n steps, stop at an end or at the newest step, and look at the last."""
    table = {}
    for row in range(rows):
        for t in range(max(0, steps - capacity // rows), steps):
            reward, k = 0.0, 0
            while True:
                reward += GAMMA**k * (1 + t + k)
                end, k = ends.get((t + k, row)), k + 1
                if end or k == n_step or t + k == steps:
                    break
            last = t + k - 1
            discount = 0.0 if end == "terminated" else GAMMA**k
            table[t, row] = [1000 * row + t, t % 3, reward, 1000 * row + last + 0.5, discount]
    return table


# ------------------------------------------------------------------------------------------------------ samples


@pytest.mark.parametrize("length", [1, 4, 7])
@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize(
    ("steps", "capacity", "rows"), [(14, 64, 1), (14, 8, 1), (14, 64, 3), (14, 24, 3), (11, 30, 3)]
)
def test_every_sample_is_the_sum_of_its_own_rewards_and_ends_where_its_episode_does(
    steps, capacity, rows, n_step, length
):
    """TRM-1, TRM-6: termination, truncation, wrap-around, the newest step, several rows, any length of fragments.
    The successor is the true one, and discount is gamma^k, or 0 where it is terminal."""
    memory = filled(steps, rows, length, ENDS, capacity=capacity, n_step=n_step, batch=256)
    assert memory.size == min(steps, capacity // rows) * rows
    assert samples(memory) == expected(steps, capacity, rows, ENDS, n_step)


@pytest.mark.parametrize("n_step", [1, 3])
def test_a_memory_of_one_transition_gives_the_newest_one(n_step):
    """TRM-6"""
    memory = filled(5, capacity=1, batch=2, n_step=n_step)
    assert samples(memory) == {(4, 0): [4.0, 1, 5.0, 4.5, 0.5]}


def test_a_fragment_longer_than_the_memory_leaves_its_newest_steps():
    assert sorted(samples(filled(20, length=20, capacity=6, batch=256))) == [(t, 0) for t in range(14, 20)]


def test_no_window_reaches_across_a_lost_collector():
    """Steps 4 and 5 are of another collector: what came before is neither an end nor a part of it."""
    memory = replay(capacity=64, batch=256, n_step=3)
    memory.add(ramp(0, 4))
    memory.add(ramp(4, 2, fresh=True))
    # step 3 alone: reward 4, successor 3.5, gamma^1; step 2: 3 + 0.5 * 4, gamma^2; step 4: 5 + 0.5 * 6, gamma^2
    found = samples(memory)
    assert found[3, 0][2:] == [4.0, 3.5, 0.5]
    assert found[2, 0][2:] == [5.0, 3.5, 0.25]
    assert found[4, 0][2:] == [8.0, 5.5, 0.25]


def test_dummy_steps_are_never_drawn_and_owe_nothing():
    ends = {(t, 0): "dummy" for t in range(1, 12, 2)}
    for alpha in (0.0, 1.0):
        memory = filled(12, length=12, ends=ends, capacity=12, batch=256, priority_alpha=alpha)
        taken = chunks(memory)
        assert sum(len(chunk.columns["reward"]) for chunk in taken) == 6
        assert {int(s) % 2 for chunk in taken for s in chunk.keys.serial.reshape(-1)} == {0}


def test_samples_are_copies_that_later_steps_leave_alone():
    memory = filled(8, capacity=8)
    (chunk, *_) = chunks(memory)
    before = {name: value.copy() for name, value in chunk.columns.items()}
    memory.add(ramp(8, 8))
    for name, value in before.items():
        np.testing.assert_array_equal(chunk.columns[name], value)


def test_uniform_drawing_is_uniform():
    memory = filled(10, capacity=10, batch=5000)
    counts = np.bincount(np.concatenate([chunk.keys.place.reshape(-1) for chunk in chunks(memory)]))
    np.testing.assert_allclose(counts / counts.sum(), 0.1, atol=0.01)


# -------------------------------------------------------------------------------------------------------- ratio


@pytest.mark.parametrize(
    ("warmup", "ratio", "rows", "per_step"),
    [
        (1, 1.0, 1, [1] * 8),
        (4, 1.0, 1, [0, 0, 0, 1, 1, 1, 1, 1]),
        (1, 0.25, 1, [0, 0, 0, 1, 0, 0, 0, 1]),
        (6, 2.0, 2, [0, 0, 4, 4, 4, 4, 4, 4]),
        (1, 0.25, 2, [0, 1, 0, 1, 0, 1, 0, 1]),
    ],
)
def test_updates_are_owed_by_transitions_and_begin_with_the_warm_up(warmup, ratio, rows, per_step):
    memory = replay(warmup=warmup, updates_per_step=ratio)
    owed = []
    for t in range(8):
        memory.add(ramp(t, 1, rows))
        owed.append(sum(len(chunk.columns["reward"]) for chunk in chunks(memory)))
    assert owed == per_step


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_with_another_number_of_collectors_the_warm_up_counts_each_step_once(before, after):
    memory = Replay(ReplaySpec(40, 4, 12, 1.0), np.random.default_rng(0), collectors=before)
    for worker in range(before):
        memory.add(ramp(0, 10 // before, worker=worker))
    other = Replay(ReplaySpec(40, 4, 12, 1.0), np.random.default_rng(0), collectors=after)
    other.load_state(saved_and_read(memory.state()), written(memory))
    owed = []
    for t in range(3):
        other.add(ramp(10 + t, 1))
        owed.append(other.owed())
    assert owed == [0, 1, 2], "from the twelfth transition on"


def test_many_owed_updates_come_in_several_chunks():
    taken = chunks(filled(150, length=150, capacity=200))
    assert [len(chunk.columns["reward"]) for chunk in taken] == [64, 64, 22]


# -------------------------------------------------------------------------------------------------- by priority


def prioritised(priorities, batch=4, beta=0.5, **settings):
    """A memory whose step t has priority priorities[t], to the power 1."""
    count = len(priorities)
    settings = {"capacity": count, "priority_epsilon": 0.0, "priority_alpha": 1.0, "updates_per_step": 40.0, **settings}
    memory = filled(count, length=count, batch=batch, priority_beta=rising(beta), **settings)
    keys = Keys(np.arange(count), np.arange(count))
    memory.feedback(keys, np.array(priorities, np.float32))
    return memory


def test_samples_are_drawn_in_proportion_to_their_priority():
    """Schaul et al. (2016), equation 1: P(i) = p_i^alpha / sum_k p_k^alpha, here with alpha 1."""
    memory = prioritised([1, 2, 3, 4], batch=1000)
    counts = np.bincount(np.concatenate([chunk.keys.place.reshape(-1) for chunk in chunks(memory)]))
    # strata of a thousandth of the total: no more than one sample away from exact, per batch
    np.testing.assert_allclose(counts / counts.sum(), [0.1, 0.2, 0.3, 0.4], atol=0.002)


def test_importance_weights_undo_the_preference_and_the_largest_is_one():
    """Schaul et al. (2016), section 3.4: w_i = (1 / (N P(i)))^beta, divided by the largest of the minibatch."""
    # w = (N P)^-beta with N = 4, P = 1/10 .. 4/10, beta 1/2: 0.4^-1/2 .. 1.6^-1/2, divided by the first
    memory = prioritised([1, 2, 3, 4], batch=100)
    chunk = chunks(memory, 1)[0]
    by_place = dict(zip(chunk.keys.place.reshape(-1).tolist(), chunk.columns["weight"].reshape(-1), strict=True))
    assert [by_place[i] for i in range(4)] == pytest.approx([1.0, (0.2 / 0.1) ** -0.5, 3**-0.5, 0.5])


def test_the_correction_becomes_full_with_the_progress_of_the_run():
    """Schaul et al. (2016), section 3.4: beta rises linearly to 1, so w is 4^-beta: 0.4, 0.4 + 0.6 / 2, 1."""
    memory = prioritised([1, 4], batch=100, beta=0.4, updates_per_step=80.0)
    for fraction, beta in ((0.0, 0.4), (0.5, 0.7), (1.0, 1.0)):
        weights = memory.take(fraction).columns["weight"]
        assert weights.min() == pytest.approx(4**-beta)


def test_priorities_are_raised_to_alpha_after_epsilon_is_added():
    """Schaul et al. (2016), section 3.3 and equation 1: p_i = |delta_i| + epsilon, to the power alpha."""
    # (|-3.99| + 0.01)^0.5 = 2 and (0.99 + 0.01)^0.5 = 1: two thirds and one third
    memory = prioritised([-3.99, 0.99], batch=3000, priority_alpha=0.5, priority_epsilon=0.01)
    place = chunks(memory, 1)[0].keys.place
    assert np.mean(place == 0) == pytest.approx(2 / 3, abs=0.002)


def test_what_is_new_has_the_highest_priority_so_far():
    """Schaul et al. (2016), algorithm 1, line 6: 8 of 1 + 8 + 1 + 8."""
    memory = prioritised([1, 8, 1], capacity=4, batch=1000)
    memory.add(ramp(3, 1))
    place = chunks(memory, 1)[0].keys.place
    assert np.mean(place == 3) == pytest.approx(8 / 18, abs=0.002)


def test_priorities_of_samples_that_were_overwritten_meanwhile_are_ignored():
    memory = prioritised([1, 1, 1, 1], batch=1000)
    keys = Keys(np.arange(4), np.arange(4))
    memory.add(ramp(4, 2))
    memory.feedback(keys, np.array([100.0, 100.0, 3.0, 3.0]))
    # places 0 and 1 hold steps 4 and 5 now, as new as priority 1 makes them
    place = chunks(memory, 1)[0].keys.place
    assert np.mean(place < 2) == pytest.approx(2 / 8, abs=0.002)


def test_a_sum_tree_draws_what_a_plain_running_sum_would():
    rng = np.random.default_rng(0)
    for leaves in (1, 2, 5, 8, 37):
        tree, plain = SumTree(leaves), np.zeros(leaves)
        for _ in range(5):
            where = rng.integers(0, leaves, leaves + 1)
            values = rng.integers(1, 9, leaves + 1).astype(float)
            tree.set(where, values)
            for leaf, value in zip(where, values, strict=True):
                plain[leaf] = value
        place = tree.draw((3, 16), np.random.default_rng(1))
        weight = tree.weights(place, 1.0)
        points = (np.arange(16) + np.random.default_rng(1).random((3, 16))) / 16 * plain.sum()
        np.testing.assert_array_equal(place, np.searchsorted(np.cumsum(plain), points, side="right"))
        inverse = 1 / plain[place]
        np.testing.assert_allclose(weight, inverse / inverse.max(axis=1, keepdims=True), rtol=1e-6)


def test_the_sums_of_a_tree_follow_what_was_set_even_if_the_array_of_leaves_changes_before_the_draw():
    tree, leaves = SumTree(64), np.array([40])
    tree.set(leaves, np.ones(1))
    leaves[0] = 3
    assert (tree.draw((1, 8), np.random.default_rng(0)) == 40).all()


@pytest.mark.parametrize("leaves", [1, 16, 17, 1000])
def test_a_tree_draws_no_leaf_without_a_priority_and_has_no_end_that_rounding_reaches(leaves):
    class Edges:
        """A stream that draws only the smallest and the largest number below 1."""

        def random(self, shape):
            return np.where(np.arange(np.prod(shape)).reshape(shape) % 2, np.nextafter(1.0, 0.0), 0.0)

    tree, some = SumTree(leaves), np.arange(leaves // 3, leaves - leaves // 3)
    tree.set(some, np.random.default_rng(0).random(len(some)) + 1e-9)
    for stratified in (True, False):
        assert np.isin(tree.draw((2, 64), Edges(), stratified), some).all()


# ------------------------------------------------------------------------------------------- stopping, going on

SETTINGS = [
    {"capacity": 64},
    {"capacity": 64, "n_step": 3},
    {"capacity": 12, "n_step": 3},
    {"capacity": 64, "priority_alpha": 0.6},
    {"capacity": 12, "priority_alpha": 0.6, "n_step": 3},
]


def work(memory, first, count):
    """Steps first .. first + count - 1 of two rows, each learned from; returns all that was handed out."""
    seen = []
    for t in range(first, first + count):
        memory.add(ramp(t, 1, 2, {(5, 0): "terminated", (17, 1): "truncated"}, fresh=t == 13))
        for chunk in chunks(memory):
            memory.feedback(chunk.keys, chunk.columns["reward"] % 7)
            seen += [*chunk.columns.values(), chunk.keys.place, chunk.keys.serial]
    return [array.tobytes() for array in seen]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("saves", [(0,), (3,), (1, 2, 9), (4, 13, 14, 20, 20), tuple(range(1, 24))])
def test_a_memory_from_its_journal_goes_on_to_the_bit(settings, saves):
    """Also wrapped, by priority, over several frames, and where a chain was broken after it had been written."""
    memory, journal, at = replay(**settings), FakeJournal(), 0
    for save in saves:
        work(memory, at, save - at)
        span = memory.write(journal)
        at = save
    other, copy = replay(**settings, seed=99), FakeJournal()
    copy.frames = list(journal.frames)
    other.load_state(saved_and_read(memory.state()), journal.read(span))
    assert other.state() == memory.state()
    assert work(other, at, 20) == work(memory, at, 20)
    assert other.write(copy) == memory.write(journal)
    assert bytes_of(copy.frames) == bytes_of(journal.frames)


def bytes_of(frames):
    return [{name: value.tobytes() for name, value in frame.items()} for frame in frames]


def test_a_frame_of_the_journal_costs_what_is_new():
    """CKP-8: neither the size of the memory nor its age matters."""
    memory, journal = filled(1000, length=1000, capacity=5000, priority_alpha=0.6), FakeJournal()
    memory.write(journal)
    memory.add(ramp(1000, 7))
    (chunk,) = chunks(memory, 1)
    memory.feedback(chunk.keys, chunk.columns["reward"])
    memory.write(journal)
    _, frame = journal.frames
    assert len(frame["reward"]) == 7
    assert 7 <= len(frame["leaf"]) <= 7 + chunk.keys.place.size
    assert frame["first"].tolist() == [1000]


def test_a_journal_that_could_not_be_written_is_offered_again():
    memory, journal = filled(5, length=5), FullDisk()
    with pytest.raises(OSError, match="full"):
        memory.write(journal)
    memory.add(ramp(5, 1))
    journal.room = 1
    memory.write(journal)
    assert [len(frame["reward"]) for frame in journal.frames] == [6]


class FullDisk(FakeJournal):
    """Takes so many frames."""

    room = 0

    def append(self, arrays):
        if len(self.frames) == self.room:
            raise OSError("full")
        return super().append(arrays)


def test_a_rollout_joins_fragments_hands_the_window_out_once_and_keeps_copies():
    memory = Rollout(RolloutSpec(length=6))
    first, second = ramp(0, 4, 2), ramp(4, 2, 2)
    memory.add(first)
    first.columns["reward"][:] = -1
    assert memory.take(0.0) is None
    other = Rollout(RolloutSpec(length=6))
    other.load_state(saved_and_read(memory.state()), [])
    for each in (memory, other):
        each.add(second)
        window = each.take(0.0)
        np.testing.assert_array_equal(window.columns["reward"], ramp(0, 6, 2).columns["reward"])
        assert each.take(0.0) is None
        assert each.write(FakeJournal()) is None


# --------------------------------------------------------------------------------------------------- sequences


def with_state(fragment):
    """The policy's state before each step is a hundred and the step."""
    fragment.columns["state"] = 100 + fragment.columns["obs"]
    return fragment


def test_a_sequence_is_a_piece_of_one_row_in_time_order_from_anywhere_in_the_ring():
    memory = replay(capacity=24, batch=40, sequence=4)
    for first in range(0, 20, 5):
        memory.add(with_state(ramp(first, 5, rows=2, ends={(13, 1): "terminated", (15, 0): "truncated"})))
    columns = memory.take(0.0).columns
    obs, first = columns["obs"][..., 0], columns["first"]
    assert obs.shape[1:] == (4, 40)
    assert (np.diff(obs, axis=1) == 1).all()
    starts = {(value // 1000, value % 1000) for value in obs[:, 0].ravel()}
    # the ring holds steps 8 to 19 of both rows, so that sequences begin at 8 to 16
    assert starts == {(row, step) for row in (0, 1) for step in range(8, 17)}
    np.testing.assert_array_equal(columns["state"][..., 0], 100 + obs[:, 0])
    begins = np.isin(obs, [1014, 16])
    begins[:, 0] = False
    np.testing.assert_array_equal(first, begins)
    np.testing.assert_array_equal(columns["next_obs"][..., 0], obs + 0.5)
    np.testing.assert_array_equal(columns["discount"] == 0, obs == 1013)


@pytest.mark.parametrize("together", [1, 5])
def test_prioritized_sequences_begin_at_every_stride_and_none_where_steps_are_missing(together):
    """Of steps 8 to 19, which the ring holds, 9 and 12 and 15 begin a sequence of four; each has a priority of its
    own, 8 times the others' for the one at 12, and it is drawn as often."""
    memory = replay(capacity=24, batch=200, sequence=4, stride=3, priority_alpha=1.0, priority_beta=rising(1.0))
    for first in range(0, 20, together):
        memory.add(with_state(ramp(first, together, rows=2)))
        while (chunk := memory.take(0.0)) is not None:
            obs = chunk.columns["obs"][..., 0]
            assert (obs[:, 0] % 1000 % 3 == 0).all()
            assert (np.diff(obs, axis=1) == 1).all()
    places = memory._rings.places(0, np.array([9, 12, 15]))
    assert (memory._tree.of(places) > 0).all()
    assert np.count_nonzero(memory._tree._leaves) == 6
    memory.feedback(Keys(places, memory._rings.serial(places)), np.array([[1.0] * 2, [8.0] * 2, [1.0] * 2]))
    columns = memory.take(0.0, granted=50).columns
    begins = columns["obs"][:, 0, :, 0] % 1000
    assert set(begins.ravel().tolist()) == {9, 12, 15}
    assert np.mean(begins == 12) == pytest.approx(0.8, abs=0.02)
    # (8 / 1)^-1 beside the weight 1 of those drawn less often, the same for each step of a sequence
    assert columns["weight"].shape == columns["reward"].shape
    np.testing.assert_allclose(columns["weight"], np.where(begins == 12, 0.125, 1.0)[:, None].repeat(4, 1), rtol=1e-6)


def test_prioritized_sequences_are_the_same_after_a_resume():
    """RES-1, around the ring."""
    settings = {"capacity": 24, "batch": 4, "sequence": 3, "stride": 2, "priority_alpha": 0.9}
    memory, other = (replay(**settings) for _ in range(2))
    for first in range(0, 40, 10):
        memory.add(with_state(ramp(first, 10, ends={(24, 0): "terminated"})))
    chunk = memory.take(0.0, granted=2)
    memory.feedback(chunk.keys, np.arange(chunk.keys.place.size).reshape(chunk.keys.place.shape))
    other.load_state(memory.state(), written(memory))
    for one in (memory, other):
        one.add(with_state(ramp(40, 2)))
    np.testing.assert_equal(other.take(0.0, granted=3).columns, memory.take(0.0, granted=3).columns)


def test_no_sequence_is_handed_out_before_there_is_one():
    memory = replay(capacity=24, batch=2, sequence=4)
    memory.add(with_state(ramp(0, 3)))
    assert memory.take(0.0) is None
    memory.add(with_state(ramp(3, 1)))
    assert memory.take(0.0).columns["obs"][0, :, 0, 0].tolist() == [0, 1, 2, 3]


def test_where_a_collector_was_lost_a_sequence_begins_anew():
    memory = replay(capacity=24, batch=20, sequence=3)
    memory.add(with_state(ramp(0, 4)))
    memory.add(with_state(ramp(4, 4, fresh=True)))
    columns = memory.take(0.0).columns
    begins = columns["obs"][..., 0] == 4
    begins[:, 0] = False
    assert begins.any()
    np.testing.assert_array_equal(columns["first"], begins)


def test_sequences_are_the_same_after_a_resume():
    """RES-1"""
    memory, other = (replay(capacity=24, batch=4, sequence=3) for _ in range(2))
    memory.add(with_state(ramp(0, 10, ends={(4, 0): "terminated"})))
    memory.take(0.0)
    other.load_state(memory.state(), written(memory))
    for one in (memory, other):
        one.add(with_state(ramp(10, 2)))
    np.testing.assert_equal(other.take(0.0).columns, memory.take(0.0).columns)


def test_windows_that_overlap_share_their_ends_and_keep_copies():
    """Length 2 and overlap 1: steps 0 1 2, then 2 3 4. The collector uses its arrays again."""
    memory, seen = Rollout(RolloutSpec(length=2, overlap=1)), []
    for step in range(5):
        fragment = ramp(step, 1)
        memory.add(fragment)
        fragment.columns["reward"][:] = -9
        while (chunk := memory.take(0.0)) is not None:
            seen.append(chunk.columns["reward"][:, 0].tolist())
    assert seen == [[1, 2, 3], [3, 4, 5]]


def test_a_window_of_one_step_and_its_overlap_hands_out_every_step_once():
    memory, seen = Rollout(RolloutSpec(length=1, overlap=1)), []
    for step in range(4):
        fragment = ramp(step, 1)
        memory.add(fragment)
        fragment.columns["reward"][:] = -9
        while (chunk := memory.take(0.0)) is not None:
            seen.append(chunk.columns["reward"][:, 0].tolist())
    assert seen == [[1, 2], [2, 3], [3, 4]]


def test_windows_of_episodes_hold_every_step_of_each_row_once_up_to_the_end_of_its_episode():
    """Row 0 ends after steps 1 and 4, row 1 after step 3."""
    ends = {(1, 0): "terminated", (4, 0): "truncated", (3, 1): "terminated"}
    memory, seen = Rollout(RolloutSpec(length=1, unit="episodes")), []
    for step in range(6):
        memory.add(ramp(step, 1, rows=2, ends=ends))
        while (chunk := memory.take(0.0)) is not None:
            valid = chunk.columns["valid"]
            seen.append([chunk.columns["reward"][valid[:, row], row].tolist() for row in (0, 1)])
    assert seen == [[[1, 2], []], [[], [1, 2, 3, 4]], [[3, 4, 5], []]]


def test_a_memory_that_is_too_small_for_one_sequence_is_refused():
    """8 + 16 steps, of 100 // 8 in each row: it would collect for ever and never learn."""
    config = loaded(None, "general_cfg.algo_name=DRQN", "algo_cfg.buffer_size=100", "algo_cfg.learning_starts=20")
    with pytest.raises(JoystickError, match=r"24 steps, and algo_cfg.buffer_size 100 keeps 12 of each of 8 rows"):
        build.make_memory(config, spec_of(toy_of("match", 8)), 1)
    assert build.make_memory(config, spec_of(toy_of("match", 4)), 1)


def test_a_sequence_begins_anew_after_a_step_that_belongs_to_no_episode():
    """Step 1 ends an episode, and step 2 is the dummy that a vector environment makes of a reset."""
    columns = {name: np.zeros((5, 1), bool) for name in ("terminated", "truncated")}
    columns["terminated"][1] = True
    valid = np.array([[True], [True], [False], [True], [True]])
    memory = Rollout(RolloutSpec(length=5, sequence=5))
    first = memory._with_beginnings({**columns, "valid": valid})["first"]
    assert first[:, 0].tolist() == [False, False, True, True, False]

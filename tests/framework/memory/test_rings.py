"""A replay memory of several collectors, filled with a ramp by each."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest

from config.model.memory_spec import ReplaySpec
from framework.disk import journal as journals
from framework.memory import Keys, Replay
from framework.memory.ring import Rings
from tests.tools.core import FakeJournal, ramp, saved_and_read, written

GAMMA = 0.5
ROWS = 2
ENDS = {(0, 2, 0): "terminated", (0, 9, 1): "truncated", (1, 2, 1): "terminated", (2, 4, 0): "truncated"}
"""(worker, step, row) -> how an episode ends there."""
LENGTHS = (11, 4, 7)
"""Steps that each collector has given: with 8 slots in a ring, the first one has gone around."""


def memory_of(collectors=3, capacity=8 * 3 * ROWS, batch=64, seed=0, **settings):
    settings = {"warmup": 1, "updates_per_step": 1.0, "gamma": GAMMA, **settings}
    spec = ReplaySpec(capacity=capacity, batch_size=batch, **settings)
    return Replay(spec, np.random.default_rng(seed), collectors=collectors)


def ramp_of(worker, first, steps, fresh=(False, False), ends=ENDS, rows=ROWS):
    """The observation is 10000 worker + 1000 row + step, and the reward 100 worker + 1 + step."""
    mine = {(step, row): kind for (number, step, row), kind in ends.items() if number == worker}
    fragment = ramp(first, steps, rows, mine, worker=worker)
    for name in ("obs", "next_obs"):
        fragment.columns[name] += np.float32(10000 * worker)
    fragment.columns["reward"] += np.float32(100 * worker)
    fragment.start["first"] = np.array(fresh[:rows])
    return fragment


def filled(lengths=LENGTHS, piece=3, **settings):
    """Fragments of all collectors in turn, in pieces of so many steps."""
    memory = memory_of(len(lengths), **settings)
    for first in range(0, max(lengths), piece):
        for worker, length in enumerate(lengths):
            if first < length:
                memory.add(ramp_of(worker, first, min(piece, length - first)))
    return memory


def held(lengths=LENGTHS, slots=8, rows=ROWS):
    """(worker, step, row) of everything that there is room for."""
    steps = [(worker, step) for worker, length in enumerate(lengths) for step in range(max(0, length - slots), length)]
    return {(worker, step, row) for worker, step in steps for row in range(rows)}


def whence(obs):
    """(worker, step, row) of observations."""
    numbers = obs.reshape(-1).astype(int)
    return list(
        zip((numbers // 10000).tolist(), (numbers % 1000).tolist(), (numbers // 1000 % 10).tolist(), strict=True)
    )


def chunks(memory):
    found = []
    while (chunk := memory.take(0.0)) is not None:
        found.append(chunk)
    return found


def drawn(memory):
    """How often each transition is drawn."""
    return sum((Counter(whence(chunk.columns["obs"])) for chunk in chunks(memory)), Counter())


def uneven(counts, expected):
    """Pearson's chi-square, and its mean plus four deviations for so many places."""
    total, freedom = sum(counts.values()), len(expected) - 1
    each = total / len(expected)
    return sum((counts[place] - each) ** 2 / each for place in expected), freedom + 4 * (2 * freedom) ** 0.5


# -------------------------------------------------------------------------------------------------- what is drawn


def test_every_transition_that_is_held_is_drawn_equally_often():
    counts = drawn(filled(batch=3000))
    assert counts.keys() == held()
    found, limit = uneven(counts, held())
    assert found < limit


@pytest.mark.parametrize("batch", [len(held()), 5 * len(held())])
def test_new_transitions_have_equal_priorities_whatever_ring_they_are_in(batch):
    """One from each of as many equal parts as there are transitions: exactly as often each."""
    (chunk, *_) = chunks(filled(batch=batch, priority_alpha=1.0))
    for places in chunk.keys.place:
        assert set(Counter(places.tolist()).values()) == {batch // len(held())}
    assert set(whence(chunk.columns["obs"])) == held()


def by_hand(n_step, cuts=()):
    """Rewards of up to n steps of one row of one collector, the state after them, and the discount. cuts: where an
    episode is lost."""
    table = {}
    for worker, step, row in held():
        reward, k = 0.0, 0
        while True:
            reward += GAMMA**k * (100 * worker + 1 + step + k)
            end = ENDS.get((worker, step + k, row)) or ((worker, step + k, row) in cuts)
            k += 1
            if end or k == n_step or step + k == LENGTHS[worker]:
                break
        discount = 0.0 if end == "terminated" else GAMMA**k
        table[worker, step, row] = (reward, 10000 * worker + 1000 * row + step + k - 0.5, discount)
    return table


def samples(memory):
    found = {}
    for chunk in chunks(memory):
        values = zip(
            *(chunk.columns[name].reshape(-1).tolist() for name in ("reward", "next_obs", "discount")), strict=True
        )
        for place, value in zip(whence(chunk.columns["obs"]), values, strict=True):
            assert found.setdefault(place, value) == value
    return found


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("piece", [1, 3, 11])
@pytest.mark.parametrize("n_step", [1, 3, 20])
def test_the_rewards_of_a_sample_are_of_its_own_ring_row_and_episode(n_step, piece, alpha):
    """TRM-1, TRM-6: and not from behind the newest step, where the oldest stands."""
    assert samples(filled(piece=piece, n_step=n_step, batch=500, priority_alpha=alpha)) == by_hand(n_step)


def test_a_row_that_begins_anew_cuts_its_own_chain_and_no_other():
    """A collector was lost after step 3 of worker 2: only one of its rows was in the middle of an episode."""
    lengths, memory = LENGTHS, memory_of(n_step=3, batch=500)
    for worker in (0, 1):
        memory.add(ramp_of(worker, 0, lengths[worker]))
    memory.add(ramp_of(2, 0, 4))
    memory.add(ramp_of(2, 4, 3, fresh=(False, True)))
    assert samples(memory) == by_hand(3, cuts=[(2, 3, 1)])


def test_a_priority_of_what_one_ring_has_overwritten_is_ignored_and_those_of_other_rings_count():
    memory = filled((3, 3), capacity=3 * 2 * ROWS, priority_alpha=1.0, priority_epsilon=0.0, batch=1000)
    keys = Keys(np.arange(12), np.repeat([0, 1, 2, 0, 1, 2], ROWS))
    memory.add(ramp_of(0, 3, 1))  # step 0 of worker 0 has gone
    memory.feedback(keys, np.full(12, 4.0, np.float32))
    (chunk, *_) = chunks(memory)
    counts = Counter(whence(chunk.columns["obs"]))
    # ten of priority 4, and two new ones of priority 1: 42 in all
    assert counts[0, 3, 0] + counts[0, 3, 1] == pytest.approx(chunk.keys.place.size * 2 / 42, rel=0.01)
    assert counts[1, 0, 0] == pytest.approx(chunk.keys.place.size * 4 / 42, rel=0.01)


@pytest.mark.parametrize("length", [2, 4, 7])
def test_sequences_stay_within_a_row_of_a_ring_and_begin_anywhere_equally_often(length):
    memory = filled(sequence=length, batch=2000)
    starts, begun = Counter(), Counter()
    for chunk in chunks(memory):
        obs = chunk.columns["obs"][..., 0]
        assert obs.shape[1] == length
        assert (np.diff(obs, axis=1) == 1).all()
        starts.update(whence(obs[:, 0]))
        begun.update(place for place, first in zip(whence(obs), chunk.columns["first"].ravel(), strict=True) if first)
    pieces = {(w, t, row) for w, t, row in held() if t + length <= LENGTHS[w]}
    assert starts.keys() == pieces
    found, limit = uneven(starts, pieces)
    assert found < limit
    assert begun.keys() <= {(worker, step + 1, row) for worker, step, row in ENDS}


# --------------------------------------------------------------------------------------------- stopping, going on

SETTINGS = [{}, {"n_step": 3}, {"priority_alpha": 0.6}, {"sequence": 3}]
PLAN = [(w, n) for n in range(1, 20) for w in ([0, 1, 2], [0], [2, 0], [1, 1])[n % 4]]
"""Whose fragment comes next, and how many steps it has modulo 3 plus 1."""


def work(memory, at, start, stop):
    """Fragments start .. stop - 1 of the plan, each learned from; returns all that was handed out."""
    seen = []
    for number in range(start, stop):
        worker, count = PLAN[number][0], 1 + PLAN[number][1] % 3
        fresh = (number % 7 == 6, number % 11 == 3)
        memory.add(ramp_of(worker, at[worker], count, fresh))
        at[worker] += count
        for chunk in chunks(memory):
            if memory.spec.sequence == 1:
                memory.feedback(chunk.keys, chunk.columns["reward"] % 7)
            seen += [*chunk.columns.values(), chunk.keys.place, chunk.keys.serial]
    return [array.tobytes() for array in seen]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("saves", [(1,), (5, 12), (2, 3, 4, 20, 20, 31), tuple(range(1, 36))])
def test_the_journal_of_several_rings_gives_the_memory_back_to_the_bit(saves, settings):
    """RES-1: wrapped or not, with chains cut after they were written, and without what was dropped."""
    memory, at, journal, before = memory_of(batch=4, **settings), [0, 0, 0], FakeJournal(), 0
    for save in saves:
        work(memory, at, before, save)
        span = memory.write(journal)
        before = save
    other, copy = memory_of(batch=4, seed=9, **settings), FakeJournal()
    copy.frames = list(journal.frames)
    other.load_state(saved_and_read(memory.state()), journal.read(span))
    assert other.state() == memory.state()
    stop = min(before + 12, len(PLAN))
    assert work(other, list(at), before, stop) == work(memory, list(at), before, stop)
    assert other.write(copy) == memory.write(journal)
    assert bytes_of(copy.frames) == bytes_of(journal.frames)


def bytes_of(frames):
    return [{name: value.tobytes() for name, value in frame.items()} for frame in frames]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("size", [1, 100, 300, 1000])
@pytest.mark.parametrize("saves", [(5, 12), (2, 3, 4, 20, 20, 31), (31,)])
def test_a_journal_in_small_frames_gives_the_same_memory(saves, size, settings, monkeypatch):
    """CKP-8: no frame is larger than the limit, except for one of a single step or leaf."""
    memory, at, journal, before = memory_of(batch=4, **settings), [0, 0, 0], FakeJournal(), 0
    for save in saves:
        work(memory, at, before, save)
        whole = written(memory)
        monkeypatch.setattr(journals, "FRAME_BYTES", size)
        journal.frames += [{}] * (7 if before == 0 else 0)
        span = memory.write(journal)
        monkeypatch.undo()
        before = save
    other = memory_of(batch=4, seed=9, **settings)
    frames = journal.read(span)
    other.load_state(saved_and_read(memory.state()), frames)
    assert other.state() == memory.state()
    (one,), (two,) = whole, written(other)
    assert bytes_of([one.arrays]) == bytes_of([two.arrays])
    steps = [frame.arrays["after"].sum() - frame.arrays["first"].sum() for frame in frames]
    largest = max(sum(value.nbytes for value in frame.arrays.values()) for frame in frames)
    assert largest <= size + 2 * 3 * 8 or max(steps) == 1


def test_priorities_of_steps_in_later_frames_are_not_dropped_with_an_early_one(monkeypatch):
    """A frame goes once its steps are overwritten; the priorities of a save are with the last steps of it."""
    monkeypatch.setattr(journals, "FRAME_BYTES", 4096)  # a frame has seven of these steps, and room for 20 priorities
    random, journal = np.random.default_rng(3), FakeJournal()
    settings = {"collectors": 1, "capacity": 200, "batch": 4, "updates_per_step": 0.3, "priority_alpha": 0.6}
    memory = memory_of(**settings)
    for _ in range(12):
        fragment = ramp(0, int(random.integers(1, 90)))
        for name in ("obs", "next_obs"):
            fragment.columns[name] = np.repeat(fragment.columns[name], 66, axis=2)
        memory.add(fragment)
        while (chunk := memory.take(0.0)) is not None:
            memory.feedback(chunk.keys, random.random(chunk.keys.place.shape))
        span = memory.write(journal)
        other = memory_of(**settings)
        other.load_state(saved_and_read(memory.state()), journal.read(span))
        assert np.array_equal(other._tree._leaves, memory._tree._leaves)


def test_what_no_ring_needs_of_the_journal_is_dropped():
    """8 slots: a frame is needed until each ring has gone around past all that it holds."""
    memory, journal = memory_of(), FakeJournal()
    for first in (0, 4, 8):
        for worker in (0, 1, 2):
            memory.add(ramp_of(worker, first, 4, ends={}))
        span = memory.write(journal)
    assert len(journal.frames) == 3
    assert span.start == (0, 1), "each ring has gone past its first four steps"
    memory.add(ramp_of(0, 12, 8, ends={}))
    memory.add(ramp_of(1, 12, 8, ends={}))
    assert memory.write(journal).start == (0, 1), "one ring still needs its steps 4 to 7"
    memory.add(ramp_of(2, 12, 8, ends={}))
    assert memory.write(journal).start == (0, 3)


def test_a_journal_that_goes_on_elsewhere_begins_with_everything():
    """A branch has a journal of its own: nobody says that the one it was loaded from is still there."""
    memory = filled(priority_alpha=0.6)
    other = memory_of(priority_alpha=0.6)
    other.load_state(saved_and_read(memory.state()), written(memory))
    branch = FakeJournal()
    span = other.write(branch)
    third = memory_of(priority_alpha=0.6)
    third.load_state(saved_and_read(other.state()), branch.read(span))
    assert samples(third).keys() == held()


@pytest.mark.parametrize("settings", [{}, {"priority_alpha": 0.6}])
@pytest.mark.parametrize(("before", "after"), [(3, 1), (1, 3), (3, 2), (2, 3), (1, 2)])
def test_with_another_number_of_collectors_the_newest_are_kept_and_no_chain_reaches_over(before, after, settings):
    """RAY-4: 24 slots for each of two rows, divided among the rings. All have 9 steps, and end nowhere; those of a ring
    of `before` come in equal parts to as many of `after` as there are for each, and each part behind another."""
    memory = filled((9,) * before, n_step=3, batch=200, updates_per_step=9.0, **settings)
    if settings:
        chunk = memory.take(0.0)
        memory.feedback(chunk.keys, np.full(chunk.keys.place.shape, 5.0, np.float32))
    other = memory_of(after, n_step=3, batch=400, **settings)
    other.load_state(saved_and_read(memory.state()), written(memory))
    parts = -(-after // before)
    bounds = np.linspace(max(0, 9 - 24 // before), 9, parts + 1).astype(int)
    rings = [[] for _ in range(after)]
    last_of = {}
    for number, (worker, part) in enumerate(np.ndindex(before, parts)):
        steps = range(bounds[part], bounds[part + 1])
        rings[number % after] += [(worker, step) for step in steps]
        last_of |= {(worker, step): steps[-1] for step in steps}
    expected = {(*step, row) for ring in rings for step in ring[-(24 // after) :] for row in range(ROWS)}
    found = samples(other)
    assert found.keys() == expected
    assert other.size == len(expected)
    for (worker, step, row), (reward, successor, _) in found.items():
        end = next((t for t in range(step, 9) if (worker, t, row) in ENDS), 8)
        last = min(step + 2, end, last_of[worker, step])
        assert successor == 10000 * worker + 1000 * row + last + 0.5
        assert reward == sum(GAMMA ** (t - step) * (100 * worker + 1 + t) for t in range(step, last + 1))
    again = memory_of(after, n_step=3, batch=400, seed=5, **settings)
    again.load_state(saved_and_read(other.state()), written(other))
    assert samples_of(again) == samples_of(other)


@pytest.mark.parametrize("after", [2, 3, 4, 6])
def test_a_full_memory_of_one_collector_stays_full_with_several(after):
    memory = memory_of(1)
    memory.add(ramp_of(0, 0, 40, ends={}))
    assert memory.size == 48
    other = memory_of(after)
    other.load_state(saved_and_read(memory.state()), written(memory))
    assert other.size == 48
    assert (other._rings.added == 24 // after).all()


def test_the_warm_up_is_over_once_and_for_all():
    """22 transitions were enough; each of three rings has room for 16."""
    memory = memory_of(1, warmup=22)
    memory.add(ramp_of(0, 0, 11, ends={}))
    other = memory_of(3, warmup=22)
    other.load_state(saved_and_read(memory.state()), written(memory))
    chunks(other)
    other.add(ramp_of(1, 0, 1, ends={}))
    assert other.size == 24
    assert [len(chunk.columns["reward"]) for chunk in chunks(other)] == [2]


def samples_of(memory):
    """What is drawn next."""
    memory.add(ramp_of(0, 50, 4, fresh=(True, True), ends={}))
    return samples(memory)


def test_a_copy_or_a_pickle_of_rings_has_one_array_per_column_in_both_of_its_shapes():
    rings = filled()._rings
    for other in (copy.deepcopy(rings), pickle.loads(pickle.dumps(rings))):
        for name, whole in rings.steps.items():
            np.testing.assert_array_equal(other.steps[name], whole)
            assert np.shares_memory(other.steps[name], other.flat[name])
            assert not np.shares_memory(other.flat[name], whole)


@pytest.mark.parametrize("added", [0, 3, 5, 12])
def test_one_ring_counts_as_the_first_of_several(added):
    """The short forms for a single ring are those for several."""
    single, several = Rings(5 * 2, 1), Rings(5 * 2 * 3, 3)
    for rings in (single, several):
        rings.make_room(2)
        rings.added[0] = added
    places = np.arange(min(added, 5) * 2)
    assert single.serial(places).tolist() == several.serial(places).tolist()
    assert [single.pieces(length) for length in (1, 3)] == [several.pieces(length) for length in (1, 3)]
    assert single.pieces(3) == max(0, min(added, 5) - 2) * 2

"""What a user of Tianshou may write by mistake in a program: each gets one sentence."""

from collections.abc import Callable
from typing import Any

import gymnasium
import joystick.tianshou
import numpy as np
import pytest
import torch
from torch import nn

import joystick
from joystick import (
    Batch,
    CachedReplayBuffer,
    Collector,
    PrioritizedReplayBuffer,
    ReplayBuffer,
    VectorReplayBuffer,
)  # fmt: skip
from tests.tools.data import Counts, Recording


def full(kind: Any = ReplayBuffer) -> Any:
    """Returns a buffer of ten places with three transitions."""
    buffer = kind(10)
    for number in range(3):
        buffer.add(obs=np.full(2, number), act=number, rew=1.0, terminated=False, truncated=False)
    return buffer


def prioritized() -> Any:
    """Returns a prioritized buffer with three transitions."""
    return full(lambda size: PrioritizedReplayBuffer(size, 0.6, 0.4))


def vec() -> Any:
    """Returns a buffer of three parts with a transition in each."""
    buffer = VectorReplayBuffer(12, 3)
    buffer.add(obs=np.zeros((3, 2)), act=[0] * 3, rew=[1.0] * 3, terminated=[False] * 3)
    return buffer


def coll() -> Collector:
    """Returns a collector with a buffer."""
    return Collector(Recording(), Counts(3), ReplayBuffer(20))


class Bare(Recording):
    """Returns what a function makes of a batch."""

    def __init__(self, out: Callable[[Batch], Any]) -> None:
        self.out = out

    def forward(self, batch: Batch, state: Any = None) -> Any:
        return self.out(batch)


class Bits(Counts):
    """Has actions of two bits."""

    def __init__(self) -> None:
        super().__init__(3)
        self.action_space = gymnasium.spaces.MultiBinary(2)


def nested_then_flat() -> None:
    """Adds a transition with parts, then one without."""
    buffer = ReplayBuffer(5)
    buffer.add(obs={"a": 1}, act=1, rew=1.0, done=False)
    buffer.add(obs=3, act=1, rew=1.0, done=False)


MISTAKES: list[tuple[str, Callable[[], Any], str]] = [
    (
        "cat nested list",
        lambda: Batch.cat([[Batch(a=[1])]]),
        "Batch.cat takes a list of Batches or dicts; item 0 is [Batch( a: array([1]), )]",
    ),
    ("cat single", lambda: Batch.cat(Batch(a=[1])), "Batch.cat takes a list of Batches; got a single one"),
    (
        "cat single value",
        lambda: Batch.cat([Batch(a=1), Batch(a=2)]),
        "a is a single value without rows; Batch.stack makes rows of single values",
    ),
    ("cat shapes", lambda: Batch.cat([Batch(a=np.ones((2, 3))), Batch(a=np.ones((2, 4)))]), "a: all the inpu..."),
    (
        "cat missing",
        lambda: Batch.cat([Batch(a=[1]), Batch(b=[1])]),
        "a is missing in some of the Batches; Batch.cat(..., fill=0) fills it with 0",
    ),
    (
        "cat batch vs array",
        lambda: Batch.cat([Batch(a=[1]), Batch(a={"b": [1]})]),
        "a is a Batch in some of the Batches, and array([1]) in another one",
    ),
    (
        "cat tensors shapes",
        lambda: Batch.cat([Batch(a=torch.ones(2, 3)), Batch(a=torch.ones(2, 4))]),
        "a: Sizes of ten...",
    ),
    ("stack strings", lambda: Batch.stack(["a", "b"]), "Batch.stack takes a list of Batches or dicts; item 0 is 'a'"),
    (
        "stack axis 1 missing",
        lambda: Batch.stack([Batch(e=[4, 5], d=6), Batch(e=[4, 6])], axis=1),
        "d is missing in some of the Batches, which can be stacked along axis 0 only",
    ),
    (
        "stack tensor shapes",
        lambda: Batch.stack([Batch(a=torch.ones(2)), Batch(a=torch.ones(3))]),
        "tensors of the shapes (2,), (3,) make no tensor; pad them to one shape",
    ),
    ("stack axis too large", lambda: Batch.stack([Batch(a=[1]), Batch(a=[2])], axis=5), "a: axis 5 is ou..."),
    ("Batch(5)", lambda: Batch(5), "Batch(5): expected a dict, a list of dicts, or keywords"),
    ("Batch([1,2])", lambda: Batch([1, 2]), "Batch(list): every item must be a dict or a Batch"),
    ("Batch text", lambda: Batch("abc"), "Batch('abc'): expected a dict, a list of dicts, or keywords"),
    ("Batch key 1", lambda: Batch({1: 2}), "a key of a Batch is text, got 1"),
    ("missing key", lambda: Batch(a=1).b, "this Batch has no key 'b'; it has a"),
    ("missing item", lambda: Batch(a=1)["b"], "this Batch has no key 'b'; it has a"),
    ("index past end", lambda: Batch(a=[1, 2])[5], "a: index 5 is o..."),
    ("empty index", lambda: Batch()[0], "an empty Batch has no rows"),
    ("set unknown key", lambda: Batch(a=[1, 2]).__setitem__(0, {"b": 1}), "rows of a Batch: b is none of its keys: a"),
    ("set shape", lambda: Batch(a=np.ones((2, 3))).__setitem__(0, Batch(a=np.ones(4))), "a: could not br..."),
    ("set single", lambda: Batch(a=1).__setitem__(0, Batch(a=2)), "key 'a' is a single value: it has no rows"),
    (
        "len single",
        lambda: len(Batch(a=1)),
        "this Batch has no len(): a is a single value without rows; Batch.stack makes rows of single values",
    ),
    ("add other keys", lambda: Batch(a=[1]) + Batch(b=[1]), "Batches of other keys: a, b"),
    ("add shapes", lambda: Batch(a=np.ones(2)) + Batch(a=np.ones(3)), "a: operands cou..."),
    (
        "split 0",
        lambda: list(Batch(a=[1, 2]).split(0)),
        "split(0): expected a whole number, at least 1; -1 means all rows",
    ),
    (
        "split float",
        lambda: list(Batch(a=[1, 2]).split(1.5)),
        "split(1.5): expected a whole number, at least 1; -1 means all rows",
    ),
    (
        "split single",
        lambda: list(Batch(a=1).split(1)),
        "this Batch has no len(): a is a single value without rows; Batch.stack makes rows of single values",
    ),
    (
        "attr method",
        lambda: setattr(Batch(), "shape", 3),
        "shape is the name of a method of Batch; write batch['shape'] = ...",
    ),
    ("update list", lambda: Batch(a=1).update([1, 2]), "update([1, 2]): expected a dict, a Batch or keywords"),
    (
        "to_torch text",
        lambda: joystick.to_torch("abc"),
        "to_torch: 'abc' is not a number or an array of numbers of one shape",
    ),
    (
        "to_torch None",
        lambda: joystick.to_torch(None),
        "to_torch: None is not a number or an array of numbers of one shape",
    ),
    (
        "to_torch ragged",
        lambda: joystick.to_torch([np.ones(2), np.ones(3)]),
        "to_torch: [array([1., 1.]), array([1., 1., 1.])] is not a number or an array of numbers of one shape",
    ),
    (
        "to_numpy ragged",
        lambda: joystick.to_numpy([torch.ones(2), torch.ones(3)]),
        "to_numpy: the shapes (2,), (3,) make no array; pad them to one shape",
    ),
    (
        "to_torch dtype",
        lambda: Batch(a=[1]).to_torch(dtype="float32"),
        "to_torch: dtype: got 'float32'; expected one of torch, such as torch.float32",
    ),
    ("delattr", lambda: delattr(Batch(a=1), "b"), "this Batch has no key 'b'; it has a"),
    ("buf size 0", lambda: ReplayBuffer(0), "size: got 0; expected a whole number, at least 1"),
    ("buf size text", lambda: ReplayBuffer("10"), "size: got '10'; expected a whole number, at least 1"),
    ("buf size float", lambda: ReplayBuffer(1e5), "size: got 100000.0; expected a whole number, at least 1"),
    ("buf stack 0", lambda: ReplayBuffer(10, stack_num=0), "stack_num: got 0; expected a whole number, at least 1"),
    (
        "vec unknown",
        lambda: VectorReplayBuffer(10, 2, alpha=0.5),
        "VectorReplayBuffer: unknown alpha; its settings are stack_num, ignore_obs_next, sample_avail, "
        "save_only_last_obs, seed",
    ),
    ("vec num 0", lambda: VectorReplayBuffer(10, 0), "buffer_num: got 0; expected a whole number, at least 1"),
    ("vec num text", lambda: VectorReplayBuffer(10, "2"), "buffer_num: got '2'; expected a whole number, at least 1"),
    ("cached int", lambda: CachedReplayBuffer(100, 4, 10), "main: got int; expected a ReplayBuffer"),
    (
        "cached vec",
        lambda: CachedReplayBuffer(VectorReplayBuffer(10, 2), 4, 10),
        "main: got VectorReplayBuffer; expected a ReplayBuffer",
    ),
    ("per alpha 0", lambda: PrioritizedReplayBuffer(10, 0, 0.4), "alpha: got 0; expected a number above 0"),
    ("per beta -1", lambda: PrioritizedReplayBuffer(10, 0.6, -1), "beta: got -1; expected a number, at least 0"),
    ("add 0", lambda: ReplayBuffer(10).add(), "a transition needs obs, act, rew, terminated (or done), beside "),
    (
        "add number",
        lambda: ReplayBuffer(10).add(5),
        "add: got 5; expected a Batch or a dict, or keywords such as add(obs=..., act=...)",
    ),
    (
        "add list of transitions",
        lambda: ReplayBuffer(10).add([Batch(obs=1)]),
        "add: got [Batch( obs: 1, )]; expected a Batch or a dict, or keywords such as add(obs=..., act=...)",
    ),
    (
        "add no act",
        lambda: ReplayBuffer(10).add(obs=1, rew=1, done=False),
        "a transition needs act, beside obs, rew, done",
    ),
    (
        "add no done",
        lambda: ReplayBuffer(10).add(obs=1, act=1, rew=1),
        "a transition needs terminated (or done), beside obs, act, rew",
    ),
    (
        "add shape changed",
        lambda: full().add(obs=np.ones(3), act=1, rew=1.0, done=False),
        "obs: got shape (3,); the first transition had numbers of shape (2,)",
    ),
    (
        "add rew text",
        lambda: full().add(obs=np.ones(2), act=1, rew="a", done=False),
        "rew: got 'a'; the first transition had numbers of shape ()",
    ),
    (
        "add act None",
        lambda: full().add(obs=np.ones(2), act=None, rew=1.0, done=False),
        "act missing; every transition needs what the first one had",
    ),
    (
        "add done text",
        lambda: full().add(obs=np.ones(2), act=1, rew=1.0, done="no"),
        "terminated: got 'no'; expected True or False",
    ),
    (
        "add done array",
        lambda: full().add(obs=np.ones(2), act=1, rew=1.0, done=np.array([False, True])),
        "terminated: got the shape (2,) for one transition; rows go into a VectorReplayBuffer, or with buffer_ids",
    ),
    (
        "add rows to plain",
        lambda: ReplayBuffer(10).add(
            Batch(obs=np.ones((3, 2)), act=[1] * 3, rew=[1.0] * 3, terminated=[False] * 3, truncated=[False] * 3)
        ),
        "terminated: got the shape (3,) for one transition; rows go into a VectorReplayBuffer, or with buffer_ids",
    ),
    (
        "add rows ids past",
        lambda: vec().add(obs=np.ones((2, 2)), act=[1] * 2, rew=[1.0] * 2, terminated=[False] * 2, buffer_ids=[0, 7]),
        "buffer_ids: got [0, 7]; expected different numbers from 0 to 2",
    ),
    (
        "add ids twice",
        lambda: vec().add(obs=np.ones((2, 2)), act=[1] * 2, rew=[1.0] * 2, terminated=[False] * 2, buffer_ids=[1, 1]),
        "buffer_ids: got [1, 1]; expected different numbers from 0 to 2",
    ),
    (
        "add rows too few",
        lambda: vec().add(obs=np.ones((2, 2)), act=[1] * 2, rew=[1.0] * 2, terminated=[False] * 2),
        "terminated and truncated: got the shape (2,); expected 3 flags",
    ),
    (
        "add single to vec",
        lambda: vec().add(obs=np.ones(2), act=1, rew=1.0, terminated=False),
        "obs: got array([1., 1.]); expected 3 rows, one for each buffer",
    ),
    (
        "add flags count",
        lambda: vec().add(obs=np.ones((3, 2)), act=[1] * 3, rew=[1.0] * 3, terminated=[False] * 2),
        "terminated and truncated: got the shape (2,); expected 3 flags",
    ),
    ("add nested then flat", nested_then_flat, "obs was a mapping so far, and is 3 now"),
    (
        "add ids text",
        lambda: vec().add(obs=np.ones((1, 2)), act=[1], rew=[1.0], terminated=[False], buffer_ids="a"),
        "buffer_ids: got ['a']; expected different numbers from 0 to 2",
    ),
    ("sample -1", lambda: full().sample(-1), "sample: got -1; expected a whole number, at least 1"),
    ("sample text", lambda: full().sample("4"), "sample: got '4'; expected a whole number, at least 1"),
    ("sample float", lambda: full().sample(4.0), "sample: got 4.0; expected a whole number, at least 1"),
    ("sample empty", lambda: ReplayBuffer(10).sample(4), "sample(4): the buffer is empty"),
    ("index past", lambda: full()[7], "index 7: nothing is stored there; the buffer holds 3 of 10"),
    ("index past size", lambda: full()[70], "index 70: nothing is stored there; the buffer holds 3 of 10"),
    (
        "index name",
        lambda: full()["obs"],
        "an index of a buffer is a number, a slice or an array of numbers; got 'obs'",
    ),
    ("index float b", lambda: full()[1.0], "an index of a buffer is a number, a slice or an array of numbers; got 1.0"),
    (
        "attr",
        lambda: full().reward,
        "ReplayBuffer has no attribute 'reward', and its transitions no such key; they have obs, act, "
        "rew, terminated, truncated, done",
    ),
    (
        "attr empty",
        lambda: ReplayBuffer(5).obs,
        "ReplayBuffer has no attribute 'obs', and its transitions no such key; they have none before "
        "the first one is added",
    ),
    (
        "get stack 0",
        lambda: full().get(0, "obs", stack_num=-2),
        "stack_num: got -2; expected a whole number, at least 1",
    ),
    ("prev past", lambda: full().prev(9), "index 9: nothing is stored there; the buffer holds 3 of 10"),
    ("stack_num=0", lambda: setattr(full(), "stack_num", 0), "stack_num: got 0; expected a whole number, at least 1"),
    (
        "stack_num text",
        lambda: setattr(full(), "stack_num", "4"),
        "stack_num: got '4'; expected a whole number, at least 1",
    ),
    (
        "update list b",
        lambda: full().update([1]),
        "update: got [1]; expected a buffer. Transitions are added with add()",
    ),
    ("update vec", lambda: vec().update(vec()), "update adds to a buffer of one part; call it on a ReplayBuffer"),
    (
        "update batch",
        lambda: full().update(Batch(a=1)),
        "update: got Batch( a: 1, ); expected a buffer. Transitions are added with add()",
    ),
    ("update_weight count", lambda: prioritized().update_weight([0, 1], [1.0]), "2 indices, and 1 priorities"),
    (
        "update_weight nan",
        lambda: prioritized().update_weight([0, 1], [1.0, float("nan")]),
        "priorities are finite numbers; got [1.0, nan]",
    ),
    (
        "update_weight past",
        lambda: prioritized().update_weight([7], [1.0]),
        "index [7]: nothing is stored at some of these places",
    ),
    ("update_weight text", lambda: prioritized().update_weight([0], ["a"]), "priorities are finite numbers; got ['a']"),
    ("set_beta text", lambda: prioritized().set_beta("a"), "beta: got 'a'; expected a number, at least 0"),
    (
        "weight plain",
        lambda: full().weight,
        "ReplayBuffer has no attribute 'weight', and its transitions no such key; they have obs, act, "
        "rew, terminated, truncated, done",
    ),
    (
        "save_hdf5",
        lambda: full().save_hdf5("/tmp/x.h5"),
        "ReplayBuffer has no attribute 'save_hdf5', and its transitions no such key; save(path) writes "
        "everything to a file",
    ),
    (
        "set_batch",
        lambda: full().set_batch(Batch()),
        "ReplayBuffer has no attribute 'set_batch', and its transitions no such key; add, update and "
        "ReplayBuffer.from_data fill a buffer",
    ),
    (
        "buffers",
        lambda: vec().buffers,
        "VectorReplayBuffer has no attribute 'buffers', and its transitions no such key; an index "
        "counts through all parts: part k of size L has the places k L to k L + L - 1",
    ),
    (
        "from_data lens",
        lambda: ReplayBuffer.from_data([1, 2], [1], [1, 2], [0, 0], [0, 0]),
        "from_data: numbers of rows differ: obs 2, act 1, rew 2, terminated 2, truncated 2",
    ),
    (
        "from_data empty",
        lambda: ReplayBuffer.from_data([], [], [], [], []),
        "size: got 0; expected a whole number, at least 1",
    ),
    (
        "from_data single",
        lambda: ReplayBuffer.from_data(1, [1], [1], [0], [0]),
        "obs: got 1; expected a row for each transition",
    ),
    (
        "nstep n",
        lambda: joystick.nstep_returns(full(), [0], lambda b, last: np.ones(len(last)), 0, 0.9),
        "n: got 0; expected a whole number, at least 1",
    ),
    (
        "nstep target shape",
        lambda: joystick.nstep_returns(full(), [0, 1], lambda b, last: np.ones(3), 1, 0.9),
        "target: returned the shape (3,); expected 2 values",
    ),
    (
        "nstep target None",
        lambda: joystick.nstep_returns(full(), [0, 1], lambda b, last: None, 1, 0.9),
        "target: returned the shape (); expected 2 values",
    ),
    (
        "gae count",
        lambda: joystick.gae_returns(full(), [0, 1], np.ones(3), np.ones(2), 0.9, 0.9),
        "2 indices, and 3 and 2 values of states",
    ),
    (
        "coll policy torch",
        lambda: Collector(nn.Linear(1, 2), Counts(3)),
        "policy: got Linear(in_features=1, out_features=2, bias=True); expected an object of a class "
        "that inherits from Policy",
    ),
    (
        "coll buffer int",
        lambda: Collector(Recording(), Counts(3), 100),
        "buffer: got 100; expected a buffer, such as VectorReplayBuffer(20000, 8)",
    ),
    (
        "coll env none",
        lambda: Collector(Recording(), None),
        "NoneType is not an environment (NoneType): inherit from gymnasium.Env",
    ),
    ("coll env int", lambda: Collector(Recording(), 5), "int is not an environment (int): inherit from gymnasium.Env"),
    ("coll env list empty", lambda: Collector(Recording(), []), "the list of environments is empty; give at least one"),
    ("collect none", lambda: coll().collect(), "collect needs n_step or n_episode, and not both"),
    ("collect both", lambda: coll().collect(n_step=1, n_episode=1), "collect needs n_step or n_episode, and not both"),
    ("collect 0", lambda: coll().collect(n_step=0), "n_step=0: expected a whole number, at least 1"),
    ("collect float", lambda: coll().collect(n_step=10.0), "n_step=10.0: expected a whole number, at least 1"),
    (
        "collect list",
        lambda: coll().collect(n_episode=[1, 2]),
        "n_episode=[1, 2]: expected a number of episodes for each of 1 environments",
    ),
    (
        "collect positional list step",
        lambda: coll().collect([1, 2]),
        "n_step=[1, 2]: expected a whole number, at least 1",
    ),
    (
        "fwd no batch",
        lambda: Collector(Bare(lambda b: np.ones(1, int)), Counts(3)).collect(n_step=1),
        "Bare.forward gave no act; return Batch(act=...)",
    ),
    (
        "fwd no act",
        lambda: Collector(Bare(lambda b: Batch(a=1)), Counts(3)).collect(n_step=1),
        "Bare.forward gave no act; return Batch(act=...)",
    ),
    (
        "fwd act scalar",
        lambda: Collector(Bare(lambda b: Batch(act=1)), Counts(3)).collect(n_step=1),
        "Bare.forward gave act of the shape () for 1 rows; expected [1, ...]",
    ),
    (
        "fwd act wrong count",
        lambda: Collector(Bare(lambda b: Batch(act=[1, 1])), Counts(3)).collect(n_step=1),
        "Bare.forward gave act of the shape (2,) for 1 rows; expected [1, ...]",
    ),
    (
        "fwd act float",
        lambda: Collector(Bare(lambda b: Batch(act=[0.5])), Counts(3)).collect(n_step=1),
        "Bare.forward gave the actions [0.5]; expected whole numbers from 0 to 1",
    ),
    (
        "fwd act out of range",
        lambda: Collector(Bare(lambda b: Batch(act=[7])), Counts(3)).collect(n_step=1),
        "Bare.forward gave the actions [7]; expected whole numbers from 0 to 1",
    ),
    (
        "fwd act text",
        lambda: Collector(Bare(lambda b: Batch(act=["left"])), Counts(3)).collect(n_step=1),
        "Bare.forward gave the actions ['left']; expected finite numbers",
    ),
    (
        "fwd act nan",
        lambda: Collector(Bare(lambda b: Batch(act=[float("nan")])), Counts(3)).collect(n_step=1),
        "Bare.forward gave the actions [nan]; expected finite numbers",
    ),
    (
        "fwd None",
        lambda: Collector(Bare(lambda b: None), Counts(3)).collect(n_step=1),
        "Bare.forward gave no act; return Batch(act=...)",
    ),
    (
        "fwd logits",
        lambda: Collector(Bare(lambda b: Batch(act=np.ones((1, 2)))), Counts(3)).collect(n_step=1),
        "Bare.forward gave act of the shape (1, 2); expected (1,): the environment's actions have the shape ()",
    ),
    (
        "fwd one row",
        lambda: Collector(Bare(lambda b: Batch(act=np.ones(1))), "Pendulum-v1").collect(n_step=1),
        "Bare.forward gave act of the shape (1,); expected (1, 1): the environment's actions have the shape (1,)",
    ),
    (
        "fwd half bits",
        lambda: Collector(Bare(lambda b: Batch(act=np.array([[1, 0.5]]))), Bits()).collect(n_step=1),
        "Bare.forward gave the actions [[1.0, 0.5]]; expected whole numbers from 0 to 1",
    ),
    (
        "fwd two bits",
        lambda: Collector(Bare(lambda b: Batch(act=np.array([[1, 2]]))), Bits()).collect(n_step=1),
        "Bare.forward gave the actions [[1, 2]]; expected whole numbers from 0 to 1",
    ),
    (
        "seed of collector",
        lambda: Collector(Recording(), Counts(3), seed=-1),
        "seed: got -1; expected a whole number, at least 0",
    ),
    ("seed of buffer", lambda: ReplayBuffer(5, seed=-1), "seed: got -1; expected a whole number, at least 0"),
    (
        "seed of policy",
        lambda: joystick.policy("DQN", "CartPole-v1", seed=-1),
        "seed: got -1; expected a whole number, at least 0",
    ),
    ("size True", lambda: ReplayBuffer(True), "size: got True; expected a whole number, at least 1"),
    (
        "update repeat",
        lambda: Recording().update(4, full(), repeat=0),
        "repeat: got 0; expected a whole number, at least 1",
    ),
    (
        "stop_fn",
        lambda: joystick.offpolicy_trainer(Recording(), coll(), coll(), 1, 1, 1, 1, 1, stop_fn=3),
        "stop_fn: got 3; expected a function",
    ),
    ("update empty", lambda: Recording().update(4, ReplayBuffer(10)), "sample(4): the buffer is empty"),
    (
        "update None",
        lambda: Recording().update(4, None),
        "update(sample_size, buffer): got None as the buffer; expected a ReplayBuffer",
    ),
    (
        "update swapped",
        lambda: Recording().update(full(), 4),
        "update(sample_size, buffer): got 4 as the buffer; expected a ReplayBuffer",
    ),
    (
        "learn None",
        lambda: type("L", (Recording,), {"learn": lambda s, b: None})().update(2, full()),
        "learn gave a NoneType; return a dict of numbers, such as {'loss': 0.5}",
    ),
    (
        "learn number",
        lambda: type("L", (Recording,), {"learn": lambda s, b: 0.5})().update(2, full()),
        "learn gave a float; return a dict of numbers, such as {'loss': 0.5}",
    ),
    (
        "learn array",
        lambda: type("L", (Recording,), {"learn": lambda s, b: {"loss": np.ones(3)}})().update(2, full()),
        "learn gave loss of the shape (3,); a metric is one number",
    ),
    (
        "process None",
        lambda: type("L", (Recording,), {"process_fn": lambda s, b, u, i: None})().update(2, full()),
        "process_fn gave a NoneType; return the batch",
    ),
    (
        "off no buffer",
        lambda: joystick.offpolicy_trainer(
            Recording(), Collector(Recording(), Counts(3)), Collector(Recording(), Counts(3)), 1, 1, 1, 1, 1
        ),
        "the train collector has no buffer; give it one: Collector(policy, env, buffer)",
    ),
    (
        "off epoch 0",
        lambda: joystick.offpolicy_trainer(Recording(), coll(), coll(), 0, 1, 1, 1, 1),
        "max_epoch: got 0; expected a whole number, at least 1",
    ),
    (
        "off batch 0",
        lambda: joystick.offpolicy_trainer(Recording(), coll(), coll(), 1, 1, 1, 1, 0),
        "batch_size: got 0; expected a whole number, at least 1",
    ),
    (
        "off ups",
        lambda: joystick.offpolicy_trainer(Recording(), coll(), coll(), 1, 1, 1, 1, 1, update_per_step=-1),
        "update_per_step: got -1; expected a number, at least 0",
    ),
    (
        "off ups text",
        lambda: joystick.offpolicy_trainer(Recording(), coll(), coll(), 1, 1, 1, 1, 1, update_per_step="a"),
        "update_per_step: got 'a'; expected a number, at least 0",
    ),
    (
        "off no test",
        lambda: joystick.offpolicy_trainer(Recording(), coll(), None, 1, 1, 1, 1, 1),
        "test: got None; expected a Collector, such as Collector(policy, env)",
    ),
    (
        "on repeat 0",
        lambda: joystick.onpolicy_trainer(Recording(), coll(), coll(), 1, 1, 0, 1, 1, step_per_collect=1),
        "repeat_per_collect: got 0; expected a whole number, at least 1",
    ),
    (
        "on no collect",
        lambda: joystick.onpolicy_trainer(Recording(), coll(), coll(), 1, 1, 1, 1, 1),
        "collect needs n_step or n_episode, and not both",
    ),
    (
        "trainer old name",
        lambda: joystick.offpolicy_trainer(Recording(), coll(), coll(), 1, 1, collect_per_step=1),
        "offpolicy_trainer has no argument 'collect_per_step'; write step_per_collect=",
    ),
    (
        "collector preprocess_fn",
        lambda: Collector(Recording(), "CartPole-v1", preprocess_fn=len),
        "Collector has no argument 'preprocess_fn'; write a wrapper of the environment, or process_fn of the policy",
    ),
    (
        "collect render",
        lambda: coll().collect(n_step=1, render=0.1),
        "Collector.collect has no argument 'render'; write run.film() of a joystick.Run, which makes videos",
    ),
    (
        "set_eps",
        lambda: joystick.policy("DQN", "CartPole-v1").set_eps(0.1),
        "AlgorithmPolicy has no attribute 'set_eps'; epsilon_start, epsilon_end and epsilon_decay of "
        "joystick.policy(...) explore; eval() ends it",
    ),
    (
        "isnull",
        lambda: Batch(a=1).isnull(),
        "a Batch has no 'isnull'; batch.mapped(numpy.isnan) is True at each NaN",
    ),
    (
        "duration",
        lambda: joystick.offpolicy_trainer(Recording(), coll(), coll(), 1, 1, 1, 1, 1)["duration"],
        "the result has no 'duration'; it has train_step, train_episode, updates, metrics, tests, best_reward, "
        "best_reward_std, best_epoch, stopped, seconds",
    ),
    (
        "policy with a network",
        lambda: joystick.policy("DQN", "CartPole-v1", nn.Linear(4, 2), None),
        "joystick.policy takes algo and env by position, and settings by name: an algorithm makes its network of "
        "value_layers, actor_layers and critic_layers, and its optimizer of optimizer and lr; a policy with a network "
        "of your own inherits from joystick.Policy (docs/tianshou.md)",
    ),
    (
        "PGPolicy",
        lambda: joystick.PGPolicy,
        "module 'joystick' has no attribute 'PGPolicy'; joystick.policy(\"REINFORCE\", env) is a "
        "policy of this algorithm",
    ),
    (
        "joystick.data",
        lambda: joystick.data,
        "module 'joystick' has no attribute 'data'; its names are in joystick.tianshou itself, such as "
        "joystick.tianshou.Collector",
    ),
    (
        "PGAgent",
        lambda: joystick.PGAgent,
        "module 'joystick' has no attribute 'PGAgent'; an algorithm is named in joystick.Run(\"REINFORCE\", env)",
    ),
    (
        "PolicyClient",
        lambda: joystick.PolicyClient,
        "module 'joystick' has no attribute 'PolicyClient'; a run steps its environment itself; "
        "joystick.load(NAME).act(obs) gives actions to a program outside",
    ),
    (
        "joystick.DQNPolicy",
        lambda: joystick.DQNPolicy,
        "module 'joystick' has no attribute 'DQNPolicy'; joystick.policy(\"DQN\", env) is a policy of this algorithm",
    ),
    (
        "joystick.BasePolicy",
        lambda: joystick.BasePolicy,
        "module 'joystick' has no attribute 'BasePolicy'; a policy of your own inherits from joystick.Policy",
    ),
    (
        "joystick.DummyVectorEnv",
        lambda: joystick.DummyVectorEnv,
        "module 'joystick' has no attribute 'DummyVectorEnv'; a Collector takes a list of environments",
    ),
    (
        "joystick.RandomPolicy",
        lambda: joystick.RandomPolicy,
        "module 'joystick' has no attribute 'RandomPolicy'; collect(n_step=..., random=True) acts at random; an "
        "opponent that does is algo_name: Random in policies_cfg",
    ),
    (
        "joystick.SegmentTree",
        lambda: joystick.SegmentTree,
        "module 'joystick' has no attribute 'SegmentTree'; PrioritizedReplayBuffer has the sum tree "
        "inside; its `weight` are the priorities",
    ),
    (
        "joystick.HER",
        lambda: joystick.HERReplayBuffer,
        "module 'joystick' has no attribute 'HERReplayBuffer'; hindsight is part of an algorithm, "
        "DDPG_HER or SAC_HER, in joystick.Run",
    ),
    (
        "tianshou add missing",
        lambda: joystick.tianshou.ReplayBuffer(5).add(obs=1, act=1),
        "a transition needs rew, terminated (or done), beside obs, act",
    ),
    (
        "policy unknown alg",
        lambda: joystick.policy("DQNN", "CartPole-v1"),
        "Python: general_cfg.algo_name: unknown name 'DQNN'; did you mean DQN? (python main.py list algos shows all)",
    ),
    (
        "policy unknown setting",
        lambda: joystick.policy("DQN", "CartPole-v1", discount_factor=0.9),
        "Python: algo_cfg.discount_factor: unknown setting; it is called gamma here",
    ),
    (
        "policy net",
        lambda: joystick.policy(nn.Linear(1, 2), "CartPole-v1"),
        'Python: general_cfg.algo_name: got "Linear(in_features=1, out_features=2, bias=True)"; expected text',
    ),
    (
        "policy learn",
        lambda: joystick.policy("DQN", "CartPole-v1").learn(Batch()),
        "DQN learns by update(sample_size, buffer)",
    ),
    (
        "policy on size",
        lambda: joystick.policy("PPO", "CartPole-v1").update(64, full()),
        "PPO learns from all fresh transitions: update(0, buffer)",
    ),
    (
        "policy batch array",
        lambda: joystick.policy("DQN", "CartPole-v1")(np.ones((1, 4), np.float32)),
        "DQN: got array([[1., 1., 1., 1.]], dtype=float32); expected Batch(obs=...) with observations",
    ),
    (
        "policy batch shape",
        lambda: joystick.policy("DQN", "CartPole-v1")(Batch(obs=np.ones((1, 3), np.float32))),
        "DQN: got obs of the shape (1, 3); expected a row for each observation, [N, 4]. (reset() of "
        "gymnasium returns obs, info)",
    ),
    (
        "policy batch no obs",
        lambda: joystick.policy("DQN", "CartPole-v1")(Batch(a=1)),
        "DQN: got Batch( a: 1, ); expected Batch(obs=...) with observations",
    ),
    (
        "policy obs tuple",
        lambda: joystick.policy("DQN", "CartPole-v1")(Batch(obs=[gymnasium.make("CartPole-v1").reset()])),
        "DQN: got obs of the shape (1,); expected a row for each observation, [N, 4]. (reset() of "
        "gymnasium returns obs, info)",
    ),
    (
        "policy obs one",
        lambda: joystick.policy("DQN", "CartPole-v1")(Batch(obs=np.ones(4, np.float32))),
        "DQN: got obs of the shape (4,); expected a row for each observation, [N, 4]. (reset() of "
        "gymnasium returns obs, info)",
    ),
    (
        "load_state_dict other",
        lambda: joystick.policy("DQN", "CartPole-v1").load_state_dict(
            joystick.policy("PPO", "CartPole-v1").state_dict()
        ),
        "the saved weights do not fit this network: 0.bias is (256,) here and missing there",
    ),
    (
        "OldGym None",
        lambda: joystick.OldGym(None),
        "OldGym: got None; expected an environment with reset and step, such as MyEnv()",
    ),
]
"""Name, call, and the sentence; one that ends with ... goes on in the words of numpy or torch."""


@pytest.mark.parametrize(("call", "sentence"), [mistake[1:] for mistake in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_gets_one_sentence(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    text = str(caught.value.args[0])
    assert text.startswith(sentence[:-3]) if sentence.endswith("...") else text == sentence
    assert "\n" not in text


def test_there_are_at_least_fifty() -> None:
    assert len(MISTAKES) >= 50
    assert len(dict.fromkeys(name for name, *_ in MISTAKES)) == len(MISTAKES)


def test_a_setting_in_the_place_of_another_is_named() -> None:
    """The fourth argument is preprocess_fn in Tianshou."""
    with pytest.raises(joystick.JoystickError, match=r"seed: got <function .*; expected a whole number"):
        Collector(Recording(), Counts(3), ReplayBuffer(10), lambda **values: values)  # type: ignore[arg-type]
    with pytest.raises(joystick.JoystickError, match=r"policy: got .*; expected an object of a class that inherits"):
        Collector(Counts(3), Recording())  # type: ignore[arg-type]
    with pytest.raises(joystick.JoystickError, match=r"test: got .*; expected a Collector"):
        joystick.offpolicy_trainer(Recording(), coll(), Counts(3), 1, 1, 1, 1, 1)  # type: ignore[arg-type]

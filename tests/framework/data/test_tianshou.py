"""What a program for Tianshou finds here: the lines of its page of basic concepts, its modules, its names."""

import copy
import doctest
import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import gymnasium
import joystick.tianshou
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.spaces import Discrete
from torch import nn

import joystick
from joystick import Batch, Collector, ListReplayBuffer, Policy, ReplayBuffer
from tests.tools.data import Counts, Recording
from tests.tools.process import forked_program

LINES = """
>>> import torch, numpy as np
>>> from joystick.tianshou import Batch
>>> data = Batch(a=4, b=[5, 5], c='2312312', d=('a', -2, -3))
>>> # the list will automatically be converted to numpy array
>>> data.b
array([5, 5])
>>> data.b = np.array([3, 4, 5])
>>> print(data)
Batch(
    a: 4,
    b: array([3, 4, 5]),
    c: '2312312',
    d: array(['a', '-2', '-3'], dtype=object),
)
>>> data = Batch(obs={'index': np.zeros((2, 3))}, act=torch.zeros((2, 2)))
>>> data[:, 1] += 6
>>> print(data[-1])
Batch(
    obs: Batch(
             index: array([0., 6., 0.]),
         ),
    act: tensor([0., 6.]),
)

>>> import pickle, numpy as np
>>> from joystick.tianshou import ReplayBuffer
>>> buf = ReplayBuffer(size=20)
>>> for i in range(3):
...     buf.add(obs=i, act=i, rew=i, done=i, obs_next=i + 1, info={})
>>> buf.obs
array([0., 1., 2., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.,
       0., 0., 0., 0.])
>>> len(buf)
3
>>> pickle.dump(buf, open('buf.pkl', 'wb'))
>>> buf2 = ReplayBuffer(size=10)
>>> for i in range(15):
...     buf2.add(obs=i, act=i, rew=i, done=i, obs_next=i + 1, info={})
>>> len(buf2)
10
>>> buf2.obs
array([10., 11., 12., 13., 14.,  5.,  6.,  7.,  8.,  9.])

>>> buf.update(buf2)
array([ 0.,  1.,  2.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13., 14.,
        0.,  0.,  0.,  0.,  0.,  0.,  0.])

>>> batch_data, indice = buf.sample(batch_size=4)
>>> batch_data.obs == buf[indice].obs
array([ True,  True,  True,  True])
>>> len(buf)
13
>>> buf = pickle.load(open('buf.pkl', 'rb'))  # load from "buf.pkl"
>>> len(buf)
3

>>> buf = ReplayBuffer(size=9, stack_num=4, ignore_obs_next=True)
>>> for i in range(16):
...     done = i % 5 == 0
...     buf.add(obs={'id': i}, act=i, rew=i, done=done,
...             obs_next={'id': i + 1})
>>> print(buf)
ReplayBuffer(
    act: array([ 9., 10., 11., 12., 13., 14., 15.,  7.,  8.]),
    done: array([0., 1., 0., 0., 0., 0., 1., 0., 0.]),
    info: Batch(),
    obs: Batch(
             id: array([ 9., 10., 11., 12., 13., 14., 15.,  7.,  8.]),
         ),
    policy: Batch(),
    rew: array([ 9., 10., 11., 12., 13., 14., 15.,  7.,  8.]),
)
>>> index = np.arange(len(buf))
>>> print(buf.get(index, 'obs').id)
[[ 7.  7.  8.  9.]
 [ 7.  8.  9. 10.]
 [11. 11. 11. 11.]
 [11. 11. 11. 12.]
 [11. 11. 12. 13.]
 [11. 12. 13. 14.]
 [12. 13. 14. 15.]
 [ 7.  7.  7.  7.]
 [ 7.  7.  7.  8.]]
>>> np.allclose(buf.get(index, 'obs')['id'], buf[index].obs.id)
True
>>> print(buf[:].obs_next.id)
[[ 7.  8.  9. 10.]
 [ 7.  8.  9. 10.]
 [11. 11. 11. 12.]
 [11. 11. 12. 13.]
 [11. 12. 13. 14.]
 [12. 13. 14. 15.]
 [12. 13. 14. 15.]
 [ 7.  7.  7.  8.]
 [ 7.  7.  8.  9.]]
"""
"""Calls of the page of basic concepts with what it shows. numpy broke the line of twenty numbers one number earlier
when the page was written: lines have 72 characters here."""


class Values(Policy):
    """A policy with two layers, a dropout between them, and an argument of its own in forward."""

    def __init__(self) -> None:
        self.net = nn.Sequential(nn.Linear(1, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        self.dropping: list[bool] = []

    def forward(self, batch: Batch, state: Any = None, eps: float = 0.1) -> Batch:
        self.dropping.append(self.net[1].training)
        q = self.net(torch.as_tensor(batch.obs, dtype=torch.float32))
        return Batch(act=q.argmax(1), eps=eps, state=state)

    def learn(self, batch: Batch) -> dict[str, float]:
        return {"loss": 0.0}


# the page of basic concepts -------------------------------------------------------------------------------


def test_the_lines_of_the_page_of_basic_concepts_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(LINES, {}, "lines", None, None)
    assert len(examples.examples) == 33
    said: list[str] = []
    with np.printoptions(linewidth=72):
        result = doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
    assert result.failed == 0, "".join(said)


def test_the_buffer_of_the_first_versions_takes_values_by_place_and_gives_nothing_back() -> None:
    buffer = joystick.tianshou.ReplayBuffer(4)
    assert buffer.add(np.zeros(3, np.float32), 1, 0.5, True, np.ones(3, np.float32), {"n": 2}, {"p": 3}) is None
    assert (buffer.act.dtype, buffer.obs.dtype, buffer.info.n.dtype) == (np.float64, np.float32, np.float64)
    assert buffer.done.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert buffer[0].done == 1.0
    assert buffer[0].policy.p == 3.0


def test_the_buffer_of_the_first_versions_is_saved_and_loaded_as_such(tmp_path: Path) -> None:
    buffer = joystick.tianshou.ReplayBuffer(4)
    buffer.add(1, 1, 0.5, True)
    buffer.save(tmp_path / "b.npz")
    assert repr(joystick.tianshou.ReplayBuffer.load(tmp_path / "b.npz")) == repr(buffer)
    assert type(ReplayBuffer.load(tmp_path / "b.npz")) is ReplayBuffer
    for other in (copy.deepcopy(buffer), pickle.loads(pickle.dumps(buffer))):
        assert type(other) is type(buffer)
        assert repr(other) == repr(buffer)


def test_joystick_tianshou_has_the_names_that_programs_import() -> None:
    from joystick.tianshou import BasePolicy, CachedReplayBuffer, to_numpy, to_torch

    assert BasePolicy is Policy
    assert (to_numpy, to_torch) == (joystick.to_numpy, joystick.to_torch)
    assert CachedReplayBuffer is joystick.CachedReplayBuffer


def test_an_environment_of_several_agents_is_for_a_run() -> None:
    module = pytest.importorskip("pettingzoo.classic.tictactoe_v3")
    for make in (module.env, [module.env], "classic/tictactoe_v3"):
        with pytest.raises(joystick.EnvError, match=r"has several agents, which are trained by joystick\.Run with pol"):
            Collector(joystick.policy("DQN", "CartPole-v1"), make)


def test_modules_in_tianshou_are_found_in_joystick_tianshou() -> None:
    code = (
        "from joystick.tianshou.data import Batch, VectorReplayBuffer\n"
        "from joystick.tianshou.policy import BasePolicy\n"
        "from joystick.tianshou.trainer import offpolicy_trainer\n"
        "import joystick.tianshou as ts, joystick\n"
        "print(Batch is joystick.Batch is ts.data.Batch, BasePolicy is joystick.Policy)\n"
        "from joystick.tianshou.utils.net.common import Net"
    )
    done = forked_program(code, "joystick", "framework", "envs", "config")
    assert done.stdout == "True True\n", done.stderr
    assert done.stderr.splitlines()[-1].startswith("ImportError: joystick.tianshou has no 'Net'; a network is a torch")


@pytest.mark.parametrize(
    ("name", "instead"),
    [("SegmentTree", "PrioritizedReplayBuffer has the sum tree inside"),
     ("DQNPolicy", r'joystick.policy\("DQN", env\) is a policy of this algorithm'),
     ("VectorReplayBufer", "did you mean VectorReplayBuffer"), ("MovAvg", "public are BasePolicy, Batch"),
     ("TensorboardLogger", "joystick.Run writes tables and curves"), ("Net", "a network is a torch.nn.Module")],
)  # fmt: skip
def test_a_name_that_joystick_tianshou_lacks_is_answered_in_an_import(name: str, instead: str) -> None:
    with pytest.raises(ImportError, match=f"joystick.tianshou has no '{name}'; .*{instead}"):
        exec(f"from joystick.tianshou import {name}", {})


def test_the_flags_of_the_first_versions_are_numbers_everywhere() -> None:
    buffer = joystick.tianshou.ReplayBuffer(2)
    assert buffer.update(joystick.tianshou.ReplayBuffer(3)).tolist() == [0, 0]
    buffer.add(obs=1, act=1, rew=1, done=True)
    for value in (buffer.done[0], buffer[0].done, buffer.get(0, "done"), buffer.sample(1)[0].done[0]):
        assert repr(float(value)) == repr(value.item()) == "1.0"
    assert buffer.get(0, "nothing") is None


def test_importing_joystick_tianshou_needs_no_import_of_joystick_before() -> None:
    code = "import sys; from joystick.tianshou import Batch; print(Batch(a=1)); print('ray' in sys.modules)"
    done = forked_program(code, "joystick", "framework", "envs", "config", "ray")
    assert done.stdout == "Batch(\n    a: 1,\n)\nFalse\n", done.stderr


def test_a_transition_that_is_added_prints_in_plain_numbers() -> None:
    buffer = ReplayBuffer(4)
    assert repr(buffer.add(obs=1, act=1, rew=1, done=False)) == "Added(index=0, ep_return=0.0, ep_len=0, ep_start=0)"
    assert repr(buffer.add(obs=1, act=1, rew=np.float32(2), done=True)) == (
        "Added(index=1, ep_return=3.0, ep_len=2, ep_start=0)"
    )


def test_a_list_buffer_has_as_many_places_as_transitions() -> None:
    buffer = ListReplayBuffer()
    for number in range(5):
        buffer.add(obs={"id": number}, act=1, rew=1.0, done=number == 4)
    assert buffer.obs.id.tolist() == [0, 1, 2, 3, 4]
    assert buffer.act.shape == buffer.rew.shape == (5,)
    buffer.act[2] = 7  # a view
    assert buffer[2].act == 7
    buffer.reset()
    assert buffer.obs.id.shape == (0,)


# policies -------------------------------------------------------------------------------------------------


def test_a_policy_passes_further_arguments_to_forward() -> None:
    policy = Values()
    assert policy(Batch(obs=[[0.0]]), eps=0).eps == 0
    assert policy(Batch(obs=[[0.0]]), "memory", 0.5).state == "memory"


def test_a_policy_is_a_torch_module(tmp_path: Path) -> None:
    """It has the parameters of its networks, although its __init__ calls no other."""
    policy, other = Values(), Values()
    assert isinstance(policy, nn.Module)
    assert [name for name, _ in policy.named_parameters()] == [
        "net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias",
    ]  # fmt: skip
    torch.save(policy.state_dict(), tmp_path / "p.pth")
    other.load_state_dict(torch.load(tmp_path / "p.pth"))
    assert torch.equal(other.net[0].weight, policy.net[0].weight)
    assert torch.equal(copy.deepcopy(policy).net[0].weight, policy.net[0].weight)


def test_calling_the_base_init_late_keeps_what_was_assigned() -> None:
    class Late(Values):
        def __init__(self) -> None:
            self.net = nn.Sequential(nn.Linear(1, 2), nn.Dropout())
            super(Values, self).__init__()

    assert len(list(Late().parameters())) == 2


def test_train_and_eval_set_the_flag_and_a_fresh_policy_is_training() -> None:
    policy = Values()
    assert (policy.training, policy.updating) == (True, False)
    assert policy.eval() is policy
    assert not policy.training
    assert not policy.net[1].training
    policy.train()
    assert policy.net[1].training


def test_dropout_follows_the_phases_and_is_as_it_was_afterwards() -> None:
    policy = Values()
    policy.net[2].eval()  # a network that the program keeps as it is
    Collector(policy, Counts(2), ReplayBuffer(10)).collect(n_step=1)
    Collector(policy, Counts(2)).collect(n_step=1)
    assert policy.dropping == [True, False]
    assert (policy.training, policy.net[1].training, policy.net[2].training) == (True, True, False)
    policy.eval()
    Collector(policy, Counts(2), ReplayBuffer(10)).collect(n_step=1)
    assert policy.dropping == [True, False, True]
    assert not policy.training
    assert not policy.net[1].training


def test_the_weights_of_an_algorithm_are_in_its_state_dict(tmp_path: Path) -> None:
    policy, other = (joystick.policy("DQN", "CartPole-v1", seed=seed).eval() for seed in (1, 2))
    obs = Batch(obs=np.random.default_rng(1).normal(size=(50, 4)).astype(np.float32))
    assert not np.array_equal(policy(obs).act, other(obs).act)
    torch.save(policy.state_dict(), tmp_path / "p.pth")
    other.load_state_dict(torch.load(tmp_path / "p.pth"))
    assert np.array_equal(policy(obs).act, other(obs).act)


def test_save_fn_may_save_the_state_dict_of_a_policy(tmp_path: Path) -> None:
    policy = Values()
    result = joystick.offpolicy_trainer(
        policy, Collector(policy, Counts(3), ReplayBuffer(50)), Collector(policy, Counts(3)), 1, 6, 3, 1, 4,
        save_fn=lambda best: torch.save(best.state_dict(), tmp_path / "best.pth"),
    )  # fmt: skip
    assert result["best_epoch"] == 1
    assert torch.load(tmp_path / "best.pth").keys() == policy.state_dict().keys()


def test_two_steps_ahead_as_the_page_of_basic_concepts_computes_them() -> None:
    class TwoSteps(Values):
        def process_fn(self, batch: Batch, buffer: ReplayBuffer, indices: np.ndarray) -> Batch:
            length = len(buffer)
            after = buffer[(indices + 2) % length]
            assert np.array_equal(after.obs, buffer.obs[(indices + 2) % length])
            batch.returns = batch.rew + 0.9 * buffer.rew[(indices + 1) % length] + 0.81 * self(after, eps=0).eps
            return batch

        def learn(self, batch: Batch) -> dict[str, float]:
            return {"loss": float(batch.returns.mean())}

    policy, buffer = TwoSteps(), ReplayBuffer(10)
    Collector(policy, Counts(50), buffer).collect(n_step=10)
    assert policy.update(4, buffer) == {"loss": pytest.approx(1.9)}


def test_the_arguments_of_a_policys_call_are_those_of_forward() -> None:
    assert "eps" in inspect.signature(Values.forward).parameters
    with pytest.raises(TypeError, match="unexpected keyword argument 'epsilon'"):
        Values()(Batch(obs=[[0.0]]), epsilon=0)


# what other names do --------------------------------------------------------------------------------------


def test_a_batch_changes_in_place() -> None:
    batch = Batch(a=[1, 2], b={"c": np.ones((2, 3))})
    same = batch
    assert batch.cat_(batch) is None
    assert batch.a.tolist() == [1, 2, 1, 2]
    assert batch.b.c.shape == (4, 3)
    batch.cat_([Batch(a=[3]), {"a": [4]}], fill=0)
    assert batch.a.tolist() == [1, 2, 1, 2, 3, 4]
    assert batch.b.c[4:].tolist() == [[0.0] * 3] * 2
    batch.to_torch_(dtype=torch.float32)
    assert batch.b.c.dtype == torch.float32
    batch.to_numpy_()
    assert isinstance(batch.b.c, np.ndarray)
    single = Batch(a=1)
    single.stack_([Batch(a=2), Batch(a=3)])
    assert single.a.tolist() == [1, 2, 3]
    single.stack_(Batch(a=[4, 5, 6]), axis=1)
    assert single.a.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert same is batch
    assert len(same) == 6


def test_to_torch_takes_values_of_any_kind() -> None:
    to_torch = joystick.to_torch
    assert to_torch(1).dtype == torch.int64
    assert to_torch(1.0).dtype == torch.float64
    assert to_torch([float("nan"), 1]).dtype == torch.float64
    assert to_torch(np.ones((2, 3)), dtype=torch.float32).dtype == torch.float32
    assert to_torch([np.ones((3, 3))] * 2).shape == (2, 3, 3)
    assert to_torch(np.ones((3, 2))[[]]).shape == (0, 2)
    assert to_torch({"a": [1]})["a"].tolist() == [1]
    batch = to_torch(Batch(a=np.float64(1), b=Batch(c=[1, 2], d=torch.ones(1))), dtype=torch.float32)
    assert [batch.a.dtype, batch.b.c.dtype, batch.b.d.dtype] == [torch.float32] * 3
    assert to_torch([{"a": 1}, {"a": 2}]).a.tolist() == [1, 2]


def test_to_numpy_takes_values_of_any_kind() -> None:
    to_numpy = joystick.to_numpy
    assert to_numpy(1).tolist() == 1
    assert to_numpy(torch.ones(2, requires_grad=True)).tolist() == [1.0, 1.0]
    assert to_numpy([torch.ones(2), torch.zeros(2)]).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert isinstance(to_numpy({"a": torch.tensor(1)})["a"], np.ndarray)
    assert isinstance(to_numpy(Batch(a=torch.tensor(1))).a, np.ndarray)
    assert to_numpy([{"a": torch.tensor(1)}, {"a": torch.tensor(2)}]).a.tolist() == [1, 2]
    assert to_numpy(None).item() is None
    assert to_numpy(["a", 1]).tolist() == ["a", "1"]


def test_the_weight_of_a_prioritized_buffer_are_its_priorities() -> None:
    buffer = joystick.PrioritizedReplayBuffer(4, alpha=0.5, beta=0.4)
    for number in range(3):
        buffer.add(obs=number, act=0, rew=0.0, done=False)
    assert buffer.weight.tolist() == [1.0, 1.0, 1.0, 0.0]
    buffer.update_weight([1, 2], [4.0, -9.0])
    assert buffer.weight == pytest.approx([1.0, 2.0, 3.0, 0.0])
    assert buffer[:].weight.max() == 1.0  # of importance sampling
    with pytest.raises(AttributeError, match="ReplayBuffer has no attribute 'weight'"):
        ReplayBuffer(4).weight  # noqa: B018


def test_a_buffer_is_made_of_recorded_columns() -> None:
    flags = np.array([False, True, False])
    buffer = ReplayBuffer.from_data(np.arange(6).reshape(3, 2), [0, 1, 0], [1.0, 2.0, 3.0], flags, ~flags & False)
    assert (len(buffer), buffer.maxsize, buffer.act.tolist()) == (3, 3, [0, 1, 0])
    assert buffer.next([0, 1, 2]).tolist() == [1, 1, 2]
    assert buffer[:].obs_next.tolist() == [[2, 3], [2, 3], [4, 5]]
    nested = ReplayBuffer.from_data({"id": [1, 2]}, [0, 1], [1, 2], [0, 0], [0, 1], [0, 1], obs_next={"id": [2, 3]})
    assert nested.obs_next.id.tolist() == [2, 3]
    assert nested.rew.dtype == np.float64
    assert nested.done.tolist() == [False, True]


def test_a_taken_over_buffer_that_does_not_fit_changes_nothing() -> None:
    buffer, other = ReplayBuffer(5), ReplayBuffer(5)
    buffer.add(obs=np.zeros(2), act=0, rew=0.0, done=False)
    other.add(obs=np.zeros(3), act=0, rew=0.0, done=False)
    with pytest.raises(joystick.JoystickError, match="the first transition had numbers of shape"):
        buffer.update(other)
    assert buffer.unfinished_index().tolist() == [0]


def test_infos_have_the_number_of_their_environment() -> None:
    policy = Values()
    collector = Collector(policy, [Counts(2), Counts(3)], joystick.VectorReplayBuffer(20, 2), store_info=True)
    collector.collect(n_step=4)
    assert collector.buffer[:].info.env_id.tolist() == [0, 0, 1, 1]


class Parts(gymnasium.Env):
    """Shows its number of steps as one part of the observation, and a Dict in the Dict as another."""

    observation_space = spaces.Dict(
        {"index": spaces.Box(0, 9, (1,)), "more": spaces.Dict({"rand": spaces.Box(0, 1, (1, 2)), "kind": Discrete(3)})}
    )
    action_space = Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps = 0
        return self.seen(), {}

    def seen(self) -> dict[str, Any]:
        return {
            "index": np.full(1, self.steps, np.float32),
            "more": {"rand": np.full((1, 2), 0.5, np.float32), "kind": 2},
        }

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        return self.seen(), 1.0, self.steps == 3, False, {}


class OfParts(Recording):
    """Chooses action 1 for each index."""

    def forward(self, batch: Batch, state: Any = None) -> Batch:
        assert batch.obs.more.rand.shape == (len(batch.obs.index), 1, 2)
        return Batch(act=np.ones(len(batch.obs["index"]), np.int64))


@pytest.mark.parametrize("buffer", [ReplayBuffer(20), joystick.VectorReplayBuffer(20, 2)])
def test_observations_of_a_dict_space_may_be_a_batch_of_parts(buffer: ReplayBuffer) -> None:
    collector = Collector(OfParts(), [Parts(), Parts()], buffer, dict_obs=True)
    assert collector.collect(n_episode=2)["n/st"] == 6
    stored = buffer[:]
    assert stored.obs.index[:, 0].tolist() == [0, 1, 2] * 2
    assert stored.obs_next.index[:, 0].tolist() == [1, 2, 3] * 2
    assert stored.obs.more.kind.tolist() == [[0, 0, 1]] * 6  # one-hot, as in the array
    assert Collector(OfParts(), Parts(), dict_obs=True).collect(n_episode=1)["rew"] == 3.0
    assert buffer.sample(2)[0].obs.more.rand.shape == (2, 1, 2)


def test_parts_are_asked_for_only_where_there_are_some() -> None:
    with pytest.raises(joystick.JoystickError, match="dict_obs: the observations are no Dict or Tuple"):
        Collector(Recording(), Counts(3), dict_obs=True)
    with pytest.raises(joystick.JoystickError, match="dict_obs: an algorithm takes observations as one array"):
        Collector(joystick.policy("DQN", Parts()), Parts(), dict_obs=True)


# the page -------------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[3] / "docs" / "tianshou.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_programs_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    prints, by_hand, _ = PROGRAMS
    exec(prints, {})
    shown = capsys.readouterr().out
    assert "obs_next" not in shown
    assert shown.endswith("\n [ 7.  7.  7.  8.]]\n")
    exec(by_hand, {})
    totals = capsys.readouterr().out.split()
    assert len(totals) == 2
    assert totals[0] == totals[1]


@pytest.mark.run
def test_the_tic_tac_toe_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pettingzoo.classic.tictactoe_v3")
    monkeypatch.chdir(tmp_path)
    exec(PROGRAMS[2], {})
    shown = capsys.readouterr().out
    assert "'return_mean': " in shown
    assert "update_0.gif" not in shown, "it has learned"


def test_an_episode_by_hand_is_the_one_of_a_collector() -> None:
    names: dict[str, Any] = {}
    exec(PROGRAMS[1], names)
    env = joystick.OldGym(names["Corridor"]())
    assert Collector(names["policy"], env).collect(n_episode=1)["rew"] == names["total"]


def test_a_collector_fills_the_buffer_of_the_first_versions() -> None:
    buffer = joystick.tianshou.ReplayBuffer(size=20)
    collector = Collector(joystick.policy("DQN", gymnasium.make("CartPole-v1"), seed=1), "CartPole-v1", buffer)
    collector.collect(n_step=5)
    assert len(buffer) == 5
    assert set(buffer.done) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("algo", "env"), [("PPO", "CartPole-v1"), ("A2C", "Pendulum-v1"), ("REINFORCE", "CartPole-v1")]
)
def test_an_on_policy_algorithm_learns_from_the_buffer_whose_flags_are_numbers(algo: str, env: str) -> None:
    policy = joystick.policy(algo, env, seed=1)
    collector = joystick.Collector(policy, env, joystick.tianshou.ReplayBuffer(2000))
    collector.collect(n_step=300)
    with policy.phase(training=True):
        assert policy.update(0, collector.buffer, 64, 1)


def test_a_recurrent_algorithm_learns_from_the_buffer_whose_flags_are_numbers() -> None:
    policy = joystick.policy("DRQN", "CartPole-v1", seed=1)
    collector = joystick.Collector(policy, "CartPole-v1", joystick.tianshou.ReplayBuffer(2000))
    collector.collect(n_step=200)
    with policy.phase(training=True):
        assert policy.update(32, collector.buffer)


def test_the_reserved_keys_without_values_are_empty_as_print_shows_them() -> None:
    buffer = ReplayBuffer(3)
    buffer.add(obs=0, act=0, rew=0, done=False)
    assert buffer.info.is_empty()
    assert buffer.policy.is_empty()

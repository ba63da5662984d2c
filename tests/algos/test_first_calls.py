"""Mistakes in an algorithm of the user's own: each is one sentence, when its functions are called first."""

import copy
import importlib
import math
import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete

import algos
from algos.base import Act, Agent, EnvSpec, Result, Streams, UnfitError
from algos.common.parts.acting import ActingAgent, Weightless
from algos.first_calls import look_at, make

NAME = r"test_first_calls\.Own"


class Own(Agent):
    """Returns what it is made with."""

    KEPT = ("network",)
    METRICS = ("loss",)

    def __init__(self, act=None, result=None):
        super().__init__(None, None, Streams(0), torch.device("cpu"))
        self.network, self.acted, self.result = torch.nn.Linear(1, 1), act, result

    def predict_action(self, obs, state, mask=None):
        return self.acted

    def update(self, batch):
        return self.result


class Acting(Own, ActingAgent):
    def act(self, obs, state, mask, explore=None):
        return self.acted


class Learning(Own):
    KEPT = ("network", "optimizer")

    def __init__(self, **parts):
        super().__init__(**parts)
        self.optimizer = torch.optim.SGD(self.network.parameters(), 0.1)


class Unkept(Own):
    KEPT = ("network", "optimiser")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"loss": torch.zeros(())}, r"returned dict; expected a Result of algos\.base"),
        (None, r"returned None; expected a Result of algos\.base"),
        (Result(torch.zeros(2)), r"returned a Result whose metrics are Tensor of shape \(2,\); expected a dict"),
        (Result({"loss": 0.5}), "returned a Result whose metric loss is float; expected a tensor with one number"),
        (
            Result({"loss": torch.zeros(3)}),
            r"returned a Result whose metric loss is Tensor of shape \(3,\); expected a tensor with one number",
        ),
    ],
)
def test_an_update_that_returns_no_result_is_named_with_what_it_returned(result, message):
    agent = Own(result=result)
    look_at(agent)
    with pytest.raises(UnfitError, match=rf"update of .*{NAME} {message}"):
        agent.update({})


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (np.zeros(3), r"returned ndarray of shape \(3,\); expected an Act of algos\.base, such as Act\(action\)"),
        (Act([1, 2]), "returned an Act whose action is list; expected a numpy array"),
    ],
)
def test_acting_that_returns_no_act_is_named_with_what_it_returned(act, message):
    agent = Own(act)
    look_at(agent)
    with pytest.raises(UnfitError, match=rf"predict_action of .*{NAME} {message}"):
        agent.sample_action(np.zeros((3, 1)), None, None, None)


@pytest.mark.parametrize(
    ("space", "action", "message"),
    [
        (
            Discrete(2),
            [[0], [1]],
            r"returned an Act whose action is ndarray of shape \(2, 1\); expected the shape \(2,\)$",
        ),
        (
            Box(-1, 1, (3,)),
            [0.0, 0.0],
            r"returned an Act whose action is ndarray of shape \(2,\); expected the shape \(2, 3\)$",
        ),
        (Discrete(2), [1, 2], r"returned an Act whose actions are \[1 2\]; expected whole numbers from 0 to 1$"),
        (Discrete(2), [1, 1], None),
        (Box(-1, 1, (1,)), [[0.0], [9.0]], None),
    ],
)
def test_actions_that_are_none_of_their_space_are_named_before_the_environment_gets_them(space, action, message):
    agent = Own(Act(np.array(action)))
    agent.spec = EnvSpec("own", space, space, 2)
    look_at(agent)
    with (
        nullcontext() if message is None else pytest.raises(UnfitError, match=rf"predict_action of .*{NAME} {message}")
    ):
        agent.predict_action(np.zeros((2, 1)), None)


def test_a_prepare_that_returns_no_columns_is_named_with_what_it_returned():
    agent = type("Idle", (Own,), {"prepare": lambda self, window, progress: None})()
    look_at(agent)
    with pytest.raises(
        UnfitError, match=r"prepare of .*\.Idle returned None; expected the columns for update, a dict of"
    ):
        agent.prepare({}, None)


@pytest.mark.parametrize("name", ["prepare", "update"])
def test_a_column_that_there_is_not_is_answered_with_those_that_there_are(name):
    agent = type("Reader", (Own,), {name: lambda self, batch, progress=None: batch["rewards"]})()
    look_at(agent)
    with pytest.raises(KeyError) as info:
        getattr(agent, name)({"obs": 0, "reward": 1}, *([None] if name == "prepare" else []))
    assert info.value.__notes__ == [f"{name} is called with the columns obs, reward"]


@pytest.mark.parametrize(
    ("priorities", "told"), [(torch.zeros(3), False), (torch.zeros(3, 3), True), (torch.zeros(3, 1), True)]
)
@pytest.mark.parametrize("reward", [torch.zeros(3), torch.zeros(5, 3)], ids=["steps", "sequences"])
def test_priorities_of_another_shape_than_the_samples_are_named(priorities, told, reward):
    agent = Own(result=Result({}, priorities))
    look_at(agent)
    message = r"a Result whose priorities are Tensor of shape \(3, \d\); expected a tensor of shape \(3,\)$"
    with pytest.raises(UnfitError, match=message) if told else nullcontext():
        agent.update({"reward": reward})


def test_an_act_of_a_recurrent_agent_without_the_state_after_it_is_named():
    agent = Own(Act(np.zeros(2)))
    agent.spec = EnvSpec("own", Discrete(2), Discrete(2), 2)
    look_at(agent)
    with pytest.raises(UnfitError, match="returned an Act without state, and the agent is recurrent; expected Act"):
        agent.predict_action(np.zeros((2, 1)), np.zeros((2, 4)))
    agent.acted = Act(np.zeros(2, int), state=np.zeros((2, 4)))
    look_at(agent)
    agent.predict_action(np.zeros((2, 1)), np.zeros((2, 4)))


def test_a_metric_that_metrics_does_not_name_is_named_with_what_to_write():
    agent = Own(result=Result({"loss": torch.zeros(()), "gap": torch.zeros(())}))
    look_at(agent)
    message = r"metric gap is not among METRICS; write METRICS = \('loss', 'gap'\) in the class$"
    with pytest.raises(UnfitError, match=rf"update of .*{NAME} returned a Result whose {message}"):
        agent.update({})


def test_metrics_that_the_class_names_may_be_left_out_and_those_of_the_learner_given():
    for metrics in ({}, {"loss": torch.zeros(()), "grad_norm": torch.zeros(())}):
        agent = Learning(result=Result(metrics))
        look_at(agent)
        assert agent.update({}).metrics == metrics


def test_only_the_first_call_of_a_function_is_looked_at():
    agent = Own(Act(np.zeros(1)), Result({"loss": torch.zeros(())}))
    look_at(agent)
    agent.update({})
    agent.predict_action(None, None)
    assert not {"update", "predict_action"} & vars(agent).keys()


def test_an_act_of_an_agent_that_does_not_act_by_it_is_a_function_of_its_own():
    for agent in (type("Method", (Own,), {"act": lambda self, x: 2 * x})(), Own()):
        if not hasattr(agent, "act"):
            agent.act = lambda x: 2 * x
        look_at(agent)
        assert agent.act(2) == 4


def test_a_function_that_init_has_put_in_the_place_of_a_method_stays_there():
    agent, calls = Own(result=Result({})), []
    method = agent.update
    agent.update = lambda batch: calls.append(batch) or method(batch)
    look_at(agent)
    for number in range(2):
        agent.update({"number": number})
    assert [batch["number"] for batch in calls] == [0, 1]


def test_a_call_of_the_agent_itself_by_the_names_of_the_arguments_is_not_looked_at():
    agent = Own(Act(np.zeros(1)))
    look_at(agent)
    assert agent.predict_action(obs=np.zeros((1, 1)), state=None) is agent.acted


def test_a_name_in_kept_that_the_agent_lacks_is_named_before_it_acts():
    with pytest.raises(UnfitError, match=r"KEPT of .*\.Unkept names 'optimiser', and the agent has no attribute of"):
        look_at(Unkept())


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ((), r"test_first_calls: KEPT is empty; fill it, or override weights, state and their load_$"),
        (("acted", "network"), r"KEPT of .*\.Kept begins with 'acted', a tuple; .* the module that acting depends on$"),
        (
            ("network", "acted"),
            r"KEPT of .*\.Kept: acted is a tuple, which cannot be kept by its name; can be: a module",
        ),
    ],
)
def test_what_kept_cannot_name_is_said_before_the_agent_acts(kept, message):
    class Kept(Own):
        KEPT = kept

    with pytest.raises(UnfitError, match=message):
        look_at(Kept(act=(1, 2)))


@pytest.mark.parametrize(
    ("attribute", "value", "named"),
    [
        ("critic", lambda: torch.nn.Linear(1, 1), True),
        ("critics", lambda: [torch.nn.Linear(1, 1)], True),
        ("critic_optimizer", lambda: torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1), True),
        ("random", lambda: torch.nn.Linear(1, 1).requires_grad_(False), False),
        ("activation", torch.nn.ReLU, False),
    ],
)
def test_what_learns_and_no_checkpoint_would_have_is_named(attribute, value, named):
    agent = Learning()
    setattr(agent, attribute, value())
    message = rf"KEPT of .*\.Learning does not name {attribute}: no checkpoint would have what it learns\. "
    with pytest.raises(UnfitError, match=message) if named else nullcontext():
        look_at(agent)


def test_a_part_of_a_kept_network_need_not_be_named():
    agent = Learning()
    agent.network = torch.nn.Sequential(agent.network, torch.nn.Linear(1, 1))
    agent.encoder = agent.network[0]
    look_at(agent)


def test_a_step_of_a_former_optimizer_is_named_since_the_new_one_would_never_move():
    agent = Learning()
    agent.cfg = SimpleNamespace(max_grad_norm=None)
    agent.step = agent.minimize(None, agent.optimizer)
    look_at(agent)
    agent.optimizer = torch.optim.SGD(agent.network.parameters(), 0.1)
    with pytest.raises(
        UnfitError, match=r"^step of .*\.Learning moves an optimizer that KEPT does not name\. After ano"
    ):
        look_at(agent)


class Descending(Learning):
    def update(self, batch):
        self.network(torch.ones(2, 1)).mean().backward()
        self.optimizer.step()
        return Result({})


def test_an_optimizer_of_frozen_parameters_alone_is_named_where_its_loss_has_no_gradient():
    agent = Descending()
    agent.network.requires_grad_(False)
    look_at(agent)
    with pytest.raises(UnfitError, match=r"all parameters of an optimizer of .*\.Descending are frozen"):
        agent.update({})


def test_an_optimizer_of_layers_that_are_frozen_at_first_is_not_named():
    agent = Descending()
    agent.encoder = torch.nn.Linear(1, 1).requires_grad_(False)
    agent.encoder_optimizer = torch.optim.SGD(agent.encoder.parameters(), 0.1)
    type(agent).KEPT, kept = (*agent.KEPT, "encoder", "encoder_optimizer"), agent.KEPT
    look_at(agent)
    agent.update({})
    type(agent).KEPT = kept


class Head:
    """A part with a state of its own, which has its networks and an optimizer."""

    def __init__(self):
        self.networks = [torch.nn.Linear(1, 1)]
        self.optimizer = torch.optim.SGD(self.networks[0].parameters(), 0.1)

    def state(self):
        return {}

    def load_state(self, state):
        pass


class Slots:
    """A memory without a __dict__."""

    __slots__ = ()
    state, load_state = Head.state, Head.load_state


def test_what_a_part_keeps_need_not_be_named():
    agent = type("Parted", (Learning,), {"KEPT": ("network", "optimizer", "head", "slots", "parts")})()
    agent.head, agent.slots = Head(), Slots()
    agent.critics, agent.critic_optimizer = agent.head.networks, agent.head.optimizer
    agent.aux_optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
    agent.parts = {"aux": {"optimizer": agent.aux_optimizer}}
    look_at(agent)


def test_a_network_that_each_update_makes_anew_need_not_be_kept():
    agent = type("Remaking", (Learning,), {"REMADE": ("old",)})()
    agent.old = copy.deepcopy(agent.network)
    look_at(agent)


def test_an_optimizer_whose_state_is_no_tensors_is_named_before_the_agent_acts():
    agent = Learning()
    agent.optimizer = torch.optim.LBFGS(agent.network.parameters())
    with pytest.raises(
        UnfitError, match=r"optimizer is a LBFGS, which cannot be kept by its name; .*an object with st"
    ):
        look_at(agent)


def test_a_network_without_weights_yet_is_named_before_the_agent_acts():
    agent = Own()
    agent.network = torch.nn.LazyLinear(1)
    with pytest.raises(UnfitError, match=r"KEPT of .*\.Own: Attempted to use an uninitialized parameter"):
        look_at(agent)


class Changing(Own):
    """Changes something in its update."""

    def __init__(self, change, **attributes):
        super().__init__(result=Result({}))
        self.network.requires_grad_(False)
        vars(self).update(attributes)
        self.change = change

    def update(self, batch):
        self.change(self)
        return self.result


def warnings_of(agent, caplog):
    """What is said at the first update, and nothing at the second one."""
    look_at(agent)
    agent.update({})
    said = [record.getMessage() for record in caplog.records]
    agent.update({})
    assert len(caplog.records) == len(said)
    return said


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (0, lambda agent: setattr(agent, "own", agent.own + 1)),
        (torch.zeros(2), lambda agent: agent.own.add_(1)),
        (torch.zeros(()), lambda agent: setattr(agent, "own", agent.own + 1)),
        (np.zeros(2), lambda agent: agent.own.__iadd__(1)),
        ([], lambda agent: agent.own.append(1)),
        (np.random.default_rng(0), lambda agent: agent.own.random()),
        (
            torch.nn.Linear(1, 1).requires_grad_(False),
            lambda agent: agent.own.load_state_dict(torch.nn.Linear(1, 1).state_dict()),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_an_update_changes_and_no_checkpoint_has_is_told(value, change, caplog):
    (said,) = warnings_of(Changing(change, own=value), caplog)
    assert said.startswith(f"update of {__name__} changes own, which KEPT does not name: after a resume it begins as")
    caplog.clear()
    remade = type("Remade", (Changing,), {"REMADE": ("own",)})
    derived = type("Derived", (remade,), {"REMADE": ("other",)})
    assert not warnings_of(derived(change, own=value), caplog)


def test_what_an_update_makes_for_the_first_time_is_told_if_it_is_to_be_kept(caplog):
    late = type("Late", (Changing,), {"KEPT": ("network", "own")})
    (said,) = warnings_of(late(lambda agent: setattr(agent, "own", torch.zeros(2)), own=None), caplog)
    assert re.match(r"own, which KEPT of \S+ names, is None until update makes it: a resume cannot give it back", said)


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        math.nan,
        np.random.Generator(np.random.MT19937(0)),
        torch.inference_mode()(lambda: torch.zeros(2))(),
        torch.inference_mode()(lambda: torch.nn.Linear(1, 1).requires_grad_(False))(),
    ],
    ids=["number", "nan", "generator", "inference", "inference_network"],
)
def test_what_an_update_leaves_as_it_was_is_not_told(value, caplog):
    assert not warnings_of(Changing(lambda agent: setattr(agent, "own", agent.own), own=value, last=None), caplog)


def test_a_memory_of_an_agent_is_not_copied_to_be_compared(caplog, monkeypatch):
    monkeypatch.setattr("algos.first_calls.LARGEST", 100)
    assert not warnings_of(Changing(lambda agent: agent.own.__iadd__(1), own=np.zeros(100)), caplog)


def test_nothing_is_told_of_an_agent_that_says_itself_what_its_state_is(caplog):
    class Counting(Changing):
        def state(self):
            return {**super().state(), "count": self.count}

    agent = Counting(lambda agent: setattr(agent, "count", agent.count + 1), count=0)
    agent.network.requires_grad_(True)
    assert not warnings_of(agent, caplog)


def test_parameters_that_learn_in_no_optimizer_are_told(caplog):
    agent = Learning(result=Result({}))
    agent.network = torch.nn.ModuleDict({"actor": agent.network, "aux": torch.nn.Linear(1, 1)})
    (said,) = warnings_of(agent, caplog)
    assert said.startswith(f"no optimizer of {__name__} has network.aux.weight (and 1 more), and the first update left")
    caplog.clear()
    agent = Learning(result=Result({}))
    agent.network = torch.nn.ModuleDict({"actor": agent.network, "aux": torch.nn.Linear(1, 1).requires_grad_(False)})
    assert not warnings_of(agent, caplog)


def test_nothing_is_told_of_tables_that_a_family_saves_without_names(caplog):
    family = type("Family", (Weightless, Changing), {"KEPT": (), "update": Changing.update})
    assert not warnings_of(family(lambda agent: agent.table.__iadd__(1), table=np.zeros(2)), caplog)


def test_a_target_network_that_is_a_copy_is_not_told(caplog):
    agent = type("Aiming", (Learning,), {"KEPT": ("network", "optimizer", "target")})(result=Result({}))
    agent.target = copy.deepcopy(agent.network)
    assert not warnings_of(agent, caplog)


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (lambda column, numbers: column - numbers, True),
        (lambda column, numbers: torch.nn.functional.smooth_l1_loss(column, numbers.square()), True),
        (lambda column, numbers: column.squeeze(1) - numbers, False),
        (lambda column, numbers: numbers.unsqueeze(0) - numbers.unsqueeze(1), False),
        (lambda column, numbers: column[numbers.long()], False),
        (lambda column, numbers: column[:1] * numbers[:1], False),
        (lambda column, numbers: numbers[:, None] - numbers, False),
        (lambda column, numbers: 0.9 * (1 - numbers.view(-1, 1)) * numbers, False),
        (lambda column, numbers: torch.eq(column, numbers), False),
        (lambda column, numbers: (numbers.unsqueeze(1) + column) - numbers, True),
        (lambda column, numbers: torch.rand(3, 2).gather(1, numbers.long().unsqueeze(1)) * numbers, True),
        (lambda column, numbers: torch.nn.Linear(1, 3)(column), False),
        (lambda column, numbers: torch.nn.functional.gaussian_nll_loss(column, column, numbers + 1), False),
        (lambda column, numbers: 2 * torch.nested.nested_tensor([column, column[:2]]), False),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size", "ignore:The PyTorch API of nested tensors")
def test_a_column_and_numbers_that_make_a_table_are_told_with_the_line(operation, told, caplog):
    agent = Changing(lambda agent: operation(torch.zeros(3, 1), torch.zeros(3)))
    said = warnings_of(agent, caplog)
    assert bool(said) is told
    if told:
        assert re.match(r"\S+\.py, line \d+: tensors of the shapes \[3, 1\] and \[3\] make 3 x 3 numbers\.", said[0])


def test_a_column_and_numbers_that_the_agent_has_are_meant(caplog):
    agent = Changing(lambda agent: torch.zeros(3, 1) * agent.support, support=torch.linspace(0, 1, 3))
    assert not warnings_of(agent, caplog)


def test_the_former_spelling_of_standardize_is_named_since_nothing_would_call_it():
    class Former(Own):
        def standardise(self, batch):
            return batch

    with pytest.raises(UnfitError, match=r"\.Former has standardise, whose name is standardize now$"):
        look_at(Former())


def test_an_agent_that_keeps_its_state_itself_needs_no_kept():
    class Table(Own):
        KEPT = ()

        def weights(self):
            return {}

        def state(self):
            return {}

    look_at(Table())


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        (
            "update",
            lambda self, batch, device: None,
            r"update .* is called with \(batch\): missing a .*argument: 'device'",
        ),
        (
            "prepare",
            lambda self, window: None,
            r"prepare .* is called with \(window, progress\): too many positional arg",
        ),
        (
            "act",
            lambda self, obs: None,
            r"act of .* is called with \(obs, state, mask, explore\): too many positional arg",
        ),
    ],
)
def test_a_function_that_cannot_take_its_arguments_is_named_before_it_is_called(name, function, message):
    with pytest.raises(UnfitError, match=message):
        look_at(type("Narrow", (Own, ActingAgent), {"act": Acting.act, name: function})())


def test_an_agent_that_acts_by_functions_of_its_own_may_have_an_act_of_any_kind():
    look_at(type("Other", (Own,), {"act": lambda self, obs: None})())


def test_an_agent_that_is_made_without_its_base_is_told_what_to_call():
    class Bare(Own):
        def __init__(self):
            self.network = torch.nn.Linear(1, 1)

    with pytest.raises(
        UnfitError, match=r"Bare: __init__ has to begin with super\(\).__init__\(cfg, spec, streams, dev"
    ):
        look_at(Bare())


def test_an_init_with_other_parameters_is_named_before_it_is_called():
    with pytest.raises(
        UnfitError, match=r"__init__ of .*Own is called with \(cfg, spec, streams, device\): too many pos"
    ):
        make(Own, (None, None, None, None))


def test_an_init_that_uses_the_agent_before_its_base_is_told_what_to_call():
    class Early(Own):
        def __init__(self, cfg, spec, streams, device):
            self.network = torch.nn.Linear(self.spec.rows, 1)

    with pytest.raises(
        UnfitError, match=r"Early: __init__ has to begin with super\(\).__init__\(cfg, spec, streams, dev"
    ):
        make(Early, (None, None, None, None))


# ------------------------------------------------------------------------------------------------------- packages

CONFIG = "from algos.common.settings import NetworkConfig\n\nclass Config(NetworkConfig):\n    pass\n"
UNFINISHED = "from algos.common.parts.acting import ActingAgent\n\nclass Agent(ActingAgent):\n    pass\n"


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("without_file", None, r"without_file has no file agent\.py, in which its class Agent is expected"),
        (
            "misnamed",
            "class Agnt:\n    pass\n",
            r"misnamed\.agent has no class Agent that inherits from algos",
        ),
        ("of_no_kind", "class Agent:\n    pass\n", r"of_no_kind\.agent has no class Agent that inherits from"),
        ("unfinished", UNFINISHED, r"class Agent of unfinished\.agent lacks functions: act, update"),
    ],
)
def test_a_package_without_a_whole_agent_is_told_what_it_lacks(name, code, message, tmp_path: Path, monkeypatch):
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(f"from {name}.config import Config\n")
    (tmp_path / name / "config.py").write_text(CONFIG)
    if code is not None:
        (tmp_path / name / "agent.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnfitError, match=message):
        algos.make_agent(importlib.import_module(name))


def test_an_agent_with_a_network_that_cannot_be_exported_is_told_what_it_lacks():
    with pytest.raises(UnfitError, match=r"its agent has no as_module, which gives the policy as a module"):
        Own().as_module()

"""The contract of an Agent, for every algorithm that has a folder. A new folder is tested without an edit here."""

import random
from typing import get_args

import numpy as np
import pytest
import torch
from pydantic import BaseModel

import algos
from algos.base import Progress, UnfitError
from algos.common.parts.optim import Optimizer
from algos.common.settings import NetworkConfig
from config.model.composite import kinds_of
from config.model.course import Schedule
from config.model.layers import Conv2d
from config.model.schema import OF_THE_ENVIRONMENT
from config.read.loader import ConfigError, load
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from framework.loop.iteration import EpisodeRows
from framework.loop.learner import AgentLearner
from tests.tools.config_fixtures import loaded
from tests.tools.core import agent_of, collector_of, memory_of, of_one_agent, score, spec_of, stream, toy_of, trained
from tests.tools.paths import in_the_suite, one_of_each
from tests.tools.short_runs import narrow

PLAIN = ("match", "shifted", "digits", "bits", "target", "modes")
"""One for each kind of action space, with all kinds of observation among them."""
SPECIAL = ("walk", "bitflip", "reach")
"""For algorithms that need rules or goals."""
ENVIRONMENTS = {name: toy_of(name) for name in (*PLAIN, *SPECIAL)}
TOYS = {name: spec_of(env) for name, env in ENVIRONMENTS.items()}


def spaces_suit(algo, spec):
    config = algos.get(algo).Config
    fits = not set(kinds_of(spec.action_space)).isdisjoint(config.ACTION_SPACES)
    return fits and type(spec.observation_space).__name__ in config.OBSERVATION_SPACES


def needs(algo):
    """What an environment must have for it besides spaces: attributes of the environment."""
    config = algos.get(algo).Config()
    relabels = getattr(config.memory(rows=1), "relabel", 0) > 0
    several = algo not in of_one_agent()
    asks = config.asked_expert() == OF_THE_ENVIRONMENT
    named = (("model", config.NEEDS_MODEL), ("expert", asks), ("goal", relabels), ("joint", several))
    return [name for name, needed in named if needed]


def able(algo, toy):
    return spaces_suit(algo, TOYS[toy]) and all(getattr(ENVIRONMENTS[toy], name) for name in needs(algo))


CASES = [(algo, toy) for algo in algos.learning() for toy in (SPECIAL if needs(algo) else PLAIN) if able(algo, toy)]
every_case = pytest.mark.parametrize(("algo", "toy"), CASES)
SPACES = list({(algos.agent_class(algos.get(algo)), toy): (algo, toy) for algo, toy in reversed(CASES)}.values())
ONCE = {algo: (algo, toy) for algo, toy in CASES if algo not in {one for one, _ in SPACES}}
every_agent = pytest.mark.parametrize(("algo", "toy"), [*SPACES, *ONCE.values()])
"""Every class of agents in every kind of space, and every algorithm once."""
every_algorithm = pytest.mark.parametrize(("algo", "toy"), list({algo: (algo, toy) for algo, toy in CASES}.values()))
ROWS = 4
SMALL = {"batch_size": 64, "sgd_batch_size": 32, "k_epochs": 2, "start_steps": 50, "updates_per_train": 1,
         "lookup_step": 8, "burn_in": 2, "normalize_weights": False}  # fmt: skip
"""Sizes that make learning quick, where an algorithm has such a setting. Weights of constant norm move without a
gradient, and a single one never does: tests/algos/test_flashsac.py."""
STATISTICS = ("mean", "deviation", "variance", "count")
HALFWAY = Progress(step=100, episode=10, update=50, fraction=0.5)


def small(algo):
    """The settings of SMALL that an algorithm has, and its default networks with layers of 16."""
    default = algos.get(algo).Config()
    settings = {name: value for name, value in SMALL.items() if name in type(default).model_fields}
    for name in type(default).model_fields:
        if name.endswith("_layers"):
            layers = [layer.model_dump() for layer in getattr(default, name)]
            settings[name] = narrow(layers, 16)
    return settings


def agent_for(algo, toy, seed=1, **settings):
    return agent_of(algo, spec_of(toy_of(toy, ROWS)), seed, **{**small(algo), **settings})


def has_network(algo):
    return issubclass(algos.get(algo).Config, NetworkConfig)


class Work:
    """An agent with its collector and memory."""

    def __init__(self, algo, toy, seed=1, **settings):
        self.agent = agent_for(algo, toy, seed, **settings)
        # a memory has something to learn only where episodes are longer than one step
        length = {} if self.agent.initial_state(ROWS) is None else {"steps": 3}
        self.collector = collector_of(toy_of(toy, ROWS, **length), self.agent)
        self.memory = memory_of(self.agent, goal=self.collector.env.goal)
        self.learner = AgentLearner(self.agent, self.agent.cfg.memory(ROWS))

    def chunks(self, count):
        """So many chunks of fresh experience, not learned from."""
        found = []
        while len(found) < count:
            self.memory.add(self.collector.collect(self.learner.spec.fragment, HALFWAY)[0])
            while len(found) < count and (chunk := self.memory.take(0.5)) is not None:
                columns = {name: value.copy() for name, value in chunk.columns.items()}
                found.append(chunk._replace(columns=columns))
        return found

    def learn(self, chunks):
        return [self.learner.learn(chunk, HALFWAY) for chunk in chunks]


def frozen(tree):
    """A tree of state as plain bytes, to compare."""
    if isinstance(tree, dict):
        return {key: frozen(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [frozen(value) for value in tree]
    return np.asarray(tree).tobytes() if isinstance(tree, np.ndarray | torch.Tensor) else tree


def some_obs(toy, rows=ROWS, seed=0):
    env = toy_of(toy, rows)
    return env.reset(np.ones(rows, bool), np.arange(rows) + 100 * seed)


def test_every_algorithm_and_every_kind_of_action_is_tried():
    assert {algo for algo, _ in CASES} == set(of_one_agent())
    assert {toy for _, toy in CASES} >= set(PLAIN)


# ------------------------------------------------------------------------------------------------------- acting


@every_case
def test_actions_are_in_the_space_one_for_each_row(algo, toy):
    agent = agent_for(algo, toy)
    obs, space = some_obs(toy), TOYS[toy].action_space
    act = agent.sample_action(obs, agent.initial_state(ROWS), Progress(), stream(1, "x"))
    best = agent.predict_action(obs, agent.initial_state(ROWS))
    for action in (act.action, best.action):
        assert len(action) == ROWS
        assert all(space.contains(row.astype(space.dtype)) for row in action)
    assert all(len(column) == ROWS for column in act.columns.values())


@every_agent
def test_the_weights_are_all_that_acting_depends_on(algo, toy):
    """The same observations and rng give the same actions, also after the first agent has learned more."""
    one, other = Work(algo, toy, seed=1), Work(algo, toy, seed=2)
    one.learn(one.chunks(2))
    weights = one.agent.weights()
    other.agent.load_weights(weights)
    expected = [
        one.agent.sample_action(some_obs(toy, seed=i), one.agent.initial_state(ROWS), HALFWAY, stream(5, "x", i))
        for i in range(5)
    ]
    best = one.agent.predict_action(some_obs(toy), one.agent.initial_state(ROWS)).action
    one.learn(one.chunks(2))
    assert frozen(weights) == frozen(other.agent.weights()), "weights() is a copy"
    for i, act in enumerate(expected):
        again = other.agent.sample_action(
            some_obs(toy, seed=i), other.agent.initial_state(ROWS), HALFWAY, stream(5, "x", i)
        )
        np.testing.assert_array_equal(again.action, act.action)
        assert frozen(again.columns) == frozen(act.columns)
    np.testing.assert_array_equal(
        other.agent.predict_action(some_obs(toy), other.agent.initial_state(ROWS)).action, best
    )
    assert all(isinstance(array, np.ndarray) and array.flags.owndata for array in weights.values())


@every_case
def test_exploring_draws_from_the_given_stream_and_from_no_other(algo, toy):
    agent = agent_for(algo, toy)
    learn, numpy_before = agent.streams.learn.bit_generator.state, np.random.get_state()[1].copy()
    torch_before, python_before = torch.get_rng_state(), random.getstate()
    first = [
        agent.sample_action(some_obs(toy), agent.initial_state(ROWS), Progress(), stream(5, "x")).action
        for _ in range(3)
    ]
    agent.predict_action(some_obs(toy), agent.initial_state(ROWS))
    assert all((action == first[0]).all() for action in first)
    assert agent.streams.learn.bit_generator.state == learn
    assert (np.random.get_state()[1] == numpy_before).all()
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert random.getstate() == python_before


@every_case
def test_different_streams_explore_differently_where_trying_teaches(algo, toy):
    agent, obs = agent_for(algo, toy), some_obs(toy)
    drawn = {
        agent.sample_action(obs, agent.initial_state(ROWS), Progress(), stream(5, "x", i)).action.tobytes()
        for i in range(20)
    }
    certain = algos.get(algo).Config.NEEDS_MODEL or algos.get(algo).Config.EXPERT_ACTS
    assert (len(drawn) == 1) == certain, "who plans has nothing to learn from trying"


@every_case
def test_the_best_action_is_the_same_every_time_and_acting_changes_nothing(algo, toy):
    agent = agent_for(algo, toy)
    before = frozen(agent.state())
    for _ in range(3):
        best = agent.predict_action(some_obs(toy), agent.initial_state(ROWS)).action
        agent.sample_action(some_obs(toy), agent.initial_state(ROWS), HALFWAY, stream(5, "x"))
        np.testing.assert_array_equal(agent.predict_action(some_obs(toy), agent.initial_state(ROWS)).action, best)
    assert frozen(agent.state()) == before


# ----------------------------------------------------------------------------------------------------- learning


SOFT = {"soft": True, "double": False}
READS_TEMPERATURE = {"DQN": SOFT, "IQN": SOFT, "QRDQN": SOFT}


def falling(algo):
    """Schedules in the place of all settings that may be one."""
    fields = algos.get(algo).Config.model_fields
    return {name: {"linear": [0.5, 0.25]} for name, field in fields.items() if Schedule in get_args(field.annotation)}


@pytest.mark.parametrize(("algo", "toy"), [(a, t) for a, t in dict(CASES).items() if falling(a)])
def test_whatever_may_be_a_schedule_is_learned_with_as_one(algo, toy):
    work = Work(algo, toy, **falling(algo), **READS_TEMPERATURE.get(algo, {}))
    assert work.learn(work.chunks(1))[0].updates


@every_agent
def test_an_update_moves_every_weight_and_gives_the_metrics_that_it_names(algo, toy):
    work = Work(algo, toy)
    before = work.agent.weights()
    results = work.learn(work.chunks(6))
    assert all(set(result.metrics) == set(work.agent.metric_names()) for result in results)
    assert all(np.isfinite(values).all() for result in results for values in result.metrics.values())
    after = work.agent.weights()
    assert [name for name in before if (before[name] == after[name]).all()] == []
    assert all(np.isfinite(array).all() for array in after.values())
    assert work.agent.parameter_count() == sum(array.size for array in before.values())


@every_agent
def test_the_state_goes_on_to_the_bit(algo, toy):
    """RES-1: the same chunks after load_state give the same updates, into an agent with another past."""
    one, other = Work(algo, toy, seed=1), Work(algo, toy, seed=2)
    other.learn(other.chunks(1))
    one.learn(one.chunks(2))
    state = one.agent.state()
    snapshot, chunks = frozen(state), one.chunks(2)
    results = one.learn(chunks)
    assert frozen(state) == snapshot, "state() is a copy"
    other.agent.load_state(state)
    assert frozen(other.agent.state()) == snapshot
    again = other.learn(chunks)
    assert [result.metrics for result in again] == [result.metrics for result in results]
    assert frozen(other.agent.state()) == frozen(one.agent.state())


@every_algorithm
def test_learning_draws_only_from_the_agents_own_stream(algo, toy):
    """DET-6"""
    one, other = Work(algo, toy), Work(algo, toy)
    chunks = one.chunks(2)
    one.learn(chunks)
    np.random.seed(3)
    torch.manual_seed(3)
    other.learn(chunks)
    assert frozen(one.agent.state()) == frozen(other.agent.state())


@every_algorithm
def test_the_first_weights_are_a_function_of_the_seed(algo, toy):
    weights = [frozen(agent_for(algo, toy, seed).weights()) for seed in (1, 1, 2)]
    assert weights[0] == weights[1]
    assert weights[0] != weights[2] or not has_network(algo), "a table begins with one value"


@every_algorithm
def test_gradients_are_averaged_between_backward_and_step(algo, toy):
    """With several learners: `reduce` sees every gradient, and what it leaves there is what is applied."""
    work = Work(algo, toy)
    seen = []

    def halt(grads):
        for grad in grads:
            seen.append(bool(torch.isfinite(grad).all()))
            grad.zero_()

    def learned():
        """The weights, without the running statistics of batch renormalisation, which know no gradient."""
        weights = frozen(work.agent.weights())
        return {name: bits for name, bits in weights.items() if name.rpartition(".")[2] not in STATISTICS}

    work.agent.reduce = halt
    before = learned()
    work.learn(work.chunks(1))
    assert all(seen)
    assert bool(seen) == has_network(algo)
    assert (learned() == before) == (has_network(algo) or not before)


@every_algorithm
def test_no_metric_has_the_name_of_another_column(algo, toy):
    rows = EpisodeRows(agent_for(algo, toy))
    for columns in (rows.columns, rows.progress_columns):
        assert sorted(columns) == sorted({*columns} - {"phase"})


@every_algorithm
def test_progress_tells_how_much_is_explored(algo, toy):
    agent = agent_for(algo, toy)
    early, late = agent.exploration(Progress()), agent.exploration(Progress(step=10**9, fraction=1.0))
    assert early.keys() == late.keys()
    assert all(late[name] <= early[name] for name in early)


MASKED = [algo for algo in algos.learning() if not needs(algo) and spaces_suit(algo, spec_of(toy_of("masked")))]


OF_MASKS = [*((algo, "obs") for algo in MASKED), ("DQN", "info"), ("PPO", "info")]
"""Legal actions decide what is explored, and in targets what is best: the heads of DQN's family have these in common,
except quantiles, whose best is that of their mean."""
TRIED = in_the_suite(OF_MASKS, *((algo, "obs") for algo in one_of_each(MASKED)), ("QRDQN", "obs"), *OF_MASKS[-2:])


@pytest.mark.long
@pytest.mark.parametrize(("algo", "mask"), TRIED)
def test_an_illegal_action_is_never_taken_while_learning_and_never_the_best(algo, mask):
    """The toy raises at one. What was learned from targets that knew the masks has no value of its own here, but must
    be finite."""
    env = toy_of("masked", ROWS, mask=mask)
    agent = agent_of(algo, spec_of(env), **small(algo))
    trained(agent, env, 3 if agent.cfg.memory(ROWS).fragment > 1 else 30)
    assert np.isfinite(score(agent, toy_of("masked", ROWS, mask=mask), 8))
    assert all(np.isfinite(array).all() for array in agent.weights().values())


# ---------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("toy", ["match", "shifted", "target", "modes"])
@pytest.mark.parametrize("algo", one_of_each(algos.learning()))
def test_spaces_that_do_not_suit_are_refused_with_the_algorithms_that_do(algo, toy):
    """CFG-11: in the config, and by the agent itself."""
    overrides = [f"general_cfg.algo_name={algo}", "general_cfg.env_name=toy", f"env_cfg.id={toy}"]
    config = load(None, overrides, find_algo=ALGOS, find_env=ENVS)
    if able(algo, toy):
        compatibility.check(config)
        return
    with pytest.raises(ConfigError, match=rf"{algo} needs .*{toy} .*Algorithms that can: .*PPO"):
        compatibility.check(config)
    if not spaces_suit(algo, TOYS[toy]):
        with pytest.raises(ValueError, match="Box"):
            agent_of(algo, TOYS[toy])


@every_algorithm
def test_a_list_of_layers_that_does_not_fit_is_named(algo, toy):
    fields = algos.get(algo).Config.model_fields
    names = [name for name in fields if name.endswith("_layers")]
    assert bool(names) == has_network(algo)
    of_all = {"baseline": "value", "mixer": "monotonic", "bonus": "rnd"}
    if "bonus" in fields and get_args(fields["bonus"].annotation) == ("none",):  # as in GAIL
        names.remove("bonus_layers")
        del of_all["bonus"]
    all_networks = {key: value for key, value in of_all.items() if key in fields and algo != "VDN"}
    for name in names if algo != "VDN" else ["value_layers"]:  # its sum is no network
        with pytest.raises(UnfitError, match=rf"^algo_cfg\.{name}: .* -conv2d k4 s4-> does not fit"):
            agent_of(algo, TOYS[toy], **all_networks, **{name: [Conv2d(out_channel=4)]})


@pytest.mark.parametrize("algo", algos.learning())
def test_the_defaults_are_valid_and_say_which_memory_is_wanted(algo):
    config = loaded(None, f"general_cfg.algo_name={algo}").algo
    assert list(config.problems()) == []
    for rows in (1, 3, 64):
        spec = config.memory(rows)
        assert spec.fragment >= 1
        assert type(config).adjustable()


def optimizers_in(part):
    """All optimizers that an agent and its parts hold, whether they are kept by name or not."""
    for value in part.values() if isinstance(part, dict) else getattr(part, "__dict__", {}).values():
        own = type(value).__module__.startswith("algos.") and not isinstance(value, BaseModel)
        if isinstance(value, Optimizer):
            yield value
        elif own or isinstance(value, dict):
            yield from optimizers_in(value)


@every_algorithm
def test_every_learning_rate_follows_the_schedule(algo, toy):
    if not has_network(algo):
        return
    agent = agent_of(algo, spec_of(toy_of(toy, ROWS)), **{**small(algo), "lr_schedule": "linear"})
    groups = {id(group): group for optimizer in optimizers_in(agent) for group in optimizer.param_groups}
    for group, rate in agent.rates(Progress(fraction=0.75)):
        before, group["lr"] = groups.pop(id(group))["lr"], rate
        assert rate == pytest.approx(before / 4)
    assert not groups


@pytest.mark.parametrize("algo", algos.available())
def test_a_resume_may_change_every_learning_rate(algo):
    """RES-5: those of an algorithm to come as well."""
    model = algos.get(algo).Config
    rates = {name for name in model.model_fields if name.endswith("lr")}
    assert rates <= model.adjustable()
    assert not {"gamma", "batch_size"} & model.adjustable()


def rates_in(tree):
    """The learning rates in the state of an agent, in their order."""
    if not isinstance(tree, dict):
        return []
    return [*tree.get("lr", []), *(rate for value in tree.values() for rate in rates_in(value))]


@every_algorithm
def test_a_resumed_agent_learns_at_the_rates_of_its_settings(algo, toy):
    """RES-5"""
    work = Work(algo, toy)
    chunk = work.chunks(1)[0]
    changed = {name: getattr(work.agent.cfg, name) for name in type(work.agent.cfg).model_fields if name.endswith("lr")}
    changed = {name: rate / 2 for name, rate in changed.items() if rate}
    agent = agent_of(algo, work.agent.spec, **small(algo), **changed)
    agent.load_state(work.agent.state())
    AgentLearner(agent, agent.cfg.memory(ROWS)).learn(chunk, HALFWAY)
    assert rates_in(agent.state()) == [rate / 2 for rate in rates_in(work.agent.state())]
    assert bool(rates_in(agent.state())) == has_network(algo)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@every_algorithm
def test_everything_is_on_the_device_that_was_asked_for(algo, toy):
    work = Work(algo, toy)
    agent = agent_of(algo, work.agent.spec, device="cuda", **small(algo))
    for chunk in work.chunks(2):
        assert AgentLearner(agent, agent.cfg.memory(ROWS)).learn(chunk, HALFWAY).updates > 0
    copy = agent_of(algo, work.agent.spec, device="cuda", **small(algo))
    copy.load_state(agent.state())
    trained(copy, work.collector.env, 4)

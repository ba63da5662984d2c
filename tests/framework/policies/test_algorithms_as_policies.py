"""Every algorithm is a policy among others, without a change: it acts, learns, and is resumed to the bit."""

import pytest

import algos
from config.read.loader import ConfigError, load
from framework.assemble import fit as compatibility
from framework.catalog import ALGOS, ENVS
from tests.tools.distributed import Run, local, words_of
from tests.tools.paths import one_of_each

WHY = {
    "ValueIteration": "plans with the transition model of a single-agent environment",
    "PolicyIteration": "plans with the transition model of a single-agent environment",
    "DDPG_HER": "relabels the goals of a single-agent environment",
    "SAC_HER": "relabels the goals of a single-agent environment",
    "Expert": "is for a single agent",
}
"""Algorithms that cannot be a policy, and the reason."""


def config_of(algo):
    config = algos.get(algo).Config
    obs = "Box" if "Box" in config.OBSERVATION_SPACES else "Discrete"
    action = "Discrete" if "Discrete" in config.ACTION_SPACES else "Box"
    general = ["general_cfg.env_name=python", "env_cfg.id=own_agents:Turns", "env_cfg.n_envs=2", "general_cfg.seed=3"]
    general += [f"env_cfg.obs={obs}", f"env_cfg.action={action}", "general_cfg.max_total_step=200"]
    own = [word for word in words_of(algo) if word.startswith(("algo_cfg.", "general_cfg.algo_name"))]
    return load(None, [*general, *own], find_algo=ALGOS, find_env=ENVS, allow_import=["own_agents"])


@pytest.mark.parametrize("algo", one_of_each(sorted({*algos.learning()} - {*WHY})))
def test_every_algorithm_learns_from_agents_that_act_enter_and_leave_at_different_times(algo):
    """RES-2"""
    config = config_of(algo)
    compatibility.check(config)
    whole = Run(config, local(config)).until(34)
    saved, before = whole.saved(), len(whole.learned)
    whole.until(52)
    assert before < len(whole.learned)
    assert Run(config, local(config)).load(saved).until(52).state() == whole.state()


@pytest.mark.parametrize("algo", WHY)
def test_an_algorithm_that_needs_a_single_agent_is_refused(algo):
    with pytest.raises(ConfigError, match=WHY[algo]):
        compatibility.check(config_of(algo))

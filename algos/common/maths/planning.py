"""Planning with the transition model of a finite environment."""

import numpy as np

from algos.base import Array, EnvSpec, Model, UnfitError
from algos.common.parts.tables import actions_of, states_of


def rules_of(spec: EnvSpec, algorithm: str) -> Model:
    """Returns the transition model of the environment; raises UnfitError if it has none."""
    size = states_of(spec.observation_space)[1], actions_of(spec.action_space)
    if spec.model is None:
        raise UnfitError(
            f"{algorithm} plans with the rules of the environment, and {spec.id} does not tell them; "
            "FrozenLake-v1, CliffWalking-v1 and Taxi-v4 do"
        )
    if spec.model.probability.shape[:2] != size:
        raise UnfitError(f"the rules of {spec.id} are for {spec.model.probability.shape[:2]} and not for {size}")
    return spec.model


def backup(model: Model, value: Array, gamma: float) -> Array:
    """Returns q(s, a) = sum_s' p(s'|s, a) (r + gamma v(s')) [S, A] of values [S]; a terminal s' has value 0."""
    later = gamma * value[model.next_state] * ~model.terminated
    return (model.probability * (model.reward + later)).sum(axis=2)


def evaluate(model: Model, policy: Array, gamma: float) -> Array:
    """Returns the values v [S] of a deterministic policy: the solution of v = r + gamma P v."""
    states = np.arange(len(policy))
    chosen = Model(*(rule[states, policy] for rule in model))
    system = np.eye(len(policy))
    later = gamma * chosen.probability * ~chosen.terminated
    np.subtract.at(system, (states[:, None], chosen.next_state), later)
    return np.linalg.solve(system, (chosen.probability * chosen.reward).sum(axis=1))


def improve(policy: Array, q: Array) -> Array:
    """Returns the best action of every state [S] by values [S, A]; the old one if it is as good, so that policy
    iteration cannot cycle between equally good policies."""
    old, best = q[np.arange(len(policy)), policy], q.max(axis=1)
    return np.where(np.isclose(old, best, rtol=1e-9, atol=1e-12), policy, q.argmax(axis=1))

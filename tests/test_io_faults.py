"""A sample of tests/stress/io_faults.py: whatever call of input and output goes wrong, a run comes to the same end."""

import pytest
from helpers_io_faults import ALGORITHMS, KINDS, Experiment

pytestmark = pytest.mark.xdist_group("io_faults")
EVERY = {"QLearning": 193, "DQN": 149}
"""Of some 200 calls in each part of a run, one or two are tried."""


@pytest.fixture(scope="module", params=list(ALGORITHMS))
def experiment(request, tmp_path_factory):
    return request.param, Experiment(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phase", [0, 1], ids=["training", "resume"])
def test_a_fault_at_any_call_costs_no_run(experiment, kind, phase):
    """CKP-1, CKP-2: an error, a kill, a torn write, a power cut."""
    algorithm, trials = experiment
    first = 13 + 19 * KINDS.index(kind) + 7 * phase
    assert list(trials.failures(kind, phase, EVERY[algorithm], first)) == []

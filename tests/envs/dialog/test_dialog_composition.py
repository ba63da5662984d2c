"""Dialogues put together in Python, samples by several processes, and policies that learn from them."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import own_dialog
import pytest
import torch
from joystick.dialog import (
    PG,
    PPO,
    Environment,
    MultiWozEvaluator,
    PipelineAgent,
    RuleDST,
    RulePolicy,
    sample,
)

import joystick
from envs.dialog.user import User
from framework.dialog import processes
from tests.tools.dialog import ForkedPlayer, write_town
from tests.tools.paths import in_the_suite
from tests.tools.process import forked_program

PAGE = Path(__file__).parents[3] / "docs" / "dialog.md"
ERRORS = (joystick.EnvError, joystick.ConfigError, joystick.JoystickError)


def simulator(**parts: Any) -> Any:
    return PipelineAgent(**{"nlu": None, "dst": None, "policy": RulePolicy(character="usr"), "nlg": None, **parts})


def made(**parts: Any) -> Any:
    order = {"sys_nlg": None, "usr": simulator(), "sys_nlu": None, "sys_dst": RuleDST(),
             "evaluator": MultiWozEvaluator(), "id": "mini"}  # fmt: skip
    return Environment(**{**order, **parts})


def block(first: str) -> str:
    """The block of code of the page that begins with this line, or has it."""
    return next(
        code
        for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        if first in code
    )


def test_the_program_of_the_page_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands without `if __name__ == "__main__"`, and plays in two processes."""
    monkeypatch.chdir(tmp_path)
    done = forked_program(block("policy_sys.update(epoch, batchsz_real, s, a, r, mask)"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("policy_loss") == 3
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        "--algo PPO --env mini --allow-import impatient env_cfg.user=impatient:Impatient",
        "--yaml hard.yaml --allow-import impatient --allow-import hearing",
    ],
)
def test_the_parts_of_the_page_train(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands stand on the page."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert f"python main.py {command}\n" in PAGE.read_text(encoding="utf-8")
    limits = ["general_cfg.max_total_step=140", "algo_cfg.batch_size=128", "general_cfg.online_eval_episode=2"]
    done = forked_program(f"import sys\nfrom main import main\nsys.exit(main({[*command.split(), *limits]}))")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "tasks").iterdir())) == 1


def test_the_parts_of_the_page_stand_in_an_environment_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = forked_program(
        "import sys\nsys.path.append('.')\n" + block("simulator = PipelineAgent(None, None, Impatient")
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0


def write_files(folder: Path) -> None:
    for name, code in re.findall(
        r"```\w+\n# (\S+\.(?:py|yaml))\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    ):
        (folder / name).write_text(code)


def test_none_stands_for_acts_and_for_the_reward_of_the_user() -> None:
    judged, alone = made(), made(evaluator=None)
    assert (judged.cfg.reward, alone.cfg.reward) == ("convlab", "user")
    assert judged.parts == alone.parts == (None,) * 7
    assert made(reward="task").cfg.reward == "task"


def test_the_databases_of_multiwoz_are_taken_if_they_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = None, simulator(), None, RuleDST(), MultiWozEvaluator()
    assert Environment(*parts).cfg.id == "mini"
    write_town(tmp_path / "multiwoz")
    env = Environment(*parts)
    assert (env.cfg.id, env.cfg.data_dir) == ("full", "multiwoz")
    assert Environment(*parts, id="town").cfg.data_dir is None


def test_own_parts_stand_in_their_places() -> None:
    env = made(usr=simulator(policy=own_dialog.Impatient), sys_nlu=own_dialog.Erring(0.3), sys_dst=own_dialog.Notes,
               evaluator=own_dialog.Lenient)  # fmt: skip
    env.reset(seed=1)
    assert isinstance(env.user.user, own_dialog.Impatient)
    assert isinstance(env.tracker, own_dialog.Notes)
    assert isinstance(env.evaluator.evaluator, own_dialog.Lenient)
    assert isinstance(made(usr=own_dialog.Plain).parts.user.make, type)
    assert isinstance(made(usr=RulePolicy(character="usr")).reset(seed=1)[0], np.ndarray)
    words = made(sys_nlg=own_dialog.Words, usr=simulator(nlu=own_dialog.Reader(), nlg=own_dialog.Words()),
                 sys_nlu=own_dialog.Reader)  # fmt: skip
    assert isinstance((words.reset(seed=1), words.user)[1], User)


# -------------------------------------------------------------------------------------------------- samples


@pytest.fixture
def forked_players(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The processes that play are forked; programs of the page start real ones."""
    monkeypatch.setattr(processes, "subprocess", SimpleNamespace(Popen=ForkedPlayer, PIPE=None))
    yield
    processes.end_all()


@pytest.mark.usefixtures("forked_players")
@pytest.mark.parametrize(("actions", "steps"), [("bits", 30), ("one", 30), ("bits", 2)])
def test_a_sample_is_the_same_from_any_number_of_processes(actions: str, steps: int) -> None:
    """Also where there are more processes than dialogues."""
    env, policy = made(actions=actions, sys_nlu=own_dialog.Erring(0.1)), PPO(True, seed=3)
    samples = [sample(env, policy, steps, count, seed=5) for count in (1, 2, 3)]
    assert len(samples[0].reward) >= steps
    for other in samples[1:]:
        assert samples[0].keys() == other.keys()
        assert all(np.array_equal(samples[0][name], other[name]) for name in samples[0].keys())  # noqa: SIM118
    assert ("action_mask" in samples[0]) == (actions == "one")


def test_a_sample_has_as_few_whole_dialogues_as_have_the_steps() -> None:
    batch = sample(made(), RulePolicy(character="sys"), 50)
    last = np.flatnonzero(batch.mask == 0)
    assert last[-1] == len(batch.mask) - 1
    assert last[-2] + 1 < 50 <= len(batch.mask)
    assert (batch.state.shape[1:], batch.action.shape[1:]) == ((53,), (22,))
    within = np.flatnonzero(batch.mask[:-1] == 1)
    assert np.array_equal(batch.next_state[within], batch.state[within + 1])


def test_samples_without_a_seed_differ_and_a_program_repeats_them() -> None:
    env, again = made(), made()
    first, second = (sample(env, RulePolicy(), 30).state for _ in range(2))
    assert not np.array_equal(first[:20], second[:20])
    repeated = [sample(again, RulePolicy(), 30).state for _ in range(2)]
    assert np.array_equal(repeated[0], first)
    assert np.array_equal(repeated[1], second)


def test_a_class_of_the_program_itself_plays_in_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = """
from joystick.dialog import *
class Brief(User):
    def respond(self, acts):
        super().respond(acts)
        self.ended = True
        return [parse("bye")]
class Mine:
    def predict(self, state):
        return [0] * 22
env = Environment(None, Brief, None, RuleDST(), None, id="mini")
batch = sample(env, Mine(), 5, 2)
print(batch.mask.sum(), len(batch.mask))
"""
    done = forked_program(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.0", "5"]


@pytest.mark.usefixtures("forked_players")
def test_a_process_that_ends_is_a_sentence_and_the_next_sample_has_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCESS_OF_THE_TEST", str(processes.os.getpid()))
    with pytest.raises(joystick.JoystickError, match="a process has ended with exit status 7 while it played"):
        sample(made(sys_nlu=own_dialog.Dies), RulePolicy(), 5, 2)
    assert processes._running == []
    assert len(sample(made(), RulePolicy(), 5, 2).reward) >= 5


@pytest.mark.usefixtures("forked_players")
def test_an_error_in_another_process_is_raised_here() -> None:
    class Wrong:
        def predict(self, state: np.ndarray) -> Any:
            raise ValueError("no idea")

    with pytest.raises(ValueError, match="no idea"):
        sample(made(), Wrong(), 5, 2)


# --------------------------------------------------------------------------------------------------- updates


@pytest.mark.parametrize("make", [PPO, PG])
def test_policies_learn_from_a_changed_sample_as_from_their_own(make: Callable[..., Any]) -> None:
    """Other rewards for the first half give other weights; arrays and tensors give the same ones."""
    results = []
    for factor, kind in ((1.0, np.asarray), (1.0, torch.as_tensor), (-1.0, np.asarray)):
        policy, env = make(True, seed=1), made()
        batch = sample(env, policy, 64)
        before = policy.weights()
        batch.reward[: len(batch.reward) // 2] *= factor
        columns = (batch.state, batch.action, batch.reward, batch.mask)
        metrics = policy.update(0, len(batch.reward), *map(kind, columns))
        assert np.isfinite(list(metrics.values())).all()
        assert any(not np.array_equal(before[name], value) for name, value in policy.weights().items())
        results.append(policy.weights())
    assert all(np.array_equal(value, results[1][name]) for name, value in results[0].items())
    assert any(not np.array_equal(value, results[2][name]) for name, value in results[0].items())


def test_update_learns_as_a_run_learns_from_the_same_dialogues(tmp_path: Path) -> None:
    """The window, with log probabilities that follow from the weights, gives the weights of Run.update."""
    with joystick.Run("PPO", "mini", env_name="dialog", seed=2, into=tmp_path / "run", preset=None,
                      general_cfg={"online_eval": False}, env_cfg={"reward": "user"}) as run:  # fmt: skip
        policy, env = PPO(True, seed=2), made(evaluator=None)
        policy.bind(env)
        policy.set_weights(run.weights())
        batch = run.sample(64)
        metrics = policy.update(0, len(batch.reward), batch.state, batch.action, batch.reward, batch.mask)
        theirs = run.update(batch)
        assert metrics["value_loss"] == pytest.approx(theirs["value_loss"], rel=1e-6)
        assert policy.weights().keys() == run.weights().keys()
        assert all(np.allclose(value, run.weights()[name], atol=1e-6) for name, value in policy.weights().items())


LEARN: list[Any] = [(PPO, 9, {"actor_lr": 2e-3, "critic_lr": 2e-3}), (PG, 25, {})]


@pytest.mark.parametrize(("make", "epochs", "settings"), in_the_suite(LEARN, LEARN[0]))
def test_the_policies_learn_the_small_domain(make: Callable[..., Any], epochs: int, settings: dict[str, Any]) -> None:
    """That of PG is REINFORCE, which learns its tasks in tests/algos/test_policy_gradient.py."""
    env, policy = made(reward="task"), make(True, seed=1, normalize_reward=True, **settings)
    returns = []
    for epoch in range(epochs):
        batch = sample(env, policy, 512)
        policy.update(epoch, len(batch.reward), batch.state, batch.action, batch.reward, batch.mask)
        returns.append(batch.reward.sum() / (batch.mask == 0).sum())
    assert np.mean(returns[-3:]) > np.mean(returns[:3]) + 15


def test_masks_of_legal_actions_are_learned_with() -> None:
    env, policy = made(actions="one"), PPO(True)
    batch = sample(env, policy, 40)
    words = 0, len(batch.reward), batch.state, batch.action, batch.reward, batch.mask
    with pytest.raises(joystick.JoystickError, match="has action masks: give action_mask"):
        policy.update(*words)
    assert np.isfinite(list(policy.update(*words, action_mask=batch.action_mask).values())).all()
    with pytest.raises(joystick.JoystickError, match="has an action that action_mask does not allow"):
        policy.update(*words, action_mask=np.zeros_like(batch.action_mask))


def test_a_policy_that_does_not_train_acts_without_exploration() -> None:
    env, policy = made(), PPO()
    batch = sample(env, policy, 20)
    assert all(
        np.array_equal(policy.predict(state), action) for state, action in zip(batch.state, batch.action, strict=True)
    )


def test_a_config_file_gives_the_settings(tmp_path: Path) -> None:
    content = {"batchsz": 32, "epsilon": 0.1, "tau": 0.9, "policy_lr": 1e-4, "h_dim": 20, "save_dir": "save"}
    (tmp_path / "config").write_text(json.dumps(content, indent="\t"))
    for config in (tmp_path / "config", str(tmp_path / "config"), content):
        policy = PPO(True, config=config, eps_clip=0.3)
        policy.bind(made())
        cfg = policy._policy.agent.cfg
        assert (cfg.sgd_batch_size, cfg.eps_clip, cfg.gae_lambda, cfg.actor_lr) == (32, 0.3, 0.9, 1e-4)
        assert policy.weights()["actor.0.weight"].shape == (20, 53)


# ---------------------------------------------------------------------------------------------- wrong inputs


def updated(policy: Any = None, **changed: Any) -> Any:
    """An update from a sample of which something was changed."""
    policy = policy or PPO(True)
    batch = sample(made(), policy, 12)
    words = {
        "epoch": 0,
        "n": len(batch.reward),
        "s": batch.state,
        "a": batch.action,
        "r": batch.reward,
        "mask": batch.mask,
    }
    words |= {name: change(words[name]) if callable(change) else change for name, change in changed.items()}
    return policy.update(**words)


def with_last(value: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.append(array[:-1], np.float32(value))


WRONG = {
    "usr None": (lambda: made(usr=None), r"Environment: usr: got None; expected PipelineAgent\(None"),
    "dst None": (lambda: made(sys_dst=None), r"Environment: sys_dst: got None; expected RuleDST\(\)"),
    "order": (lambda: made(sys_nlg=simulator()), "sys_nlg: got PipelineAgent, which stands elsewhere in Environment"),
    "dst as nlu": (lambda: made(sys_nlu=RuleDST()), "sys_nlu: got RuleDST, which stands elsewhere"),
    "evaluator as dst": (lambda: made(sys_dst=MultiWozEvaluator()), "sys_dst: got MultiWozEvaluator, which stands"),
    "policy as evaluator": (lambda: made(evaluator=RulePolicy), "evaluator: got RulePolicy, which stands elsewhere"),
    "dst as usr": (lambda: made(usr=RuleDST()), "usr: got RuleDST, which stands elsewhere"),
    "system as user": (
        lambda: made(usr=simulator(policy=RulePolicy())),
        "this is the system's; a simulator has RulePolicy",
    ),
    "dst of user": (lambda: made(usr=simulator(dst=RuleDST())), "a simulated user keeps its own state, write None"),
    "no policy": (lambda: made(usr=simulator(policy=None)), "PipelineAgent: policy: got None; expected RulePolicy"),
    "number as usr": (lambda: made(usr=3), "usr: got an object of int; expected its class"),
    "object as dst": (lambda: made(sys_dst=object()), "sys_dst: got an object of object; expected its class"),
    "text as nlu": (lambda: made(sys_nlu="nlu"), "Environment: sys_nlu: str has no method predict"),
    "nlg as nlu": (lambda: made(sys_nlu=own_dialog.Words()), "Environment: sys_nlu: Words has no method predict"),
    "nlu as nlg": (lambda: made(sys_nlg=own_dialog.Erring), "Environment: sys_nlg: Erring has no method generate"),
    "nlg of user": (lambda: made(usr=simulator(nlg=own_dialog.Erring)), "PipelineAgent: nlg: Erring has no method gen"),
    "nlg without nlu": (lambda: made(sys_nlg=own_dialog.Words), "generate of Words gives .* user_nlu makes acts"),
    "no respond": (lambda: made(usr=own_dialog.NoRespond), "Environment: usr: NoRespond has no method respond"),
    "no hear": (lambda: made(sys_dst=own_dialog.NoHear), "Environment: sys_dst: NoHear has no method hear"),
    "no report": (lambda: made(evaluator=own_dialog.NoReport), "Environment: evaluator: NoReport has no method report"),
    "no success": (
        lambda: made(evaluator=own_dialog.NoStrict),
        "NoStrict has no method success, which env_cfg.reward con",
    ),
    "unknown setting": (lambda: made(max_turns=3), "Python: env_cfg.max_turns: unknown setting; did you mean max_turn"),
    "wrong setting": (
        lambda: made(max_turn="long"),
        r"Python: env_cfg.max_turn: got 'long' \(text\); expected a whole",
    ),
    "wrong id": (lambda: made(id="maxi"), "Python: env_cfg.id: got 'maxi'"),
    "no folder": (lambda: made(id="town", data_dir="nowhere"), "env_cfg.data_dir: there is no folder nowhere"),
    "part twice": (lambda: made(user=own_dialog.Plain), "Environment: user: is a setting of a run; here each part has"),
    "character": (lambda: RulePolicy(character="user"), "RulePolicy: character: got 'user'; expected 'sys' or 'usr'"),
    "character 3": (lambda: RulePolicy(character=3), "RulePolicy: character: got 3"),
    "user plays": (lambda: sample(made(), RulePolicy(character="usr"), 8), "character 'usr' is the user; the system's"),
    "no bind": (lambda: RulePolicy().predict(np.zeros(53)), "RulePolicy has met no environment yet"),
    "batchsz 0": (
        lambda: sample(made(), RulePolicy(), 0),
        "sample: batchsz: got 0; expected a whole number, at least 1",
    ),
    "batchsz 1.5": (lambda: sample(made(), RulePolicy(), 1.5), "sample: batchsz: got 1.5"),
    "batchsz True": (lambda: sample(made(), RulePolicy(), True), "sample: batchsz: got True"),
    "batchsz text": (lambda: sample(made(), RulePolicy(), "8"), "sample: batchsz: got '8'"),
    "process_num 0": (
        lambda: sample(made(), RulePolicy(), 8, 0),
        "sample: process_num: got 0; expected a whole number",
    ),
    "process_num -1": (lambda: sample(made(), RulePolicy(), 8, -1), "sample: process_num: got -1"),
    "process_num None": (lambda: sample(made(), RulePolicy(), 8, None), "sample: process_num: got None"),
    "process_num many": (lambda: sample(made(), RulePolicy(), 8, 10**6), "at least 1 and at most 1024"),
    "seed": (
        lambda: sample(made(), RulePolicy(), 8, seed=-1),
        "sample: seed: got -1; expected a whole number, at least 0",
    ),
    "no env": (lambda: sample(None, RulePolicy(), 8), "sample: env: got None; expected an environment"),
    "env class": (lambda: sample(Environment, RulePolicy(), 8), "sample: env: got <function"),
    "no policy object": (lambda: sample(made(), None, 8), "sample: policy: got None; expected PPO"),
    "policy class": (lambda: sample(made(), PPO, 8), "sample: policy: got <function"),
    "is_train": (lambda: PPO("yes"), "PPO: is_train: got 'yes'; expected True or False"),
    "dataset": (
        lambda: PPO(True, "camrest"),
        "PPO: dataset: got 'camrest'; the acts and databases are those of MultiWOZ",
    ),
    "policy seed": (lambda: PG(True, seed=-3), "PG: seed: got -3"),
    "device": (lambda: PPO(True, device="gpu"), "Python: general_cfg.device: got 'gpu'"),
    "policy setting": (lambda: PPO(True, epsilon=0.2), "algo_cfg.epsilon: unknown setting"),
    "policy value": (lambda: PPO(True, lr=-1), "Python: algo_cfg.lr: got -1; expected a number above 0"),
    "config file": (lambda: PPO(True, config="nowhere.json"), "nowhere.json: no such file"),
    "config of GDPL": (lambda: PPO(True, config={"lr_irl": 0.1, "h_dim": 9}), "lr_irl: GDPL is not here"),
    "config word": (
        lambda: PPO(True, config={"epslon": 0.1}),
        "config: epslon: is no setting of ConvLab-2's policy ppo",
    ),
    "config number": (lambda: PPO(True, config=3), "config: got 3; expected a file, or"),
    "config of PPO": (
        lambda: PG(True, config={"epsilon": 0.1}),
        "config: epsilon: is no setting of ConvLab-2's policy pg",
    ),
    "recurrent": (
        lambda: PPO(True, actor_layers=[{"layer_type": "lstm", "layer_size": [8]}]).bind(made()),
        "PPO learns here from single exchanges; leave out lstm and gru layers",
    ),
    "update before": (lambda: PPO(True).update(0, 1, [], [], [], []), "PPO has met no environment yet: call sample"),
    "weights before": (lambda: PG(True).weights(), "before weights"),
    "not training": (lambda: updated(PPO()), r"was made with is_train=False, and does not learn; PPO\(True\) does"),
    "epoch": (lambda: updated(epoch=-1), "PPO.update: epoch: got -1"),
    "n": (lambda: updated(n=3), r"PPO.update: s: has the shape .* expected \(3, 53\) for n=3"),
    "n none": (lambda: updated(n=None), "PPO.update: n: got None; expected a whole number, at least 1"),
    "n 0": (lambda: updated(n=0), "PPO.update: n: got 0; expected a whole number, at least 1"),
    "a half": (lambda: updated(a=lambda a: a * 0.5 + 0.25), "PPO.update: a: has a value that is not a whole number"),
    "masks wide": (lambda: masked(99), r"action_mask: has the shape \(\d+, 99\); expected \(\d+, 22\)"),
    "state": (lambda: bound().predict(np.zeros(3)), r"PPO: state: has the shape \(3,\); expected \(53,\)"),
    "states": (lambda: bound().predict(np.zeros((2, 53))), r"PPO: state: has the shape \(2, 53\); expected"),
    "rows": (lambda: made(n_envs=4), "Environment: n_envs: is a setting of a run; process_num of sample says"),
    "usr in place of is_train": (lambda: RulePolicy("usr"), "RulePolicy: is_train: got 'usr'; expected True or False"),
    "s": (lambda: updated(s=lambda s: s[:, :5]), r"PPO.update: s: has the shape \(\d+, 5\)"),
    "s text": (lambda: updated(s="state"), "PPO.update: s: got str; expected an array or a tensor of numbers"),
    "s nan": (lambda: updated(s=lambda s: s * np.nan), "PPO.update: s: has a value that is not a finite number"),
    "a": (lambda: updated(a=lambda a: a + 2), "PPO.update: a: has an action that is not in"),
    "a short": (lambda: updated(a=lambda a: a[:-1]), "PPO.update: a: has the shape"),
    "r": (lambda: updated(r=None), "PPO.update: r: got NoneType; expected an array"),
    "r inf": (lambda: updated(r=with_last(np.inf)), "PPO.update: r: has a value that is not a finite number"),
    "mask 2": (lambda: updated(mask=with_last(2)), "PPO.update: mask: has other values than 0"),
    "mask open": (lambda: updated(mask=with_last(1)), "PPO.update: mask: ends with 1; the last dialogue is whole"),
    "mask of actions": (lambda: updated(action_mask=np.ones((3, 22))), "this environment has no action masks"),
    "other spaces": (lambda: other_spaces(), "PPO was made for the observation_space"),
    "not a dialogue": (lambda: RulePolicy().bind("CartPole-v1"), "RulePolicy talks in dialogues; got 'CartPole-v1'"),
}


def bound() -> Any:
    """Returns a policy that has met its environment."""
    policy = PPO(True)
    policy.bind(made())
    return policy


def masked(size: int) -> None:
    """Updates with masks of so many actions."""
    env, policy = made(actions="one"), PPO(True)
    b = sample(env, policy, 8)
    n = len(b.reward)
    policy.update(0, n, b.state, b.action, b.reward, b.mask, np.ones((n, size)))


def test_an_observation_may_have_another_kind_of_number() -> None:
    assert bound().predict(np.zeros(53)).shape == (22,)


def other_spaces() -> None:
    policy = PPO(True)
    policy.bind(made())
    sample(made(id="town"), policy, 5)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call, sentence = WRONG[name]
    with pytest.raises(ERRORS, match=sentence) as error:
        call()
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "instead"),
    [("GDPL", "; GDPL is not here: it learns its reward"), ("MLE", r"joystick.Run\('BC', 'town'\)"),
     ("Enviroment", "did you mean Environment"), ("Sessions", "it has Act, Environment"),
     ("BERTNLU", "write a class with predict"), ("MultiWozVector", "features=.convlab")],
)  # fmt: skip
def test_a_name_that_is_not_there_is_answered(name: str, instead: str) -> None:
    with pytest.raises(ImportError, match=instead):
        exec(f"from joystick.dialog import {name}", {})


@pytest.mark.parametrize(
    ("thing", "name", "instead"),
    [
        (lambda: PPO(True), "init_session", "PPO has no 'init_session'; leave it out"),
        (lambda: PG(True), "predic", "PG has no 'predic'; did you mean predict?"),
        (MultiWozEvaluator, "task_success", "MultiWozEvaluator has no 'task_success'; the info of the last step"),
        (RuleDST, "state", "RuleDST has no 'state'; each dialogue has its own, env.tracker after env.reset()"),
        (RulePolicy, "save", "RulePolicy has no 'save'; leave it out: the hand-written policy has no weights"),
        (simulator, "response", "PipelineAgent has no 'response'; sample(env, policy, batchsz) plays dialogues"),
        (made, "usr", "Environment has no 'usr'; the user is env.user, after env.reset()"),
        (made, "user", "Environment has no 'user'; call env.reset() first"),
    ],
)
def test_an_attribute_of_convlab_2_is_answered_with_what_to_write(
    thing: Callable[[], Any], name: str, instead: str
) -> None:
    with pytest.raises(AttributeError, match=f"^{re.escape(instead)}"):
        getattr(thing(), name)


def test_what_is_said_in_place_of_save_and_load_and_of_the_parts_of_an_environment_works(tmp_path: Path) -> None:
    env, first, second = made(), PPO(True), PPO(True, seed=1)
    for policy in (first, second):
        policy.bind(env)
        with pytest.raises(AttributeError, match=r"write numpy\.savez\('policy\.npz', \*\*policy\.weights\(\)\)"):
            policy.save(tmp_path, 0)
        with pytest.raises(AttributeError, match=r"write policy\.set_weights\(dict\(numpy\.load\('policy\.npz'\)\)\)"):
            policy.load("best")
    np.savez(tmp_path / "policy.npz", **first.weights())
    second.set_weights(dict(np.load(tmp_path / "policy.npz")))
    state = env.reset(seed=1)[0]
    assert np.array_equal(first.predict(state), second.predict(state))
    assert env.user
    assert env.tracker
    assert env.evaluator


def test_the_module_is_found_by_every_import() -> None:
    done = forked_program(
        "from joystick import dialog\nimport joystick.dialog\nprint(sorted(dir(dialog))[:2], dialog.PPO)"
    )
    assert done.returncode == 0, done.stderr
    assert "['Act', 'Environment'] <function ppo" in done.stdout

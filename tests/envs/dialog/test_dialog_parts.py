"""A user, tracker, evaluator, NLU and NLG of one's own in dialogues, by settings."""

from pathlib import Path
from typing import Any

import numpy as np
import own_dialog
import pytest

import joystick
from envs.dialog.config import PARTS, Config
from envs.dialog.env import single
from main import main
from tests.tools.dialog import expert, play

TRAIN = ["general_cfg.max_total_step=300", "algo_cfg.batch_size=100", "general_cfg.online_eval=false",
         "general_cfg.save_fig=false", "general_cfg.seed=1"]  # fmt: skip


@pytest.mark.parametrize("kind", ["mini", "town"])
def test_an_own_user_takes_the_place_of_the_simulated_one(kind: str) -> None:
    env = single(Config(id=kind, user={"class_name": "own_dialog:Impatient", "turns": 1}))
    metrics = play(env, expert, 20)
    assert metrics["exchanges"] == 1.0
    assert metrics["complete"] == 0.0
    patient = single(Config(id=kind, user={"class_name": "own_dialog:Impatient", "turns": 99}))
    assert play(patient, expert, 20) == play(single(Config(id=kind)), expert, 20)


def test_a_user_from_scratch_needs_few_methods() -> None:
    env = single(Config(user="own_dialog:Plain"))
    assert play(env, expert, 5)["complete"] == 1.0


def test_a_user_gets_the_settings_that_its_constructor_names() -> None:
    env = single(Config(user="own_dialog:Impatient", max_turn=20, patience=2, max_initiative=1))
    env.reset(seed=0)
    assert (env.user.user.max_turn, env.user.user.patience, env.user.user.max_initiative) == (20, 2, 1)


def test_max_turn_ends_a_dialogue_whatever_the_user_says() -> None:
    env = single(Config(user="own_dialog:Endless", max_turn=8))
    metrics = play(env, lambda env, obs: env.actions.of([env.codec.number[env.codec.system[-1]]]), 3)
    assert metrics["exchanges"] == 4.0
    assert env.user.reason == "max_turn"


def test_an_own_tracker_hears_what_the_user_says() -> None:
    env = single(Config(tracker="own_dialog:Notes"))
    play(env, expert, 1)
    assert env.tracker.count == sum(len(exchange.heard) for exchange in env.transcript)


def test_an_own_evaluator_gives_numbers_and_reward() -> None:
    env = single(Config(evaluator="own_dialog:Silent", reward_scale=0.5))
    metrics = play(env, expert, 10)
    assert env.metrics == ("length",)
    assert set(metrics) == {"return", "length"}
    assert metrics["return"] == metrics["length"]


def test_an_evaluator_that_inherits_keeps_reward_and_numbers_of_ours() -> None:
    env = single(Config(evaluator="own_dialog:Lenient"))
    metrics = play(env, lambda env, obs: env.actions.of([]), 3)
    assert metrics["strict"] == 1.0
    assert metrics["return"] > 0


def test_an_nlu_that_errs_makes_dialogues_longer_and_a_seed_repeats_them() -> None:
    clear, errs = Config(id="town"), Config(id="town", nlu={"class_name": "own_dialog:Erring", "rate": 0.1})
    lengths = [play(single(cfg), expert, 60) for cfg in (clear, errs, errs)]
    assert lengths[1]["success"] < lengths[0]["success"] == 1.0
    assert lengths[1] == lengths[2]


def test_sentences_of_both_sides_leave_a_dialogue_as_it_is() -> None:
    words = {"nlg": "own_dialog:Words", "user_nlu": "own_dialog:Reader", "user_nlg": "own_dialog:Words",
             "nlu": "own_dialog:Reader"}  # fmt: skip
    assert play(single(Config(id="town", **words)), expert, 10) == play(single(Config(id="town")), expert, 10)


def test_without_parts_of_ones_own_a_dialogue_draws_the_same_numbers() -> None:
    deaf = single(Config(nlu="own_dialog:Deaf"))
    plain = single(Config())
    deaf.reset(seed=4)
    plain.reset(seed=4)
    assert deaf.goal == plain.goal
    assert deaf.transcript[0].user == plain.transcript[0].user
    assert deaf.transcript[0].heard == ()


def test_a_run_learns_with_parts_and_a_resume_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = ["env_cfg.user=own_dialog:Impatient", "env_cfg.nlu={class_name: own_dialog:Erring, rate: 0.2}",
             "env_cfg.evaluator=own_dialog:Lenient", "env_cfg.tracker=own_dialog:Notes"]  # fmt: skip
    allow = ["--allow-import", "own_dialog"]
    words = ["--algo", "PPO", "--env", "mini", *allow, *own, *TRAIN, "env_cfg.n_envs=2"]
    assert main([*words, "--into", "whole"]) == 0
    assert main([*words, "--into", "parts", "--pause-at-step", "150"]) == 0
    assert main(["resume", "parts", *allow]) == 0
    parts, whole = (Path(name, "results", "train.csv").read_bytes() for name in ("parts", "whole"))
    assert parts == whole


def test_classes_of_a_program_are_given_as_they_are(tmp_path: Path) -> None:
    class Brief(own_dialog.Impatient):
        turns_of_mine = 1

        def __init__(self, goal: Any, rng: np.random.Generator, **settings: Any) -> None:
            super().__init__(goal, rng, turns=1, **settings)

    env_cfg = {
        "user": Brief,
        "nlu": {"class_name": own_dialog.Erring, "rate": 0.5},
        "vectorization": "async",
        "n_envs": 2,
    }
    with joystick.Run("PPO", "mini", env_name="dialog", env_cfg=env_cfg, into=tmp_path / "run", seed=1,
                      general_cfg={"online_eval": False}, preset=None) as run:  # fmt: skip
        sample = run.sample(20)
    assert (sample.mask == 0).all()


NOT_MADE = [
    ("user=own_dialog:NoRespond", "NoRespond has no method respond; a user has open(), respond(acts) and ended"),
    ("user=own_dialog:NoEnded", "env_cfg.user: NoEnded has no attribute ended"),
    ("user=own_dialog:NoArguments", "NoArguments takes 0 of the arguments it is made with: goal, rng"),
    ("user=own_dialog:Text", "open of Text gives 'hello'; expected a list of acts"),
    ("user=own_dialog:OneAct", "open of OneAct gives Act("),
    ("user=own_dialog:Strings", "open of Strings gives 'inform restaurant' in its list"),
    ("user=own_dialog:Nowhere", "respond of Nowhere gives Act(intent='inform', domain='cinema'"),
    ("user=own_dialog:Number", "respond of Number gives Act(intent='inform', domain='restaurant'"),
    ("user=own_dialog:Hurried", "Hurried has ended after open"),
    ("user=own_dialog:Failing", "IndexError"),
    ("user=own_dialog:Unmade", "OSError: no model"),
    ("user=own_dialog:Erring", "Erring has no method open and no method respond"),
    ("user=own_dialog:Nobody", "module own_dialog has no 'Nobody'"),
    ("user=own_dialog:text", "got text; expected a class or a function"),
    ("user=own_dialog:nothing", "got None; expected a class or a function"),
    ("user=own_dialog:made_wrong", "int has no method open"),
    ("user='own_dialog:'", "has no name after the colon"),
    ("user=own_dialog", "'own_dialog' is not registered"),
    ("user=' '", "is empty; write my_module:MyClass"),
    ("user=3", "got 3; expected text"),
    ("user=[own_dialog:Plain]", 'got ["own_dialog:Plain"]; expected text'),
    ("user={turns: 3}", "has no class_name; write {class_name: my_module:MyClass, argument: value}"),
    ("user={class_name: 3}", "has no class_name"),
    ("user={class_name: own_dialog:Plain, turns: 3}", "Plain: argument turns: unknown"),
    ("user={class_name: own_dialog:Impatient, goal: 3}", "argument goal: each dialogue gives it; leave it out"),
    ("tracker=own_dialog:NoHear", "NoHear has no method hear; a tracker has hear(acts)"),
    ("tracker=own_dialog:NoBelief", "NoBelief has no attribute belief"),
    ("tracker=own_dialog:Plain", "Plain has no method hear"),
    ("evaluator=own_dialog:NoReport", "NoReport has no method report; an evaluator has note(acts)"),
    ("evaluator=own_dialog:NoStrict", "NoStrict has no method strict, which env_cfg.reward task asks"),
    ("evaluator=own_dialog:BadNames", "METRICS is length; expected names of numbers"),
    ("evaluator=own_dialog:BadReward", "reward of BadReward gives 'much'; expected a number"),
    ("nlu=own_dialog:NoPredict", "NoPredict has no method predict; an NLU has predict(what was said)"),
    ("nlu=own_dialog:Sentences", "predict of Sentences gives 'I want food'; expected a list of acts"),
    ("nlu=own_dialog:NeedsModel", "NeedsModel: argument path: is required, and not set"),
    ("nlu=own_dialog:Words", "Words has no method predict"),
    ("nlg=own_dialog:Erring", "Erring has no method generate; an NLG has generate(acts)"),
    ("nlg=own_dialog:Words", "generate of Words gives"),
    ("user_nlg=own_dialog:Words", "nlu makes acts of what is said"),
    ("user_nlu=own_dialog:Words", "Words has no method predict"),
    ("simulator=own_dialog:Plain", "unknown setting"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "sentence"), NOT_MADE, ids=[word for word, _ in NOT_MADE])
def test_what_cannot_be_used_is_a_sentence_and_nothing_is_created(
    word: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--algo", "PPO", "--env", "mini", "--allow-import", "own_dialog", f"env_cfg.{word}", *TRAIN]
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", PARTS)
def test_code_is_imported_with_permission_only(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stranger.py").write_text("raise SystemExit('imported')\n")
    assert main(["--algo", "PPO", "--env", "mini", f"env_cfg.{key}=stranger:Part"]) == 2
    text = f"env_cfg.{key}: imports stranger; to allow it, add --allow-import stranger"
    assert text in capsys.readouterr().err


def test_a_report_that_is_no_mapping_ends_the_run_with_a_sentence() -> None:
    env = single(Config(evaluator="own_dialog:BadReport"))
    with pytest.raises(joystick.EnvError, match="report of BadReport gives 3; expected numbers by name"):
        play(env, expert, 1)

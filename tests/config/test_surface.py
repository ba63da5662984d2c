"""All that a user reads can be read in another language: no sentence of the product is without a call of tr."""

import re
from fnmatch import fnmatch

import pytest

from tests.tools import surface

EXCEPTIONS = (
    ("*", r"pip install .*", "a command"),
    ("*", r"(from \S+ )?import .*", "Python code"),
    ("*", r".*default-src 'none'.*", "a policy for browsers"),
    ("algos/common/fast/program.py", r"product\(.*", "the signature of an operator"),
    ("algos/common/fast/compiled_steps.py", r"#include .*", "C++ code"),
    ("algos/common/fast/switch.py", r"torch has no \{\}|a trial call .*|off: all parts .*", "facts, reworded later"),
    ("algos/common/fast/switch.py", r"this torch was built without .*", "an answer of a trial call, reworded later"),
    ("config/foreign/*.py", r"general_cfg and algo_cfg|of other libraries too|Experiments in a file", "keys of tables"),
    ("config/foreign/table.py", "it is off", "a key, whose sentence is in the tables"),
    ("config/foreign/vocabularies.py", r"Stable-Baselines3, .*", "names of libraries"),
    ("algos/common/fast/*.py", r".* gives \{\}.*", "an answer of torch that is not the right one"),
    ("config/program.py", r"python main\.py", "a command"),
    ("config/read/*_config.py", r"# Return \{\} is expected\.\n?", "a line of preset files that is read again"),
    ("config/read/yaml_reader.py", ".*", "words of PyYAML"),
    ("config/tell/describe.py", r"(list|describe) .*", "commands"),
    ("config/read/tuning.py", r"# (Repeats|Goes on with) this tuning: .*\n", "a line of a file"),
    ("envs/common/r*.py", r"\.\*.*", "words of Gymnasium"),
    ("envs/dialog/*.py", ".*", "what the speakers of a dialogue say, and its vocabulary"),
    ("framework/assemble/expert.py", r"\{\} has no values", "an error for programmers"),
    ("framework/assemble/needs.py", "expert of its own", "a key"),
    ("framework/commands/*.py", r"(cluster|compare|convert|export|list|pull|push) .*", "commands"),
    ("config/own/extras.py", r"onnx onnxscript .*|export --to onnx", "packages and a command"),
    (
        "framework/commands/work/slurm.py",
        r"(newest\(\)|address=)[\s\S]*",
        "a script; its sentences are put in",
    ),
    ("framework/commands/work/film.py", r"filmed episode \{\} of \{\}", "an outcome in run.json, shown by outcome.py"),
    ("framework/commands/work/train.py", r"trained; the environment .*", "an outcome in run.json, shown by outcome.py"),
    ("framework/dialog/environment.py", r"Environment\(.*", "Python code"),
    ("framework/disk/checkpoints.py", r".* cannot be saved|unknown kind of value: \{\}", "errors for programmers"),
    ("framework/disk/csv_log.py", r"\{\} has no column \{\}", "an error for programmers"),
    ("framework/disk/notes.py", r"a tag is a line .*", "a reason that is replaced by a sentence about all tags"),
    ("framework/disk/task_dir.py", "closed by the program|paused at step", "outcomes in run.json, shown by outcome.py"),
    ("framework/distributed/ray_errors.py", "node has died", "words of Ray"),
    ("framework/export/example.py", ".*", "Python code"),
    ("framework/jobs/functions.py", r"joystick\.tune\(.*", "Python code"),
    ("framework/jobs/functions.py", "the function has returned", "an outcome in run.json, shown by outcome.py"),
    ("framework/jobs/group.py", r"general_cfg\.mp_backend=ray .*", "settings"),
    ("framework/loop/trainer.py", r"\{\} is (not|neither) a number.*", "a reason why a checkpoint counts as damaged"),
    ("framework/memory/offline_replay.py", "memory/held out", "the name of a stream of random numbers"),
    ("framework/pages/cell.py", r"text \{.*", "a style sheet"),
    ("framework/pages/figures.py", "outside lower center", "a place, for matplotlib"),
    ("framework/storage/store.py", "Protocol not known|bucket does not exist", "words of fsspec and of S3"),
    ("framework/record/trackio_logger.py", r"SELECT .*", "SQL"),
    ("framework/sharing/card.py", r"\{\} (pull|film|test|--yaml) .*", "commands"),
    ("framework/*.js", r"Bearer \{\}|Escape", "a header of HTTP; the name of a key"),
    ("joystick.py", r"joystick has a package .*", "an error in whose place nothing of ours can be imported"),
)
"""File, pattern of whole texts in it, and why they are not translated."""


def excepted(file: str, text: str) -> set[int]:
    """Returns the places of the exceptions that a text is one of."""
    return {
        place
        for place, (files, pattern, _) in enumerate(EXCEPTIONS)
        if fnmatch(file, files) and re.fullmatch(pattern, text, re.DOTALL)
    }


def test_every_sentence_can_be_translated():
    found = [(file, text, excepted(file, text)) for file, text in surface.unwrapped()]
    assert [f"{file}: {text}" for file, text, reasons in found if not reasons] == []
    needless = set(range(len(EXCEPTIONS))).difference(*(reasons for _, _, reasons in found))
    assert [EXCEPTIONS[place] for place in needless] == []


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("raise JoystickError('there is no such run')", []),
        ("raise JoystickError(f'{name} is no run of ours')", ["{} is no run of ours"]),
        ("raise ValueError('there is no such run')", ["there is no such run"]),
        ("name = f'a {tr(1)} of {f(2, \"it is not there\")}'", ["it is not there"]),
        ("text = f'{count} runs have failed today'", ["{} runs have failed today"]),
        ("tr('one of {what}', what='these three words')", ["these three words"]),
        ("with stage('waiting'): pass", ["waiting"]),
        ("with stage(english('waiting')): pass", []),
        ("console.note('<b>it was not saved</b>')", ["<b>it was not saved</b>"]),
        ("def f():\n    'Returns what is there.'\n    return re.compile('these three words')", []),
        ("'algo_cfg.replay_ratio', 'two words'", []),
    ],
)
def test_sentence_without_a_call_is_found_in_python(code, texts):
    assert list(surface.of_python(code)) == texts


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        ('tell("Tags are saved.");', ["Tags are saved."]),
        ('tell(tr("Tags are saved.")); // This is no text.', []),
        ('tell(`${count} runs are left`);', ["{} runs are left"]),
        ('make("button", { class: "button first narrow" }, "Save")', ["Save"]),
        ('make("button", {}, tr("Save {name}", { name: "Not this one" }))', ["Not this one"]),
        ('link.rel = "x"; url = "http://a"; /* Some text, "quoted". */', []),
    ],
)  # fmt: skip
def test_sentence_without_a_call_is_found_in_scripts(script, texts):
    assert list(surface.of_script(script)) == texts


def test_sentence_without_a_call_is_found_in_the_page():
    page = (
        '<title>tr("Runs")</title><p class="no text">Hello</p><nav aria-label="tr("Runs")"><i title="A name"></i></nav>'
    )
    assert list(surface.of_page(page)) == ["Hello", "A name"]

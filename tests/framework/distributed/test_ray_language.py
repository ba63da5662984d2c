"""The language of the driver in Ray's processes."""

import os
import subprocess
import sys

import pytest

from config.program import ROOT

CODE = """if True:
    import os
    from pathlib import Path
    from framework.distributed import ray_cluster
    with ray_cluster.inherited(ray_cluster._environment(Path("x"))):
        print(os.environ["JOYSTICK_LANG"], ray_cluster.THERE["JOYSTICK_LANG"])
    """


@pytest.mark.parametrize(
    ("variables", "letters"),
    [
        ({"JOYSTICK_LANG": "zh"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "", "LC_MESSAGES": ""}, "zh"),
        ({"JOYSTICK_LANG": "en", "LANG": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_workers_here_and_in_a_cluster_get_the_language_of_the_driver(variables, letters):
    env = {name: value for name, value in os.environ.items() if name != "JOYSTICK_LANG"} | variables
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, env=env | {"PYTHONIOENCODING": "utf-8"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.split() == [letters, letters]

"""The language of the driver in Ray's processes."""

import pytest

from tests.tools.process import forked_program

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
def test_workers_here_and_in_a_cluster_get_the_language_of_the_driver(variables, letters, monkeypatch):
    monkeypatch.delenv("JOYSTICK_LANG", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = forked_program(CODE, "framework", "config")
    assert done.stdout.split() == [letters, letters], done.stderr

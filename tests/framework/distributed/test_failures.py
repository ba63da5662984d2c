"""What a person is told of an error that a process of Ray's raised."""

import threading

import pytest

from framework.distributed.ray_errors import begun, raised, reason, who_died
from framework.errors import JoystickError, NumericsError
from framework.loop.backend import Lost
from tests.tools.fake_ray import FakeRay, ObjectLostError, RayActorError, RayError, RayTaskError

CUDA = "CUDA error: out of memory\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with assertions.\n"


class ActorDiedError(RayActorError):
    """Of an actor that could not be made: Ray gives the traceback as text, and no cause."""

    def __init__(self, lines: str) -> None:
        super().__init__(
            "The actor died because of an error raised in its creation task, \x1b[36mray::Worker.__init__()\x1b[39m "
            f'(pid=7)\n  File "/a/worker.py", line 50, in __init__\n    self.env = make()\n{lines}'
        )
        self.actor_init_failed = True


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (RuntimeError(CUDA), "RuntimeError: CUDA error: out of memory"),
        (ValueError("\n  bad\nand more"), "ValueError: bad"),
        (KeyError("x"), "KeyError: 'x'"),
        (AssertionError(), "AssertionError"),
        (NumericsError("loss is nan\nat update 3"), "loss is nan"),
    ],
)
def test_a_reason_is_the_type_and_the_first_line_and_ours_speak_for_themselves(cause, said):
    assert reason(RayTaskError(cause)) == said


def test_a_reason_ends_with_the_last_line_of_the_user(tmp_path):
    (tmp_path / "agent.py").write_text("")

    class Told(RayTaskError):
        def __str__(self):
            theirs = "".join(f'  File "{tmp_path / "agent.py"}", line {line}, in update\n    ...\n' for line in (9, 7))
            return f'ray::Learner()\n{theirs}  File "{pytest.__file__}", line 3, in backward\n    ...\nKeyError: 1'

    assert reason(Told(KeyError("x"))) == "KeyError: 'x' at agent.py:7"
    assert reason(Told(NumericsError("loss is nan"))) == "loss is nan"


@pytest.mark.parametrize(
    ("raised_last", "said"),
    [
        (f"RuntimeError: {CUDA}", "RuntimeError: CUDA error: out of memory"),
        ("    ^^^^^^\ntorch.OutOfMemoryError: CUDA out of memory.\n  Tried", "OutOfMemoryError: CUDA out of memory."),
        ("framework.errors.JoystickError: too little room", "too little room"),
        ("AssertionError", "AssertionError"),
    ],
)
def test_a_process_that_cannot_be_made_has_a_reason_of_the_same_form(raised_last, said):
    assert reason(ActorDiedError(raised_last)) == said


def test_what_is_lost_is_not_taken_for_an_error_of_our_code():
    kinds = FakeRay.exceptions
    for error in (ObjectLostError(), RayTaskError(ObjectLostError()), RayTaskError(RayActorError("gone"))):
        with pytest.raises(Lost):
            raised(kinds, error)
    mistake = ValueError("mine")
    assert raised(kinds, RayTaskError(mistake)) is mistake
    unpicklable = RayError("Exception mine.Broken isn't serializable")
    assert raised(kinds, RayTaskError(unpicklable)) is unpicklable


def test_who_died_is_named_where_ray_knows():
    assert who_died(RayActorError("gone\n\tclass_name: DataServer\n\tpid: 3")) == "the data server"
    assert who_died(RayActorError("gone")) == "a learner or the data server"


def test_a_package_that_only_the_driver_has_is_an_error_with_advice():
    ray = FakeRay()
    actor = ray.remote()(Importing).remote()
    with pytest.raises(JoystickError, match=r"a worker cannot start: .*must be installed on every machine"):
        begun(ray, actor.pid.remote(), "a worker", lambda: False)


class Importing:
    """Its environment is not there."""

    def pid(self):
        raise ModuleNotFoundError("No module named 'mine'")


def test_ray_itself_wraps_what_is_lost_in_an_error_that_is_of_both_kinds():
    """A worker that was given the weights of a learner that has died is not dead itself."""
    kinds = pytest.importorskip("ray.exceptions")

    def of_task(cause):
        return kinds.RayTaskError("collect", "a traceback", cause, "ray::Worker", 7, "127.0.0.1").as_instanceof_cause()

    lost = of_task(kinds.ObjectReconstructionFailedError("f" * 56, None, "", "node"))
    assert isinstance(lost, kinds.ObjectLostError)
    with pytest.raises(Lost, match=r"what a process has made is lost \(ObjectReconstructionFailedError\)"):
        raised(kinds, lost)
    died = of_task(kinds.RayActorError("7", "The actor died\n\tclass_name: LearnerActor"))
    assert isinstance(died, kinds.RayActorError)
    with pytest.raises(Lost, match=r"a learner died"):
        raised(kinds, died)
    unpicklable = of_task(ValueError(threading.Lock()))
    assert raised(kinds, unpicklable) is unpicklable.cause

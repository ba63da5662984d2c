"""A process that has no memory left says so in a line."""

import errno
import re
import subprocess
import sys

import pytest

from config.program import ROOT
from framework.commands.work import entry
from framework.errors import MISTAKE, TaskDirError, of_machine, passes, without_memory

LIMITED = """
import os, resource, sys
import main
from framework.commands.work import entry

def limited(work):
    def within_little_more_memory(*words):
        pages = int(open("/proc/self/statm").read().split()[0])
        size = pages * os.sysconf("SC_PAGE_SIZE") + 2**22
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        return work(*words)
    return within_little_more_memory

entry.check = limited(entry.check)
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of memory")
def test_four_mebibytes_are_too_few_for_a_thread_and_that_is_a_sentence(tmp_path):
    words = ("general_cfg.env_name=toy", "env_cfg.id=shifted", "--into", str(tmp_path / "run"))
    done = subprocess.run([sys.executable, "-c", LIMITED, *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert re.search(r"^error: no memory is left: .*\. Free some, raise the limit", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "no memory is left: MemoryError. Free"),
        (RuntimeError("can't start new thread"), "no memory is left: can't start new thread. Free"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you"), "no memory is left: [enforce"),
        (ImportError("libtorch.so: failed to map segment from shared object"), "no memory is left: libtorch.so"),
        (RuntimeError("CUDA out of memory. Tried 2 GiB.\nSee"), "CUDA out of memory. Tried 2 GiB. Free"),
    ],
)  # fmt: skip
def test_each_way_to_say_it_is_known_and_keeps_its_note(error, said, capsys):
    error.add_note("to resume: python main.py resume run")
    assert entry.guarded(lambda: (_ for _ in ()).throw(error)) == MISTAKE
    first, second = capsys.readouterr().err.splitlines()
    assert said in first
    assert first.startswith("error: no memory is left: ")
    assert second == "to resume: python main.py resume run"


def test_another_error_of_the_same_class_is_not_taken_for_it():
    mistake = RuntimeError("dictionary changed size during iteration")
    assert without_memory(mistake) is None
    with pytest.raises(RuntimeError, match="changed size"):
        entry.guarded(lambda: (_ for _ in ()).throw(mistake))


def caused(cause: OSError) -> TaskDirError:
    error = TaskDirError("cannot write")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "machine", "passing"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True, True),
        (caused(OSError(errno.ENOSPC, "No space left on device")), True, True),
        (caused(OSError(errno.EACCES, "Permission denied")), False, False),
        (OSError(errno.ENOENT, "No such file or directory"), False, False),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True, False),
        (MemoryError(), True, False),
        (TaskDirError("it exists"), False, False),
    ],
)
def test_a_full_disk_passes_and_a_lack_of_memory_may_be_that_of_the_settings(
    error: BaseException, machine: bool, passing: bool
) -> None:
    assert (of_machine(error), passes(error)) == (machine, passing)

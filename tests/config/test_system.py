"""What differs between operating systems: done in another way where it can be, and asked for in one room alone."""

import ast
import ctypes
import errno
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from config.own.envs import OwnEnvError, class_name
from config.read.yaml_reader import DocumentError, read
from config.system import files, name, processes, terminal
from config.tell.system_errors import refusal
from framework.archive.members import file_names
from framework.disk import atomic, task_dir
from framework.distributed import reaper
from framework.jobs import processes as left
from framework.jobs.stages import Stage
from framework.screen import terminal as screen

ROOT = Path(__file__).parents[2]
ONLY_SOME = re.compile(
    r"\b(fcntl|grp|msvcrt|pty|pwd|resource|termios|tty|winreg)\b|\bos\.(name|uname|fork|forkpty|getuid|geteuid|getpgid|"
    r"killpg|setpgid|setsid|nice|pidfd_open|register_at_fork|sched_\w+|sysconf|statvfs|getloadavg|mkfifo|openpty|symlink|"
    r"O_NOFOLLOW|O_NONBLOCK|O_DIRECTORY|pread|pwrite)\b|\bsys\.platform\b|\bplatform\.system\b|\bstart_new_session\b|"
    r"\bsignal\.(SIGHUP|SIGKILL|SIGUSR\d|SIGALRM|SIGQUIT|SIGPIPE|SIGCHLD|alarm|setitimer|pthread_\w+|pidfd_\w+)\b"
)
"""What not all systems have, in code."""
ASKING = {
    "config/machine.py": "cores and memory, as Linux and macOS tell of them",
    "framework/distributed/reaper.py": "imports nothing of ours; see DETACHED and the end of the file",
    "framework/jobs/functions.py": "the process of a call, which is refused where processes do not fork",
    "framework/live/lock_holders.py": "chooses among ways, and says where there is none",
}
"""Modules outside of config/system that ask, and for what."""


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The room takes this system for Windows."""
    monkeypatch.setattr(name, "NAME", "win32")


@pytest.fixture
def unix(monkeypatch: pytest.MonkeyPatch) -> None:
    """The room takes this system for Linux."""
    monkeypatch.setattr(name, "NAME", "linux")


def code_of(path: Path) -> str:
    """Returns the code of a module without its texts and comments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.unparse(tree)


def asks(path: Path) -> bool:
    """Returns True for a module whose code asks for what not all systems have; most do not even in a text."""
    return bool(ONLY_SOME.search(path.read_text(encoding="utf-8")) and ONLY_SOME.search(code_of(path)))


def test_no_other_module_asks_for_what_only_some_systems_have() -> None:
    product = [path for package in ("config", "algos", "envs", "framework") for path in (ROOT / package).rglob("*.py")]
    outside = [path for path in product if path.parent != ROOT / "config" / "system"]
    assert {path.relative_to(ROOT).as_posix() for path in outside if asks(path)} == ASKING.keys()


@pytest.mark.parametrize(
    ("code", "is_one"),
    [("os.fork()", True), ("import fcntl", True), ("x = 'os.fork()'", False), ("os.getpid()", False),
     ("signal.SIGHUP", True), ("signal.SIGINT", False), ("tty_columns", False)],
)  # fmt: skip
def test_a_module_that_asks_is_noticed(code: str, is_one: bool, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(code, encoding="utf-8")
    assert asks(tmp_path / "a.py") == is_one


# ----------------------------------------------------------------------------------------------------- shells


def words_of(command: str) -> list[str]:
    """Returns the words of a command as programs of Windows read them: 2n backslashes and a quote are n backslashes and
    the end of a part, 2n+1 of them n backslashes and a quote."""
    words, word, inside, at = [], "", False, 0
    while at < len(command):
        slashes = len(command) - at - len(command[at:].lstrip("\\"))
        at += slashes
        following = command[at : at + 1]
        if following == '"':
            word += "\\" * (slashes // 2) + ('"' if slashes % 2 else "")
            inside ^= not slashes % 2
        else:
            word += "\\" * slashes
            if following == " " and not inside:
                words, word = [*words, word], ""
            else:
                word += following
        at += 1
    return [*words, word]


WORDS = (
    "plain",
    r"C:\runs\a b",
    "C:\\runs\\",
    'say "yes"',
    '\\"',
    "algo_cfg.lr=[1, 2]",
    "中文 目录",
    "",
    "a&b",
    "50%,x",
)


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_a_command_is_the_same_word_for_programs_of_windows(word: str, windows: None) -> None:
    assert words_of(terminal.joined(["x", word, "y"])) == ["x", word, "y"]
    assert "'" not in terminal.quoted(word), "cmd takes it for a letter"


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_a_command_is_the_same_word_for_other_shells(word: str, unix: None) -> None:
    assert shlex.split(terminal.joined(["x", word, "y"])) == ["x", word, "y"]


def test_plain_words_stay_as_they_are(windows: None) -> None:
    assert terminal.joined(["--yaml", r"C:\runs\a.yaml", "seed=1"]) == r"--yaml C:\runs\a.yaml seed=1"
    assert terminal.joined(["a,b", "{a: 1}"]) == '"a,b" "{a: 1}"'


def test_a_variable_is_set_as_the_shell_does(windows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal.variable("A", "b") == 'set A=b (PowerShell: $env:A = "b")'
    monkeypatch.setattr(name, "NAME", "darwin")
    assert terminal.variable("A", "b") == "export A=b"


# ----------------------------------------------------------------------------------------------------- terminals


class Console:
    """kernel32 with a console that obeys escape sequences once it is asked to, or never."""

    def __init__(self, can: bool, is_one: bool = True) -> None:
        self.mode, self.can, self.is_one = 3, can, is_one

    def GetConsoleMode(self, handle: ctypes.c_void_p, mode: object) -> int:
        assert handle.value == 77
        ctypes.cast(mode, ctypes.POINTER(ctypes.c_uint32))[0] = self.mode  # type: ignore[arg-type]
        return int(self.is_one)

    def SetConsoleMode(self, handle: ctypes.c_void_p, mode: ctypes.c_uint32) -> int:
        self.mode = mode.value if self.can else self.mode
        return int(self.can)


@pytest.mark.parametrize(("can", "is_one"), [(True, True), (False, True), (True, False)])
def test_a_console_is_asked_to_obey_escape_sequences(
    can: bool, is_one: bool, windows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Console(can, is_one)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(get_osfhandle=lambda descriptor: 77))
    monkeypatch.delenv("TERM", raising=False)
    assert terminal.obeys_escapes(SimpleNamespace(fileno=lambda: 1)) == (can and is_one)
    assert kernel.mode == (7 if can and is_one else 3)


def test_a_console_without_windows_is_none(windows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TERM", raising=False)
    assert not terminal.obeys_escapes(SimpleNamespace(fileno=lambda: 1)), "there is no kernel32"


def test_what_a_signal_prints_has_the_encoding_of_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """A console of Chinese Windows has GBK; bytes of UTF-8 would be other characters there."""
    written: list[bytes] = []
    monkeypatch.setattr(os, "device_encoding", lambda descriptor: "gbk")
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(fileno=lambda: 2))
    monkeypatch.setattr(os, "write", lambda descriptor, data: written.append(data))
    screen.announce("保存")
    monkeypatch.undo()
    assert written == ["\n保存\n".encode("gbk")]


def test_letters_that_a_console_lacks_become_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "device_encoding", lambda descriptor: "gbk")
    assert terminal.bytes_for(2, "保存 \N{SNOWMAN}") == "保存 ?".encode("gbk")
    monkeypatch.setattr(os, "device_encoding", lambda descriptor: None)
    assert terminal.bytes_for(2, "保") == "保".encode(sys.stderr.encoding or "utf-8", "replace")


# --------------------------------------------------------------------------------------------------------- files


def test_a_name_that_another_program_uses_is_tried_again(
    tmp_path: Path, windows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, tries = os.replace, iter([True, True, False])

    def taken(*paths: Path) -> None:
        if next(tries):
            raise PermissionError(errno.EACCES, "in use")
        replace(*paths)

    monkeypatch.setattr(os, "replace", taken)
    monkeypatch.setattr(files, "_PAUSE", 0)
    atomic.write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    monkeypatch.setattr(files, "PATIENCE", 0)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(PermissionError("in use")))
    with pytest.raises(PermissionError):
        atomic.write_whole(tmp_path / "a", b"newer")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_elsewhere_a_refusal_is_final(tmp_path: Path, unix: None) -> None:
    tries: list[Path] = []
    with pytest.raises(PermissionError):
        files.patiently(lambda *paths: (tries.extend(paths), (_ for _ in ()).throw(PermissionError()))[0], tmp_path)
    assert tries == [tmp_path]


def test_a_limit_of_open_files_is_not_said_to_be_of_a_file_that_is_written() -> None:
    assert refusal(OSError(errno.EMFILE, "Too many open files")) == "Too many open files"
    assert refusal(OSError(errno.ENOSPC, "No space left on device")) == "writing: No space left on device"


class Msvcrt:
    """Locks of Windows: a range of bytes of a file, until the one that holds it closes it. Here there is one file."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: set[int] = set()

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        assert (mode, count) == (2, 1)
        assert place > 10**9, "others could not read what is locked"
        if place in self.held:
            raise PermissionError(errno.EACCES, "Permission denied")
        self.held.add(place)


def test_a_folder_is_locked_where_there_is_only_msvcrt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
    monkeypatch.setattr(task_dir, "LOOK_SECONDS", 0)
    (tmp_path / ".lock").write_text("ab", encoding="ascii")
    assert not task_dir.is_locked(tmp_path / "absent")
    held = task_dir.held_lock(tmp_path)
    assert held is not None
    assert held.tell() == 2, "a process that inherits the file would write far behind its end"
    assert task_dir.is_locked(tmp_path)
    assert task_dir.held_lock(tmp_path) is None


def test_without_any_locks_nothing_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    first, second = task_dir.held_lock(tmp_path), task_dir.held_lock(tmp_path)
    assert first is not None
    assert second is not None
    assert not task_dir.is_locked(tmp_path)


def test_a_file_is_no_link_where_open_cannot_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no flag for it."""
    (tmp_path / "a").write_bytes(b"1")
    os.symlink(tmp_path / "a", tmp_path / "b")
    monkeypatch.setattr(files, "NO_LINK", 0)
    monkeypatch.setattr("config.read.opening.NO_LINK", 0)
    from config.read.opening import read_regular

    assert read_regular(tmp_path / "a", 10) == b"1"
    with pytest.raises(OSError, match="is a link"):
        read_regular(tmp_path / "b", 10)


def test_the_name_of_a_run_is_one_on_every_system(tmp_path: Path) -> None:
    folder = task_dir.new_folder("train", r'C:\a/b:c*?"<>|', "DQN", start=tmp_path)
    assert folder.parent == tmp_path / "tasks"
    assert not set(folder.name) & set('\\/:*?"<>|')


def test_a_drive_is_not_the_name_of_a_module() -> None:
    with pytest.raises(OwnEnvError, match="go to the folder of the file"):
        class_name(r"C:\envs\mine.py:Mine")
    assert class_name(r"envs\mine.py:Mine") == "envs.mine:Mine"
    assert class_name("mine:Mine") == "mine:Mine"


def test_a_process_that_is_left_behind_is_known_by_its_own_lock(tmp_path: Path, windows: None) -> None:
    """On Windows it has not inherited the lock of its stderr."""
    stage = Stage("1", "1", tmp_path / "1.yaml", tmp_path / "1")
    stage.task.mkdir()
    assert not left.is_locked(stage)
    lock = task_dir.held_lock(stage.task)
    assert lock is not None
    assert left.is_locked(stage)
    lock.close()
    assert not left.is_locked(stage)


def test_no_experiment_has_the_name_of_a_device() -> None:
    """aux.yaml would be a serial port."""
    assert file_names(["AUX", "aux", "auxiliary", "com1", "a:b"]) == ["AUX_", "aux__2", "auxiliary", "com1_", "a-b"]


def test_a_path_between_double_quotes_is_explained(tmp_path: Path) -> None:
    for text in ('path: "C:\\Users\\me"', 'path: "D:\\my"'):
        (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(DocumentError, match="a path with /, or between single quotes"):
            read(tmp_path / "a.yaml")
    (tmp_path / "a.yaml").write_text(r"path: 'C:\Users\me'".replace("\\\\", "\\"), encoding="utf-8")
    assert read(tmp_path / "a.yaml").value == {"path": r"C:\Users\me"}


def test_files_of_powershell_and_of_the_editor_of_windows_are_read(tmp_path: Path) -> None:
    """Its `>` writes UTF-16, the editor a byte order mark, and both write CR and LF."""
    text = "general_cfg:\r\n  seed: 3  # 中文\r\n"
    for encoding in ("utf-16", "utf-8-sig", "utf-8"):
        (tmp_path / "a.yaml").write_bytes(text.encode(encoding))
        assert read(tmp_path / "a.yaml").value == {"general_cfg": {"seed": 3}}


# ----------------------------------------------------------------------------------------------------- processes


class Sent:
    """A process that notes what it is sent."""

    def __init__(self) -> None:
        self.signals: list[int] = []

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


def test_a_process_is_interrupted_by_what_its_system_has(windows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "CTRL_BREAK_EVENT", 1, raising=False)
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x200, raising=False)
    process = Sent()
    processes.interrupt(process, signal.SIGINT)
    assert process.signals == [1], "any other number ends it at once"
    assert processes.out_of_reach() == processes.out_of_reach(detached=True) == {"creationflags": 0x200}
    monkeypatch.setattr(name, "NAME", "darwin")
    processes.interrupt(process, signal.SIGTERM)
    assert process.signals == [1, signal.SIGTERM]
    assert processes.out_of_reach() == {"process_group": 0}
    assert processes.out_of_reach(detached=True) == {"start_new_session": True}


SPAWN = """
import multiprocessing, sys
multiprocessing.set_start_method("spawn")
print("begins")
import gymnasium
import joystick

class Mine(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.time = 0
        return 0, {}

    def step(self, action):
        self.time += 1
        return action, 1.0, self.time == 5, False, {}

joystick.register("Mine", Mine)
short = {"online_eval_episode": 1, "save_fig": False}  # an evaluation has a row for each episode
rows = {"n_envs": 2, "vectorization": "async"}
with joystick.Run("QLearning", "Mine", general_cfg=short, env_cfg=rows, into="run") as run:
    print(run.train(20)["return_mean"])
print(sys.modules["__main__"].__file__)
"""


def test_a_program_without_a_guard_trains_once_where_processes_do_not_fork(tmp_path: Path) -> None:
    """Its rows have processes of their own, which would run its main file again."""
    (tmp_path / "program.py").write_text(SPAWN, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert (lines[0], lines.count("begins")) == ("begins", 1), done.stdout
    assert "5.0" in lines
    assert lines[-1].endswith("program.py")


@pytest.mark.skipif(sys.platform == "win32", reason="there Ray ends them itself")
def test_processes_of_ray_are_found_where_there_is_no_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the folder in their command line, as on macOS."""
    monkeypatch.setattr(reaper, "PROC", tmp_path / "absent")
    command = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert reaper.workers_of(str(tmp_path)) == [process.pid]
        reaper.end(str(tmp_path))
        assert process.wait(10) == -signal.SIGKILL
    assert not tmp_path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there the compilers go on")
def test_a_process_that_makes_a_package_ends_with_its_input_and_so_do_its_compilers() -> None:
    code = """import subprocess, sys, threading
from algos.common.fast import program
threading.Thread(target=program._end_with_the_input, daemon=True).start()
with subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]): pass"""
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **streams, **processes.out_of_reach(detached=True)) as process:
        process.stdout.readline()
        process.stdin.close()
        assert process.wait(10) == -signal.SIGKILL
        assert process.stdout.read() == b"", "its child, which has the same output, is gone too"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing can be tried in a process of its own")
def test_what_would_end_this_process_is_tried_in_another_one(capfd: pytest.CaptureFixture[str]) -> None:
    assert processes.survives(lambda: None)
    assert processes.survives(lambda: 1 / 0), "an exception can be caught here, too"
    assert not processes.survives(lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert capfd.readouterr() == ("", "")

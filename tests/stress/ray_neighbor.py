"""Looks at a run with Ray as another user of the same machine does: ports, tokens, folders, shared memory, processes.

python -m tests.stress.ray_neighbor      (as root, which can become the user nobody)

Each line is a question and the answer that this user gets; the exit status is 1 if one of them is too much.
"""

import contextlib
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.stress.counts import record

ROOT = Path(__file__).resolve().parents[2]
WORDS = [
    "--algo", "PPO", "general_cfg.mp_backend=ray", "general_cfg.env_name=toy", "env_cfg.id=sleep",
    "env_cfg.seconds=0.01", "general_cfg.save_fig=false", "general_cfg.max_total_step=1000000",
]  # fmt: skip
PATIENCE = 300


def as_nobody(work: Callable[[], str], before: Callable[[], None] = lambda: None) -> str:
    """Returns what the user nobody gets: the text of some work, or the name of its error. before: what the process does
    before it becomes that user."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        before()
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
        try:
            text = work()
        except OSError as error:
            text = f"refused: {error.strerror}"
        os.write(theirs, text.encode()[:4000])
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


def processes(session: int) -> list[int]:
    """Returns the processes of a run and of its Ray."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            text = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
            if f"MARK={session}".encode() in text:
                found.append(int(path.name))
    return found


def listening(pids: list[int]) -> list[tuple[str, int]]:
    """Returns the addresses at which processes listen."""
    inodes = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            with contextlib.suppress(OSError):
                if match := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link)):
                    inodes.add(match[1])
    addresses = []
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == "0A" and cells[9] in inodes:
                host, port = cells[1].split(":")
                raw = bytes.fromhex(host)
                parts = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
                kind = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
                addresses.append((socket.inet_ntop(kind, parts), int(port, 16)))
    return sorted(set(addresses))


def questions(pids: list[int], folder: Path, token: str) -> Iterator[tuple[str, str, bool]]:
    """Yields what is asked, the answer, and True if it may be so."""
    addresses = listening(pids)
    outside = [host for host, _ in addresses if not (host.startswith("127.") or host in ("::1", "::ffff:127.0.0.1"))]
    yield f"which of {len(addresses)} ports are not on the loopback address?", ", ".join(outside) or "none", not outside
    answer = as_nobody(lambda: ", ".join(os.listdir(folder)) or "empty")
    yield "what is in the temporary folder of Ray?", answer, answer.startswith("refused")
    answer = as_nobody(lambda: str((folder / "r" / "mine").write_text("x")))
    yield "can a file be put into it?", answer, answer.startswith("refused")
    answers = [as_nobody(lambda pid=pid: Path(f"/proc/{pid}/environ").read_text()[:50]) for pid in pids]
    yield (
        f"can the environment of its {len(pids)} processes, with the token, be read?",
        ", ".join(sorted(set(answers))),
        all(answer.startswith("refused") or not answer for answer in answers),
    )
    lines = "\n".join(as_nobody(lambda pid=pid: Path(f"/proc/{pid}/cmdline").read_text()) for pid in pids)
    yield "is the token in their command lines, which everybody sees?", str(token in lines), token not in lines
    maps = {
        match[1]
        for pid in pids
        for match in re.finditer(r"(/dev/shm/\S+)", Path(f"/proc/{pid}/maps").read_text())
        if Path(match[1]).exists()
    }

    def begin(name: str) -> str:
        with open(name, "rb") as file:
            return str(len(file.read(1)))

    opened = [name for name in maps if not as_nobody(lambda name=name: begin(name)).startswith("refused")]
    yield f"which of {len(maps)} files in shared memory can be read?", ", ".join(opened) or "none", not opened
    ports = sorted({int(port) for port in re.findall(r"--gcs[-_]address=127\.0\.0\.1:(\d+)", lines)})
    for what, allowed, environment in (
        ("without a token", False, {"RAY_AUTH_MODE": "disabled"}),
        ("with a token of its own", False, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}),
        ("with the token of the run", True, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}),
    ):
        answer = keys_of_ray(ports[0], environment)
        yield f"what does Ray tell a program of another user {what}?", answer, allowed == answer.startswith("keys")


def keys_of_ray(port: int, environment: dict[str, str]) -> str:
    """Returns what Ray's store of names and addresses answers another user."""

    def before() -> None:
        os.environ.update(environment)
        import ray  # noqa: F401  # which this user cannot read

    def work() -> str:
        from ray._raylet import GcsClient

        try:
            return f"keys: {len(GcsClient(address=f'127.0.0.1:{port}').internal_kv_keys(b'', None, timeout=20))}"
        except Exception as error:
            return f"refused: {' '.join(str(error).split())[:120]}"

    return as_nobody(work, before)


def main() -> int:
    if os.getuid():
        print("only root can become another user", file=sys.stderr)
        return 2
    mark = os.getpid()
    with tempfile.TemporaryDirectory() as place:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "main.py"), *WORDS, "--into", f"{place}/run"],
            env={**os.environ, "MARK": str(mark)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        lost = tried = 0
        try:
            until = time.monotonic() + PATIENCE
            table = Path(place) / "run" / "results" / "train.csv"
            while not table.exists() or len(table.read_text().splitlines()) < 3:
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < until, "it has not begun to train"
                time.sleep(0.5)
            pids = processes(mark)
            lines = " ".join(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in pids)
            folder = Path(re.findall(r"(/\S*joystick-[^/\s]+)/r", lines)[0])
            environment = Path(f"/proc/{pids[-1]}/environ").read_text().split("\0")
            token = next((word.partition("=")[2] for word in environment if word.startswith("RAY_AUTH_TOKEN=")), "-")
            for question, answer, good in questions(pids, folder, token):
                tried, lost = tried + 1, lost + (not good)
                print(f"{'good' if good else 'BAD '}  {question} {answer}", flush=True)
        finally:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=120)
            process.kill()
    record("ray_neighbor", tried, lost)
    return 1 if lost or not tried else 0


if __name__ == "__main__":
    sys.exit(main())

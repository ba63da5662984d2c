"""Task directories as runs leave them, without training, and a server of the page."""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from framework.disk.csv_log import CsvLog, JsonLog
from framework.live.server import Server
from tests.tools.browser import Browser

TRAIN = ("episode", "step", "update", "return", "length", "terminated", "seed", "worker", "row", "loss")
CONFIG = "general_cfg:\n  algo_name: {algo}\n  env_name: gym\nenv_cfg:\n  id: {env}\n"
FINISHED = {
    "outcome": "max_episode 20 reached", "finished": True, "step": 200, "episode": 20, "update": 40, "seconds": 4.0,
    "best": 19.0,
}  # fmt: skip
PIXEL = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\4\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"


def run(folder: Path, algo: str = "DQN", env: str = "CartPole-v1", episodes: int = 20, **facts: Any) -> Path:
    """Makes a finished run; facts: what run.json has besides, None for nothing."""
    for name in ("results", "logs", "videos", "models"):
        (folder / name).mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG.format(algo=algo, env=env))
    (folder / "params.json").write_text(json.dumps({"general_cfg": {"max_episode": 40, "max_total_step": -1}}))
    known = {key: value for key, value in {**FINISHED, **facts}.items() if value is not None}
    (folder / "run.json").write_text(json.dumps(known))
    (folder / "report.html").write_text("<!doctype html><h1>The report</h1><script>document.title = 'it ran'</script>")
    (folder / "videos" / "video.gif").write_bytes(PIXEL)
    (folder / "logs" / "log.txt").write_text("2026-01-31 10:15:00,000 INFO it began\n")
    with episodes_of(folder) as train:
        for number in range(1, episodes + 1):
            train.append(episode(number))
    with contextlib.closing(
        CsvLog(folder / "results" / "eval.csv", ("update", "step", "episode", "mean", "std"))
    ) as log:
        log.append({"update": 40, "step": 200, "episode": 20, "mean": 19.0, "std": 0.5})
    return folder


@contextlib.contextmanager
def episodes_of(folder: Path) -> Iterator[CsvLog]:
    """The train.csv of a run, to append to."""
    with contextlib.closing(CsvLog(folder / "results" / "train.csv", TRAIN)) as log:
        yield log


def episode(number: int, **values: Any) -> dict[str, Any]:
    """Row of train.csv: 10 steps and 2 updates an episode, and a return that grows by one."""
    return {"episode": number, "step": 10 * number, "update": 2 * number, "return": float(number), **values}


def iterations(folder: Path, *lines: tuple[float, float]) -> None:
    """Writes result.json. lines: steps and seconds since the beginning."""
    with contextlib.closing(JsonLog(folder / "results" / "result.json")) as log:
        for step, seconds in lines:
            log.append({"step": step, "episode": step / 10, "update": 2, "return_mean": 7.5, "seconds_total": seconds})


@contextlib.contextmanager
def served(folder: Path, browser: Browser | None = None) -> Iterator[Server]:
    """Serves a folder; a browser leaves the page first, since one that asks a server that has ended complains."""
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            if browser is not None:
                browser.leave()
            server.shutdown()
            thread.join()


def get(server: Server, path: str, headers: dict[str, str] | None = None, method: str = "GET") -> Any:
    """Returns the answer to a request; its body is `.body`. The Host is that of the server, or the one in headers."""
    link = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    with contextlib.closing(link):
        link.putrequest(method, path, skip_host="Host" in (headers or {}))
        for name, value in (headers or {}).items():
            if value:
                link.putheader(name, value)
        link.endheaders()
        answer: Any = link.getresponse()
        answer.body = answer.read()
    return answer


def ask(server: Server, path: str, body: Any, **headers: str | None) -> Any:
    """Returns the answer to what the page asks to be done; headers: others than those of the page, None for none."""
    host = f"127.0.0.1:{server.server_address[1]}"
    content = json.dumps(body).encode() if not isinstance(body, bytes) else body
    usual = {
        "Authorization": f"Bearer {server.answers.token}", "Content-Type": "application/json", "Host": host,
        "Origin": f"http://{host}", "Content-Length": str(len(content)),
    }  # fmt: skip
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    link = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=20)
    with contextlib.closing(link):
        link.putrequest("POST", path, skip_host=True)
        for name, value in {**usual, **given}.items():
            if value is not None:
                link.putheader(name, value)
        link.endheaders(content)
        answer: Any = link.getresponse()
        answer.body = answer.read()
    return answer


def done(server: Server, path: str, **body: Any) -> Any:
    """Returns what the server answers to the page."""
    answer = ask(server, path, body)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def now(server: Server, *shown: str, column: str = "return", group: str = "", since: int = 0) -> Any:
    """Returns what the page gets, as strict JSON."""
    query = "&".join([f"column={column}&group={group}&since={since}", *(f"show={one}" for one in shown)])
    answer = get(server, f"/now?{query}", {"Authorization": f"Bearer {server.answers.token}"})
    assert answer.status == 200, answer.body

    def refused(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(answer.body, parse_constant=refused)

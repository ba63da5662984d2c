"""A server of S3 in a process of its own (moto), and a proxy in front of it that lets requests go wrong."""

import contextlib
import http.client
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import urlopen

KINDS = ("before", "after", "partial", "slow", "error", "denied", "stale")
"""What happens to a request: the connection is dropped before it reaches the server; after it, without the answer; in
the middle of the body; it is throttled (503); the server fails (500); it is refused (403); a list is the one before."""
BUCKET = "bucket"
_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "proxy-connection"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server() -> Iterator[int]:
    """Yields the port of a server with an empty bucket."""
    port = free_port()
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urlopen(f"http://127.0.0.1:{port}/", timeout=5).read()
                break
            time.sleep(0.1)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("PUT", f"/{BUCKET}", headers={"Host": f"127.0.0.1:{port}", "Authorization": _SIGNED})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        yield port
    finally:
        process.kill()
        process.wait()


_SIGNED = "AWS4-HMAC-SHA256 Credential=test/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


def environment(port: int) -> dict[str, str]:
    """Returns the environment variables with which s3fs finds the server."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
    }  # fmt: skip


class Proxy:
    """Forwards requests to a server. `choose` says for each of them which fault it meets; empty for none."""

    def __init__(self, target: int, choose: Callable[[str, str], str] = lambda method, path: "") -> None:
        """choose: gets the method and the path of a request."""
        self.target, self.choose = target, choose
        self.counts: Counter[str] = Counter()
        """Faults, and requests under the empty name."""
        self._lists: dict[str, tuple[int, list[tuple[str, str]], bytes]] = {}
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def handle_one_request(self) -> None:
                with contextlib.suppress(ConnectionError, TimeoutError):
                    super().handle_one_request()

            def do_any(self) -> None:
                proxy.answer(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_any

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        kind = self.choose(handler.command, handler.path)
        size = int(handler.headers.get("Content-Length") or 0)
        is_list = handler.command == "GET" and "list-type=2" in handler.path
        if kind == "stale" and (not is_list or handler.path not in self._lists):
            kind = ""
        if kind == "partial" and not size:
            kind = "before"
        self.counts[kind] += 1
        self.counts["requests"] += 1
        if kind in ("before", "partial"):
            handler.rfile.read(size // 2 if kind == "partial" else 0)
            self._drop(handler)
            return
        body = handler.rfile.read(size) if size else b""
        if kind in ("slow", "error", "denied"):
            status, code = {
                "slow": (503, "SlowDown"),
                "error": (500, "InternalError"),
                "denied": (403, "AccessDenied"),
            }[kind]
            text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
            self._reply(handler, status, [("Content-Type", "application/xml")], text)
            return
        if kind == "stale":
            self._reply(handler, *self._lists[handler.path])
            return
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=60)
            headers = {name: value for name, value in handler.headers.items() if name.lower() not in _HOP}
            connection.request(handler.command, handler.path, body or None, headers)
            answer = connection.getresponse()
            data = answer.read()
        except OSError:
            self._drop(handler)
            return
        head = [(name, value) for name, value in answer.getheaders() if name.lower() not in {*_HOP, "content-length"}]
        if handler.command == "HEAD":
            head.append(("Content-Length", answer.getheader("Content-Length") or "0"))
        if is_list:
            self._lists[handler.path] = answer.status, head, data
        if kind == "after":
            self._drop(handler)
            return
        self._reply(handler, answer.status, head, data)

    @staticmethod
    def _reply(handler: BaseHTTPRequestHandler, status: int, head: list[tuple[str, str]], data: bytes) -> None:
        handler.send_response_only(status)
        for name, value in head:
            handler.send_header(name, value)
        if handler.command != "HEAD":
            handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)

    @staticmethod
    def _drop(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        with contextlib.suppress(OSError):
            handler.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def at_random(seed: int, share: float, kinds: tuple[str, ...] = KINDS) -> Callable[[str, str], str]:
    """Returns a choice that lets this share of all requests go wrong."""
    rng = random.Random(seed)
    return lambda method, path: rng.choice(kinds) if rng.random() < share else ""

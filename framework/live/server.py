"""The web server of the page: this machine alone, and nothing without the token.

What the page asks for has either the token (in a header, which no other site can send) or the key of one file. What it
asks to be done comes by POST, with the token and from the page itself.
"""

import base64
import hashlib
import hmac
import json
import re
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any, BinaryIO
from urllib.parse import parse_qs

from config.system.name import is_windows
from config.tell.language import tr
from config.tell.names import printable
from framework.errors import JoystickError
from framework.live.answers import USUAL, Answers
from framework.pages.html_page import CHART_SCRIPT, CHART_STYLE, STYLE, asset
from framework.pages.sentences import of_script, page_in_language

HOST = "127.0.0.1"
NAMED = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?")
"""Values of the header Host that are answered, with any port: one may be forwarded from another machine.
A foreign site that lets its own name lead to this machine asks by that name."""
PATIENCE = 30.0
"""Seconds after which a connection without a request is closed."""
BLOCK = 2**16
MOST_ASKED = 2**18
"""Bytes of the body of a request, at most."""
SCRIPTS = ("views.js", "actions.js", "films.js", "groups.js", "table.js", "page.js")
"""Scripts of the page, after those that reports have too."""
FILE = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"
"""Policy of a file: it runs nothing, and belongs to no site."""
REPORT = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; img-src data:; media-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)
"""Policy of a report: its scripts have no origin and no network, so they reach neither the page nor what it knows.
Charts are saved as files, as from any page of the web."""
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
COUNT = re.compile(r"\d{1,18}")
RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})")
"""Part of a file, as browsers ask for a place in a video."""


def page() -> tuple[bytes, str]:
    """Returns the page as one file, and the policy by which it runs its own script and asks its own server alone."""
    template, css, *scripts = (
        Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("page.html", "page.css", *SCRIPTS)
    )
    style, script = STYLE + CHART_STYLE + css, "".join((CHART_SCRIPT, asset("curves.js"), *scripts))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src 'self' data:; "
        "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    whole = page_in_language(template).replace("<!-- sentences -->", of_script(script))
    return whole.replace("/* style */", style).replace("/* script */", script).encode(), policy


def _text(asked: dict[str, Any], name: str) -> str:
    value = asked.get(name)
    return value if isinstance(value, str) else ""


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


class Server(ThreadingTCPServer):
    """Serves the page of a folder. Raises OSError if the port is taken. port: 0 for a free one."""

    daemon_threads = True
    allow_reuse_address = not is_windows()  # there it would share a port that is taken

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.answers = Answers(folder)
        self.page, self.policy = page()
        super().__init__((HOST, port), Handler)

    @property
    def address(self) -> str:
        """Address of the page, with the token."""
        return f"http://{HOST}:{self.server_address[1]}/?token={self.answers.token}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints an error; a browser that has closed a connection is none."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of a connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def do_GET(self) -> None:
        if not NAMED.fullmatch("\n".join(self.headers.get_all("Host", []))):
            return self._refuse(HTTPStatus.FORBIDDEN, tr("This page is for this machine alone"))
        path, _, words = self.path.partition("?")
        query, parts = parse_qs(words), path.split("/")
        if parts[1:2] == ["file"]:
            if len(parts) != 4:  # a link from one report to another is a path
                return self._refuse(HTTPStatus.FORBIDDEN, tr("Open the report of another run from the list of runs"))
            return self._file(parts[2])
        [token] = query.get("token", [""])[:1] if path == "/" else [self._bearer()]
        if not hmac.compare_digest(token.encode(), self.server.answers.token.encode()):
            return self._refuse(HTTPStatus.UNAUTHORIZED, tr("Open the address that the command watch has printed"))
        if path == "/":
            return self._send(self.server.page, "text/html; charset=utf-8", self.server.policy)
        answers = self.server.answers
        if path == "/now":
            [column], [group], [since] = (query.get(name, [""])[:1] for name in ("column", "group", "since"))
            ids = query.get("show", [])
            return self._answer(answers.now(ids, column or USUAL, group, int(since) if COUNT.fullmatch(since) else 0))
        if path == "/settings":
            return self._answer(answers.settings(query.get("column", []), "named" in query))
        return self._refuse(HTTPStatus.NOT_FOUND, tr("There is no such page"))

    def do_POST(self) -> None:
        """Does what the page asks for: a request with the token, and from the page itself, as its browser says."""
        hosts, origins = (self.headers.get_all(name, []) for name in ("Host", "Origin"))
        if not NAMED.fullmatch("\n".join(hosts)):
            return self._refuse(HTTPStatus.FORBIDDEN, tr("This page is for this machine alone"))
        if origins != [f"http://{hosts[0]}"] or self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return self._refuse(HTTPStatus.FORBIDDEN, tr("Only the page itself may ask for this"))
        if not hmac.compare_digest(self._bearer().encode(), self.server.answers.token.encode()):
            return self._refuse(HTTPStatus.UNAUTHORIZED, tr("Open the address that the command watch has printed"))
        asked = self._body()
        if asked is None:
            return self._refuse(HTTPStatus.BAD_REQUEST, tr("It is no object of JSON, or too large"))
        answers = self.server.answers
        try:
            if self.path == "/notes":
                answer = answers.write_notes(_text(asked, "run"), asked.get("tags"), asked.get("note"))
            elif self.path == "/stop":
                answer = answers.stop(_text(asked, "run"))
            elif self.path == "/compare":
                runs = asked.get("runs")
                answer = answers.compare(runs if isinstance(runs, list) else [])
            else:
                return self._refuse(HTTPStatus.NOT_FOUND, tr("There is no such action"))
        except JoystickError as error:
            answer = {"error": printable(str(error))}
        return self._answer(answer)

    def _body(self) -> dict[str, Any] | None:
        """Returns the object that a request has as its body; None if it has no such body."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Content-Type") != "application/json" or not COUNT.fullmatch(length):
            return None
        if int(length) > MOST_ASKED:
            return None
        try:
            value = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _answer(self, answer: Any) -> None:
        self._send(json.dumps(answer, allow_nan=False).encode(), "application/json", FILE)

    def _bearer(self) -> str:
        """Returns the token in the header of a request of the page."""
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def _file(self, key: str) -> None:
        opened = self.server.answers.files.open(key)
        if opened is None:
            return self._refuse(HTTPStatus.FORBIDDEN, tr("No file has this key"))
        file, kind = opened
        with file:
            self._stream(file, kind, REPORT if kind.startswith("text/html") else FILE)

    def _send(self, body: bytes, kind: str, policy: str) -> None:
        self._stream(BytesIO(body), kind, policy)

    def _stream(self, file: BinaryIO, kind: str, policy: str) -> None:
        """Sends a file as large as it is now; it may grow meanwhile."""
        size = file.seek(0, 2)
        first, behind, partial = 0, size, RANGE.fullmatch(self.headers.get("Range", ""))
        if partial:
            first, behind = int(partial[1]), min(size, int(partial[2] or size) + 1)
        if partial and first < behind:
            self.send_response(HTTPStatus.PARTIAL_CONTENT)
            self.send_header("Content-Range", f"bytes {first}-{behind - 1}/{size}")
        else:
            first, behind = 0, size
            self.send_response(HTTPStatus.OK)
        for name, value in {"Content-Type": kind, "Content-Security-Policy": policy, "Accept-Ranges": "bytes"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(behind - first))
        self.end_headers()
        file.seek(first)
        for place in range(first, behind, BLOCK):
            block = file.read(min(BLOCK, behind - place))
            self.wfile.write(block)
            if not block:  # it was cut off meanwhile
                self.close_connection = True
                return

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers a request that is none; its text is not repeated."""
        self._refuse(HTTPStatus(code), HTTPStatus(code).phrase)

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        body = (tr("{sentence}.", sentence=sentence) + "\n").encode()
        self.send_response(status)
        self.send_header("Connection", "close")
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Security-Policy", FILE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def version_string(self) -> str:
        return "Joystick"

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing: an address contains the token."""

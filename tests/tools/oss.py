"""A server in memory that speaks the calls of OSS that ossfs makes: objects, lists, and errors in its XML."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"
KEY = "test"
"""The only access key with permission; without one a request is anonymous."""
_STATUS = {"NoSuchBucket": 404, "NoSuchKey": 404, "AccessDenied": 403, "InvalidAccessKeyId": 403, "QuotaExceeded": 403}


class Oss:
    """The state of a server."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.refuses = ""
        """Code of the error that answers everything that writes; empty for none."""
        self.page = 1000
        """Number of names in one answer to a list, at most."""
        self.port = 0

    def environment(self, key: str = KEY) -> dict[str, str]:
        """Returns the environment variables with which ossfs comes here."""
        return {"OSS_ENDPOINT": f"http://127.0.0.1:{self.port}", "FSSPEC_OSS_KEY": key, "FSSPEC_OSS_SECRET": "secret"}

    def listed(self, query: dict[str, list[str]]) -> bytes:
        """Returns a page of a list, in the XML of OSS."""
        prefix, delimiter, marker = (query.get(name, [""])[0] for name in ("prefix", "delimiter", "marker"))
        entries: dict[str, int | None] = {}
        for key in sorted(self.objects):
            if key.startswith(prefix):
                head, cut, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
                entries[prefix + head + cut if cut else key] = None if cut else len(self.objects[key])
        names = [name for name in entries if name > marker]
        shown = names[: self.page]
        more = len(names) > len(shown)
        parts = [f"<IsTruncated>{str(more).lower()}</IsTruncated><EncodingType>url</EncodingType>"]
        parts += [f"<NextMarker>{quote(shown[-1])}</NextMarker>"] if more else []
        for name in shown:
            if entries[name] is None:
                parts.append(f"<CommonPrefixes><Prefix>{quote(name)}</Prefix></CommonPrefixes>")
            else:
                parts.append(
                    f"<Contents><Key>{quote(name)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                    f'<ETag>"0"</ETag><Type>Normal</Type><Size>{entries[name]}</Size>'
                    "<StorageClass>Standard</StorageClass></Contents>"
                )
        return f"<?xml version='1.0'?><ListBucketResult>{''.join(parts)}</ListBucketResult>".encode()

    def fault(self, method: str, bucket: str, authorization: str) -> str:
        """Returns the code of the error that a request meets; empty for none."""
        if not authorization:
            return "AccessDenied"
        if authorization.removeprefix("OSS ").partition(":")[0] != KEY:
            return "InvalidAccessKeyId"
        if bucket != BUCKET:
            return "NoSuchBucket"
        return self.refuses if method != "GET" else ""

    def answer(self, method: str, path: str, body: bytes, authorization: str) -> tuple[int, bytes]:
        """Returns status and body of the answer to a request."""
        parts = urlsplit(path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        code = self.fault(method, bucket, authorization)
        if not code and method == "GET" and key not in self.objects:
            code = "NoSuchKey" if key else ""
        if code:
            message = escape(f"The answer is {code}.")
            return _STATUS[code], f"<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        if method == "GET":
            return 200, self.objects[key] if key else self.listed(parse_qs(parts.query, keep_blank_values=True))
        if method == "DELETE":
            self.objects.pop(key, None)
            return 204, b""
        self.objects[key] = body
        return 200, b""


@contextlib.contextmanager
def server() -> Iterator[Oss]:
    """Yields a server with an empty bucket."""
    oss = Oss()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, data = oss.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
            self.send_response(status)
            self.send_header("x-oss-request-id", "0")
            self.send_header("ETag", '"0"')
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_DELETE = _do

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    oss.port = http.server_port
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield oss
    finally:
        http.shutdown()
        http.server_close()

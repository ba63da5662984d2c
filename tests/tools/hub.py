"""A small server that speaks the calls of the Hugging Face hub that push and pull make; HF_ENDPOINT points to it.

Repositories are kept in memory: branch -> path -> content. A token `write` may do all, `read` may read, and any other
one is not valid; a private repository is not there for a request without a token."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import yaml

TOKENS = ("write", "read")


class Repository:
    """Files of each branch, and the commits."""

    def __init__(self, private: bool) -> None:
        self.private = private
        self.branches: dict[str, dict[str, bytes]] = {"main": {}}
        self.commits: list[str] = []
        """Messages of the commits."""


class Server(ThreadingHTTPServer):
    """The server, with what it holds and what it shall do wrong."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.asked: list[str] = []
        """Method and path of each request."""
        self.full = False
        """True to refuse commits because of a quota."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def served() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Refusal(Exception):
    """Status, code for the client, and sentence."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PUT = do_HEAD = do_GET

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path}")
        self._body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            for pattern, method in ROUTES:
                if match := re.fullmatch(pattern, f"{self.command} {path}"):
                    return getattr(self, method)(*match.groups())
            raise Refusal(404, "EntryNotFound", f"no route {path}")
        except Refusal as refusal:
            status, code, text = refusal.args
            self._send(status, json.dumps({"error": text}).encode(), {"X-Error-Code": code, "X-Error-Message": text})

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    # rights -----------------------------------------------------------------------------------------------

    def _may(self, writes: bool) -> str:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token and token not in TOKENS:
            raise Refusal(401, "", "Invalid username or password.")
        if writes and not token:
            raise Refusal(401, "", "Invalid username or password.")
        if writes and token != "write":
            raise Refusal(403, "", "you must use a write token to push to a repository")
        return token

    def _repository(self, name: str) -> Repository:
        token = self._may(writes=False)
        repository = self.server.repositories.get(name)
        if repository is None or (repository.private and not token):
            raise Refusal(404 if token else 401, "RepoNotFound", "Repository not found")
        return repository

    def _branch(self, name: str, revision: str) -> dict[str, bytes]:
        branches = self._repository(name).branches
        if revision not in branches:
            raise Refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return branches[revision]

    # routes -----------------------------------------------------------------------------------------------

    def create(self) -> None:
        self._may(writes=True)
        asked = json.loads(self._body)
        name = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else asked["name"]
        if name in self.server.repositories:
            return self._send(409, json.dumps({"error": "exists", "url": f"{self.server.url}/{name}"}).encode())
        private = bool(asked.get("private")) or asked.get("visibility") == "private"
        self.server.repositories[name] = Repository(private)
        self._json({"url": f"{self.server.url}/{name}", "name": name})

    def card(self) -> None:
        text = json.loads(self._body)["content"]
        valid = yaml.safe_load(text.split("---")[1]) if text.startswith("---") else None
        errors = [] if isinstance(valid, dict) else [{"message": "no metadata"}]
        self._json({"errors": errors, "warnings": []})

    def branch(self, name: str, branch: str) -> None:
        self._may(writes=True)
        branches = self._repository(name).branches
        if branch in branches:
            raise Refusal(409, "", "Reference already exists")
        branches[branch] = dict(branches["main"])
        self._json({})

    def tree(self, name: str, revision: str) -> None:
        files = self._branch(name, revision)
        self._json([
            {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            for path, content in files.items()
        ])  # fmt: skip

    def preupload(self, name: str, revision: str) -> None:
        self._may(writes=True)
        self._branch(name, revision)
        modes = [
            {"path": file["path"], "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
             "shouldIgnore": False}
            for file in json.loads(self._body)["files"]
        ]  # fmt: skip
        self._json({"files": modes})

    def batch(self, name: str) -> None:
        self._may(writes=True)
        objects = [
            {"oid": each["oid"], "size": each["size"],
             "actions": {"upload": {"href": f"{self.server.url}/objects/{each['oid']}"}}}
            for each in json.loads(self._body)["objects"]
        ]  # fmt: skip
        self._json({"transfer": "basic", "objects": objects})

    def put(self, oid: str) -> None:
        assert hashlib.sha256(self._body).hexdigest() == oid
        self.server.objects[oid] = self._body
        self._send(200, b"")

    def commit(self, name: str, revision: str) -> None:
        self._may(writes=True)
        if self.server.full:
            raise Refusal(403, "", "Private repository storage limit reached, please upgrade your plan")
        files = self._branch(name, revision)
        for line in self._body.splitlines():
            item = json.loads(line)
            key, value = item["key"], item["value"]
            if key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
            elif key == "deletedFile":
                del files[value["path"]]
            else:
                self.server.repositories[name].commits.append(value["summary"])
        self._json({"success": True, "commitOid": "1" * 40, "commitUrl": f"{self.server.url}/{name}/commit/{'1' * 40}"})

    def resolve(self, name: str, revision: str, path: str) -> None:
        files = self._branch(name, revision)
        if path not in files:
            raise Refusal(404, "EntryNotFound", f"{path} does not exist")
        content = files[path]
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        self._send(200, content, {"X-Repo-Commit": "1" * 40, "ETag": etag, "X-Linked-Size": str(len(content))})


_NAME = r"([\w.-]+/[\w.-]+)"
ROUTES = (
    (r"POST /api/repos/create", "create"),
    (r"POST /api/validate-yaml", "card"),
    (rf"POST /api/models/{_NAME}/branch/([\w.-]+)", "branch"),
    (rf"GET /api/models/{_NAME}/tree/([\w.-]+)", "tree"),
    (rf"POST /api/models/{_NAME}/preupload/([\w.-]+)", "preupload"),
    (rf"POST /{_NAME}\.git/info/lfs/objects/batch", "batch"),
    (r"PUT /objects/(\w+)", "put"),
    (rf"POST /api/models/{_NAME}/commit/([\w.-]+)", "commit"),
    (rf"(?:GET|HEAD) /{_NAME}/resolve/([\w.-]+)/(.+)", "resolve"),
)


# --------------------------------------------------------------------------------------------- without a server


class FolderHub:
    """A hub of one repository, in a folder; its files are written by calls that a fault can hit."""

    folder: ClassVar[Path]

    def __init__(self, address: Any) -> None:
        """Stands for hub_of."""

    def listing(self, address: Any, revision: str | None) -> dict[str, int] | None:
        if not self.folder.exists():
            return None
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return {path.relative_to(self.folder).as_posix(): path.stat().st_size for path in files}

    def upload(self, address: Any, change: Any) -> str:
        for name, content in change.files.items():
            _write(self.folder / name, content if isinstance(content, bytes) else content.read_bytes())
        return str(self.folder)

    def download(self, address: Any, path: str, folder: Path, revision: str | None) -> None:
        _write(folder / path, (self.folder / path).read_bytes())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


# ---------------------------------------------------------------------------------------------------- ModelScope


class ModelScopeApi:
    """A client of ModelScope that keeps one repository in memory."""

    errors: ClassVar[Any] = ModuleType("modelscope_hub.errors")
    files: ClassVar[dict[str, bytes]] = {}
    exists: ClassVar[bool] = False
    private: ClassVar[str | None] = None
    fails: ClassVar[Exception | None] = None
    """Raised by the next upload."""

    def repo_exists(self, name: str, kind: str) -> bool:
        return self.exists

    def create_repo(self, name: str, kind: str, visibility: str | None = None) -> None:
        type(self).exists, type(self).private = True, visibility

    def list_repo_files(self, name: str, kind: str, revision: str | None = None) -> list[Any]:
        if not self.exists:
            raise self.errors.NotExistError("no")
        return [SimpleNamespace(path=path, size=len(data), is_dir=False) for path, data in self.files.items()]

    def upload_folder(self, name: str, kind: str, folder: str, **options: Any) -> None:
        if self.fails:
            raise self.fails
        files = (path for path in Path(folder).rglob("*") if path.is_file())
        self.files.update({path.relative_to(folder).as_posix(): path.read_bytes() for path in files})

    def delete_files(self, name: str, kind: str, paths: list[str], **options: Any) -> None:
        for path in paths:
            del self.files[path]

    def download_file(self, name: str, kind: str, path: str, local_dir: str, revision: str | None) -> None:
        target = Path(local_dir, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.files[path])


for _name in ("Authentication", "QuotaExceeded", "PermissionDenied", "NotExist", "Network", "Hub"):
    setattr(ModelScopeApi.errors, f"{_name}Error", type(f"{_name}Error", (Exception,), {}))


def model_scope() -> dict[str, ModuleType]:
    """The modules of a new client of ModelScope in memory, by their names."""
    package = ModuleType("modelscope_hub")
    state = {"files": {}, "exists": False, "private": None, "fails": None}
    package.HubApi = type("HubApi", (ModelScopeApi,), state)  # type: ignore[attr-defined]
    return {"modelscope_hub": package, "modelscope_hub.errors": ModelScopeApi.errors}

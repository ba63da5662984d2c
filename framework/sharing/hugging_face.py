"""The Hugging Face hub, by its own client, which finds the token and the server (HF_TOKEN, HF_ENDPOINT)."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from config.program import version
from config.read.stores import HUBS
from config.tell.language import tr
from framework.errors import JoystickError, optional
from framework.sharing import hub
from framework.sharing.address import Address
from framework.sharing.hub import Upload

NAME = HUBS["hf"]
LOGIN = tr("hf auth login stores one, or set HF_TOKEN")


class HuggingFace:
    """The client, with its errors as sentences."""

    def __init__(self) -> None:
        self._package = optional("huggingface_hub", NAME)
        self._errors = optional("huggingface_hub.errors", NAME)
        optional("huggingface_hub.utils", NAME).disable_progress_bars()
        optional("huggingface_hub.utils", NAME).logging.set_verbosity_error()
        self._api = self._package.HfApi(library_name="joystick", library_version=version())

    def listing(self, address: Address, revision: str | None) -> dict[str, int] | None:
        errors = self._errors
        with self._sentences(address, revision, writes=False):
            try:
                tree = self._api.list_repo_tree(address.repository, recursive=True, revision=revision)
                return {entry.path: int(entry.size) for entry in tree if hasattr(entry, "size")}
            except errors.EntryNotFoundError:
                return {}
            except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
                if "Invalid" in str(error) and "password" in str(error):
                    raise hub.no_token(address, LOGIN) from error
                return None

    def upload(self, address: Address, change: Upload) -> str:
        package, api, repository = self._package, self._api, address.repository
        operations: list[Any] = [
            package.CommitOperationAdd(path, content if isinstance(content, bytes) else str(content))
            for path, content in change.files.items()
        ]
        operations += [package.CommitOperationDelete(path) for path in change.deleted]
        with self._sentences(address, change.revision, writes=True):
            api.create_repo(repository, private=change.private, exist_ok=True)
            if change.revision:
                api.create_branch(repository, branch=change.revision, exist_ok=True)
            commit = api.create_commit(repository, operations, commit_message=change.message, revision=change.revision)
        return str(commit.commit_url)

    def download(self, address: Address, path: str, folder: Path, revision: str | None) -> None:
        with self._sentences(address, revision, writes=False):
            self._api.hf_hub_download(address.repository, path, local_dir=str(folder), revision=revision)

    @contextlib.contextmanager
    def _sentences(self, address: Address, revision: str | None, writes: bool) -> Iterator[None]:
        try:
            yield
        except JoystickError:
            raise
        except Exception as error:  # of the client, or of its package for HTTP, which changes with its versions
            if hub.is_of_the_disk(error):
                raise
            raise self._sentence(error, address, revision, writes) from error

    def _sentence(self, error: Exception, address: Address, revision: str | None, writes: bool) -> JoystickError:
        """Returns what an error of the client is for the user."""
        errors, status = self._errors, getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(error, errors.OfflineModeIsEnabled):
            return JoystickError("{address}: HF_HUB_OFFLINE is set, and the hub is not asked", address=address)
        if isinstance(error, errors.RepositoryNotFoundError | errors.RevisionNotFoundError) and not writes:
            return hub.missing(address, revision)
        if isinstance(error, errors.LocalTokenNotFoundError) or status == 401:
            return hub.no_token(address, LOGIN)
        if status == 403 and not _is_quota(error):
            return hub.no_right(address, writes)
        if isinstance(error, errors.LocalEntryNotFoundError) or (status is None and _is_network(error)):
            return hub.no_answer(address, str(self._api.endpoint))
        return hub.refused(address, error)


def _is_quota(error: BaseException) -> bool:
    return any(word in str(error).lower() for word in ("quota", "storage", "limit"))


def _is_network(error: BaseException) -> bool:
    """Returns True for an error of the connection: of httpx, of requests, or of the system."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError) or not names.isdisjoint(
        {"TransportError", "RequestException", "TimeoutException"}
    )

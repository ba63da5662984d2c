"""ModelScope, by its own client for repositories, which finds the token and the server (MODELSCOPE_API_TOKEN,
MODELSCOPE_ENDPOINT)."""

import contextlib
import logging
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from config.read.stores import HUBS
from config.tell.language import tr
from framework.errors import JoystickError, optional
from framework.sharing import hub
from framework.sharing.address import Address
from framework.sharing.hub import Upload

NAME = HUBS["ms"]
LOGIN = tr("set MODELSCOPE_API_TOKEN")
KIND = "model"


class ModelScope:
    """The client, with its errors as sentences."""

    def __init__(self) -> None:
        self._errors = optional("modelscope_hub.errors", NAME)
        self._api: Any = optional("modelscope_hub", NAME).HubApi()
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("modelscope_hub")]:
            logging.getLogger(name).setLevel(logging.ERROR)  # it warns of each attempt

    def listing(self, address: Address, revision: str | None) -> dict[str, int] | None:
        with self._sentences(address, revision, writes=False):
            try:
                files = self._api.list_repo_files(address.repository, KIND, revision=revision)
                return {file.path: int(file.size) for file in files if not file.is_dir}
            except self._errors.NotExistError:
                return None

    def upload(self, address: Address, change: Upload) -> str:
        """Uploads a folder with all files, since the client makes one commit of a folder."""
        api, repository = self._api, address.repository
        with self._sentences(address, change.revision, writes=True), tempfile.TemporaryDirectory() as place:
            for path, content in change.files.items():
                target = Path(place, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                if isinstance(content, bytes):
                    target.write_bytes(content)
                else:
                    shutil.copyfile(content, target)
            if not api.repo_exists(repository, KIND):
                visibility = None if change.private is None else ("private" if change.private else "public")
                api.create_repo(repository, KIND, visibility=visibility)
            options = {"revision": change.revision} if change.revision else {}
            api.upload_folder(
                repository, KIND, place, commit_message=change.message, use_cache=False, disable_tqdm=True, **options
            )
            if change.deleted:
                api.delete_files(repository, KIND, list(change.deleted), commit_message=change.message, **options)
        return f"{self._endpoint()}/models/{repository}"

    def download(self, address: Address, path: str, folder: Path, revision: str | None) -> None:
        with self._sentences(address, revision, writes=False):
            self._api.download_file(address.repository, KIND, path, local_dir=str(folder), revision=revision)

    def _endpoint(self) -> str:
        settings = getattr(self._api, "config", None) or getattr(self._api, "_config", None)
        return str(getattr(settings, "endpoint", "https://modelscope.cn")).rstrip("/")

    @contextlib.contextmanager
    def _sentences(self, address: Address, revision: str | None, writes: bool) -> Iterator[None]:
        errors = self._errors
        try:
            yield
        except JoystickError:
            raise
        except errors.AuthenticationError as error:
            raise hub.no_token(address, LOGIN) from error
        except errors.QuotaExceededError as error:
            raise hub.refused(address, error) from error
        except errors.PermissionDeniedError as error:
            raise hub.no_right(address, writes) from error
        except errors.NotExistError as error:
            raise hub.missing(address, revision) from error
        except errors.NetworkError as error:
            raise hub.no_answer(address, self._endpoint()) from error
        except (errors.HubError, OSError, ValueError) as error:
            if hub.is_of_the_disk(error):
                raise
            raise hub.refused(address, error) from error

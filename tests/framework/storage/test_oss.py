"""Copies in Alibaba's OSS, with its own client (ossfs) against a server in memory that speaks its calls."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from framework.storage import copies
from framework.storage.errors import Changed, StorageError
from framework.storage.mirror import Mirror
from framework.storage.store import Store
from tests.framework.storage.test_mirror import FILES, brought, quiet, written
from tests.tools import oss

pytest.importorskip("ossfs", reason="the extra storage brings it")
URL = f"oss://{oss.BUCKET}/prefix/run"


def login(monkeypatch: pytest.MonkeyPatch, server: oss.Oss, key: str = oss.KEY) -> None:
    """Sets the address of the server and the access key, which fsspec reads when it is imported."""
    import fsspec.config

    monkeypatch.setenv("OSS_ENDPOINT", f"http://127.0.0.1:{server.port}")
    monkeypatch.setitem(fsspec.config.conf, "oss", {"key": key, "secret": "secret"} if key else {})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[oss.Oss]:
    monkeypatch.setenv("JOYSTICK_CACHE", str(tmp_path / "cache"))
    with oss.server() as place:
        login(monkeypatch, place)
        yield place


def test_a_copy_is_what_the_folder_is_and_goes_on_when_it_changes(server: oss.Oss, tmp_path: Path) -> None:
    server.page = 3  # names in one answer
    copy = quiet(written(tmp_path / "run", FILES), URL)
    copy.upload()
    written(tmp_path / "run", {"results/train.csv": b"a,b\n1,2\n3,4\n"})
    copy.upload(last=True)
    assert brought(URL) == {**FILES, "results/train.csv": b"a,b\n1,2\n3,4\n"}
    assert not copy.is_behind
    assert copies.find(f"oss://{oss.BUCKET}/prefix/r*") == [copies.place_of(URL)]


def test_lists_have_what_was_written_since_the_last_one(server: oss.Oss) -> None:
    store = Store(URL)
    assert (store.keys(), store.folders()) == ([], [])
    store.put("results/a.csv", b"1")
    assert (store.keys(), store.folders()) == (["results/a.csv"], ["results"])
    store.delete(["results/a.csv", "results/never.csv"])
    assert store.keys() == []


def test_a_second_writer_is_noticed(server: oss.Oss) -> None:
    store = Store(URL)
    store.replace("joystick.json", b"1", None)
    seen = store.see("joystick.json")
    store.replace("joystick.json", b"2", seen)
    for before in (None, seen):
        with pytest.raises(Changed):
            store.replace("joystick.json", b"3", before)
    assert store.get("joystick.json") == b"2"


@pytest.mark.parametrize(
    ("key", "url", "sentence"),
    [
        ("", URL, "no permission (The answer is AccessDenied.)"),
        ("other", URL, "no permission"),
        (oss.KEY, "oss://nobucket/run", "there is no such bucket"),
    ],
)
def test_what_waiting_does_not_mend_is_refused_at_once(
    server: oss.Oss, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, url: str, sentence: str
) -> None:
    login(monkeypatch, server, key)
    with pytest.raises(StorageError) as caught:
        quiet(written(tmp_path / "run", FILES), url).begin()
    assert sentence in str(caught.value)
    assert caught.value.lasting


def test_a_missing_address_is_refused_with_the_name_of_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OSS_ENDPOINT", raising=False)
    with pytest.raises(StorageError, match="OSS_ENDPOINT") as caught:
        quiet(written(tmp_path / "run", FILES), URL).begin()
    assert caught.value.lasting


def test_faults_that_waiting_may_mend_are_one_short_sentence(
    server: oss.Oss, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    mirror = Mirror(written(tmp_path / "run", FILES), URL, False, lambda text, is_warning: said.append(text))
    server.refuses = "QuotaExceeded"
    mirror.begin()
    assert said == [f"{URL}: the store is full, or its quota is used up; the training goes on, and what it writes is "
                    "copied later"]  # fmt: skip
    monkeypatch.setenv("OSS_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(StorageError) as caught:
        Store(URL).get("joystick.json")
    assert str(caught.value) == f"{URL} does not answer: [Errno 111] Connection refused"
    assert not caught.value.lasting

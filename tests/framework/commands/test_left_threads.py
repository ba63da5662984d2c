"""Threads that an environment leaves keep a process, and are named at its end."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import main


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "PATIENCE", 0.01)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)


def test_a_thread_that_does_not_end_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    end = threading.Event()
    threads = [threading.Thread(target=end.wait, name="sensor") for _ in range(2)]
    for thread in threads:
        thread.start()
    main._name_thread()
    end.set()
    for thread in threads:
        thread.join()
    assert "that an environment or a library has left: sensor. Ctrl-C ends it" in capsys.readouterr().err


def test_threads_that_end_with_the_process_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    end = threading.Event()
    threading.Thread(target=end.wait, daemon=True).start()
    with ThreadPoolExecutor(1) as executor:
        executor.submit(int).result()
        main._name_thread()
    end.set()
    assert capsys.readouterr().err == ""

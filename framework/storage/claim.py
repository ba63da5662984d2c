"""The right to write a run in a store. One session has it; it is a line of the index, so that who has lost it cannot
list anything any more."""

import secrets
import time
from collections.abc import Callable

from config.program import PROGRAM
from config.tell.language import tr
from framework.screen.stages import stage
from framework.storage.copy_record import Record
from framework.storage.errors import Changed, Claimed, Deleted, StorageError
from framework.storage.index import KEY, Index, Owner, Parts
from framework.storage.store import Seen, Store

SILENCE = 3
"""Number of beats without a sign of its owner after which a claim may be taken over."""
LOOK_SECONDS = 1.0
_silent: dict[str, tuple[str, int]] = {}
"""URL -> session and beat of an owner for which this process has waited, in vain."""


def seen(store: Store) -> tuple[Seen | None, Index | None]:
    """Returns the index in a store, as it is and as it reads; None if there is none."""
    found = store.see(KEY)
    return found, None if found is None else Index.from_bytes(found.data, store.url)


def wait_until_free(
    store: Store,
    record: Record | None,
    take_over: bool,
    pause: Callable[[float], object] = time.sleep,
) -> tuple[Seen | None, Index | None]:
    """Returns the index of a run once nobody writes it. Raises Claimed if somebody does. record: of the folder that is
    to be written from: the session that has written it last has ended, since the folder is locked by this one.
    take_over: True to wait until an owner has been silent for long enough; which clock is right does not matter."""
    found, index = seen(store)
    if index is None or index.closed:
        return found, index
    own = record is not None and record.session == index.owner.session
    if _silent.get(store.url) == (index.owner.session, index.beat):
        return found, index
    if index.owner.is_dead():
        if own or take_over:
            return found, index
        raise Claimed(_ended(store, index))
    if own and index.owner.host == Owner.here().host:
        return found, index
    if not own and not take_over:
        raise Claimed(_held(store, index))
    with stage(tr("waiting whether {owner} still writes {url}", owner=index.owner, url=store.url)):
        return _once_silent(store, index, pause)


def _once_silent(store: Store, index: Index, pause: Callable[[float], object]) -> tuple[Seen | None, Index | None]:
    left = SILENCE * index.every
    while left > 0:
        pause(min(LOOK_SECONDS, left))
        left -= LOOK_SECONDS
        found, now = seen(store)
        if now is None or now.closed or now.owner != index.owner:
            break
        if now.beat != index.beat:
            raise Claimed(_alive(store, now))
    found, now = seen(store)
    if now is not None and not now.closed and now.owner != index.owner:
        raise Claimed(_alive(store, now))
    if now is not None:
        _silent[store.url] = now.owner.session, now.beat
    return found, now


def _held(store: Store, index: Index) -> str:
    return tr(
        "{url} is being written by {owner}; stop that run first. If it was killed, add --take-over",
        url=store.url,
        owner=index.owner,
    )


def _alive(store: Store, index: Index) -> str:
    return tr(
        "{url} is being written by {owner}, which has given a sign of life; stop that run first",
        url=store.url,
        owner=index.owner,
    )


def _ended(store: Store, index: Index) -> str:
    return tr(
        "{url} was being written by {owner}, which was killed; add --take-over to go on from there",
        url=store.url,
        owner=index.owner,
    )


class Claim:
    """The right of this session to write a run. Only one thread uses it."""

    def __init__(self, store: Store, every: float, record: Record | None, take_over: bool) -> None:
        """every: seconds between two beats. record: of the folder; None for a run whose name must be free there."""
        self.store, self.every, self.record, self.take_over = store, every, record, take_over
        self.owner = Owner.here()
        self.index: Index | None = None
        """The index as it was written last; None before there is a claim."""
        self._next_beat = 0.0

    def take(self, pause: Callable[[float], object] = time.sleep) -> Index:
        """Takes the claim, and returns the index that it begins with. Raises Claimed."""
        if self.index is not None:
            return self.index
        before, index = seen(self.store)
        if index is not None and index.owner.session == self.owner.session:
            self.index = index  # the answer to an earlier attempt was lost
            return index
        if fault := self._fault(index):
            raise Claimed(fault)
        before, index = wait_until_free(self.store, self.record, self.take_over, pause)
        if fault := self._fault(index):
            raise Claimed(fault)
        last = index or (self.record and self.record.index)
        run = last.run if last else secrets.token_hex(8)
        first = Index(run, self.owner, index.beat if index else 0, self.every, files=index.files if index else {})
        return self._write(first.next(), before)

    def _fault(self, index: Index | None) -> str:
        """Returns why this run must not be written over what is in the store; empty if it may."""
        url = self.store.url
        if index is None:
            return ""
        if self.record is None:
            if not index.checkpoints:  # it was killed before there was anything to go on with
                return ""
            return tr("{url} exists already; name a new run", url=url)
        if self.record.index.run != index.run:
            return tr("{url} is another run than this one, though it has its name", url=url)
        if self.record.covers(index):
            return ""
        return tr(
            "{url} has gone on elsewhere ({owner}); {program} resume {url} goes on from there, and "
            "general_cfg.storage=null with this folder alone",
            url=url,
            owner=index.owner,
            program=PROGRAM,
        )

    @property
    def last(self) -> Index:
        """The index as it was written last."""
        assert self.index is not None
        return self.index

    def commit(self, files: dict[str, Parts], closed: bool = False) -> Index:
        """Writes the index with these files. Raises Claimed if the claim was taken over."""
        return self._write(self.last.next(files, closed), self._mine())

    def beat(self) -> None:
        """Shows that this session is alive, if it is time to."""
        if self.index is not None and time.monotonic() >= self._next_beat:
            self._write(self.last.next(), self._mine())

    def _mine(self) -> Seen | None:
        """Returns the index in the store, which is to be replaced. Raises Claimed if it is another session's."""
        found, index = seen(self.store)
        if index is None:
            raise Deleted("{url} was deleted; nothing is copied there any more", url=self.store.url)
        if index.owner.session != self.owner.session:
            raise Claimed(
                "{url} was taken over by {owner}; this run goes on in its folder, and is copied there no more",
                url=self.store.url,
                owner=index.owner,
            )
        return found

    def _write(self, index: Index, before: Seen | None) -> Index:
        data = index.to_bytes()
        try:
            self.store.replace(KEY, data, before)
        except Changed:
            found, now = seen(self.store)
            if found is None or found.data != data:  # if it is ours, the answer to an earlier attempt was lost
                if now is not None and now.owner.session == self.owner.session:
                    raise StorageError("{url} does not answer in order", url=self.store.url) from None
                if self.index is None:
                    raise Claimed(_held(self.store, now) if now else self._fault(now)) from None
                self._mine()
        self.index = index
        self._next_beat = time.monotonic() + self.every
        return index

"""Stamps in shared memory, which show whether a cached page is still current without a database command.

Each purge key (reader.purging) has a slot in the memory, and all keys with the same hash share a slot. When data
changes, the slots of the outdated keys get new random stamps. They come from the listener (reader.page_cache.listener),
which follows the changes of all servers, and from processes that have written the data themselves (own_writes.py).

A page is current if the stamps of its keys are the same as before its data was read, and if the listener has recently
heard from MongoDB. The memory is shared by all processes that are forked from the process that imports this module.
"""

import mmap
import secrets
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from marginalia.mongo.connection import client

# A collision of two keys only causes an unnecessary comparison with the database.
SLOTS = 8_192
# A page is compared with the database if the last proof that the listener has heard everything is older than this, in
# nanoseconds.
HEARD_WITHIN = 500_000_000
# How long the listener continues to send heartbeats after the last request for a cached page, in nanoseconds.
ASKED_WITHIN = 2_000_000_000
_WORD = 8
# The words before the slots. HEARD_UNTIL and ASKED_AT are times of the monotonic clock, which all processes share.
_HEARD_UNTIL, _EPOCH, _PRIMARY, _ASKED_AT, _FIRST_SLOT = range(5)


@dataclass(frozen=True)
class Snapshot:
    """A copy of all stamps. `epoch` is 0 if data that is read next may come from another primary than the listener's."""

    words: memoryview
    epoch: int


@dataclass(frozen=True)
class Proof:
    """What must be unchanged so that a page is current.

    Attributes:
        epoch: The listener's epoch. Changes between two epochs may be unknown.
        stamps: The stamps of the page's keys, by the number of their word.
    """

    epoch: int
    stamps: tuple[tuple[int, int], ...]


# The file whose lock chooses the process that listens. All processes inherit the file, but a POSIX lock belongs to one
# process, and ends with it.
listener_lock = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process lives
_memory = mmap.mmap(-1, (_FIRST_SLOT + SLOTS) * _WORD)
# Writing one aligned word is atomic, so no lock is needed.
_words = memoryview(_memory).cast("Q")


def snapshot() -> Snapshot:
    """Copy the stamps. Call this before the data of a page is read."""
    # The primary of an epoch never changes. To get the primary of this epoch, read the epoch first.
    epoch = _words[_EPOCH]
    return Snapshot(memoryview(bytes(_words)).cast("Q"), epoch if primary() == _words[_PRIMARY] else 0)


def prove(keys: Iterable[str], before: Snapshot) -> Proof:
    """Return the proof for a page with these keys, whose data was read after the snapshot `before`."""
    return Proof(before.epoch, tuple((number, before.words[number]) for number in set(map(_number, keys))))


def is_current(proof: Proof | None) -> bool:
    """Return whether nothing that a page depends on has changed, as far as was known HEARD_WITHIN ago.

    Changes by this server's own processes are known immediately.
    """
    now = time.monotonic_ns()
    _words[_ASKED_AT] = now
    # The listener writes stamps before it writes this time, so it must be read before the stamps.
    heard_until = _words[_HEARD_UNTIL]
    return (
        proof is not None
        and now - heard_until < HEARD_WITHIN
        and 0 < proof.epoch == _words[_EPOCH]
        and all(_words[number] == stamp for number, stamp in proof.stamps)
    )


def stamp(keys: Iterable[str]) -> None:
    """Write new stamps for keys whose data has changed.

    Stamps are random, because increments by several processes could get lost, so that an old value would return.
    """
    for key in keys:
        _words[_number(key)] = secrets.randbits(64)


def begin_epoch(primary: int) -> None:
    """Begin a new epoch, so that every page is compared again. The change stream must already be open.

    `primary` is the primary before the stream was opened.
    """
    _words[_HEARD_UNTIL] = 0
    _words[_PRIMARY] = primary
    _words[_EPOCH] = secrets.randbits(63) + 1


def end_epoch() -> None:
    """End the epoch. Until the next one, all pages are compared."""
    _words[_EPOCH] = 0


def hear_until(moment: int) -> None:
    """Record that all changes before `moment`, in nanoseconds of the monotonic clock, have been stamped."""
    _words[_HEARD_UNTIL] = moment


def is_asked() -> bool:
    """Return whether a cached page was requested recently."""
    return time.monotonic_ns() - _words[_ASKED_AT] < ASKED_WITHIN


def primary() -> int:
    """Return a number for the primary and its election, as this process knows them, or 0.

    It is 0 if there is no primary, and on sharded clusters, where the elections of the shards are unknown.
    """
    for server in client().topology_description.server_descriptions().values():
        if server.server_type_name == "RSPrimary" and server.election_id:
            return _hash(f"{server.address}:{server.election_id}")
    return 0


@lru_cache(maxsize=2 * SLOTS)
def _number(key: str) -> int:
    return _FIRST_SLOT + _hash(key) % SLOTS


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=_WORD).digest())

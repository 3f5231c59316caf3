"""Where pages are kept: in each worker process, and in memory that all of one machine share."""

import mmap
import pickle
import threading
from collections import OrderedDict
from hashlib import blake2b

from bson import ObjectId
from django.conf import settings

from reader.page_cache.entries import Entry
from reader.page_cache.keepable import PLAIN

Key = tuple[str, ...]


class PageCache:
    """Entries by request, the longest unused dropped when they need more than `most` bytes together: first those that are not
    PLAIN, of which a stranger can make any number."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        # The `frame` of the site that this process has read last.
        self.frame: ObjectId | None = None
        self._lock = threading.Lock()

    def get(self, key: Key) -> Entry | None:
        with self._lock:
            if key in self.entries:
                self.entries.move_to_end(key)
            return self.entries.get(key)

    def put(self, key: Key, entry: Entry) -> None:
        with self._lock:
            self._forget(key)
            size = _size(key, entry)
            if size > self.most // 10:
                return
            self.entries[key] = entry
            self.size += size
            while self.size > self.most:
                self._forget(next((one for one in self.entries if len(one) > PLAIN), next(iter(self.entries))))

    def clear(self) -> None:
        with self._lock:
            self.entries.clear()
            self.size = 0

    def _forget(self, key: Key) -> None:
        if old := self.entries.pop(key, None):
            self.size -= _size(key, old)


class SharedPages:
    """Pages in memory that worker processes inherit from the one that they were forked from: what one has made, the others need
    not make.

    A page has one place, by a hash of its key; what stood there gives way. There are no locks: of what was written over while
    it was read the digest is wrong. Memory is taken as pages are written.
    """

    # Bytes of a place; a page that is longer is not shared.
    PLACE = 16 * 1024
    _DIGEST, _LENGTH = 16, 4

    def __init__(self, most: int) -> None:
        self.places = most // self.PLACE
        self.clear()

    def get(self, key: Key) -> Entry | None:
        """Return what any process put last under this key, if it has kept its place."""
        if not self.places:
            return None
        at = self._place(key)
        head = self._memory[at : at + self._DIGEST + self._LENGTH]
        begin = at + len(head)
        said = self._memory[begin : begin + int.from_bytes(head[self._DIGEST :])]
        if not said or self._digest(said) != head[: self._DIGEST]:
            return None
        kept: tuple[Key, Entry] = pickle.loads(said)
        return kept[1] if kept[0] == key else None

    def put(self, key: Key, entry: Entry) -> None:
        """Keep a page for all processes, if it is PLAIN and not too long."""
        if not self.places or len(key) > PLAIN or len(entry.packed) > self.PLACE:
            return
        said = pickle.dumps((key, entry))
        if len(said) <= self.PLACE - self._DIGEST - self._LENGTH:
            at = self._place(key)
            whole = self._digest(said) + len(said).to_bytes(self._LENGTH) + said
            self._memory[at : at + len(whole)] = whole

    def clear(self) -> None:
        """Begin with no pages, in memory of this process and those that it forks."""
        self._memory = mmap.mmap(-1, max(1, self.places * self.PLACE))

    def _place(self, key: Key) -> int:
        return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest()) % self.places * self.PLACE

    def _digest(self, said: bytes) -> bytes:
        return blake2b(said, digest_size=self._DIGEST).digest()


def _size(key: Key, entry: Entry) -> int:
    """Return the bytes that an entry takes with its key, about: an address that is not ASCII takes up to four a sign."""
    return entry.size + sum(60 + (len(part) if part.isascii() else 4 * len(part)) for part in key)


cache = PageCache(settings.PAGE_CACHE_BYTES)
# Twice as much as one process keeps: a place is twice as long as most pages.
shared = SharedPages(2 * settings.PAGE_CACHE_BYTES)


def find(key: Key) -> Entry | None:
    """Return the page that this process keeps, or else another."""
    return cache.get(key) or shared.get(key)


def put(key: Key, entry: Entry) -> None:
    """Keep a page in this process and for the others."""
    cache.put(key, entry)
    shared.put(key, entry)


def clear() -> None:
    """Forget all pages, as a server that begins."""
    cache.clear()
    shared.clear()

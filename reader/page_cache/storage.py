"""Store cached pages in each worker process, and in memory that all processes of a server share."""

import mmap
import pickle
import threading
from collections import OrderedDict
from hashlib import blake2b

from bson import ObjectId
from django.conf import settings

from reader.page_cache.entries import Entry

Key = tuple[str, ...]


class PageCache:
    """The entries of one process, keyed by cache key, with a total size of at most `max_bytes`.

    The least recently used entries are removed first. Unbounded entries are removed before all others, because anyone
    can create any number of them by requesting such URLs.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.size = 0
        self.entries: OrderedDict[Key, Entry] = OrderedDict()
        # The last `site` version that this process has read.
        self.site_version: ObjectId | None = None
        self._lock = threading.Lock()

    def get(self, key: Key) -> Entry | None:
        with self._lock:
            if key in self.entries:
                self.entries.move_to_end(key)
            return self.entries.get(key)

    def put(self, key: Key, entry: Entry) -> None:
        with self._lock:
            self._remove(key)
            size = _size(key, entry)
            if size > self.max_bytes // 10:
                return
            self.entries[key] = entry
            self.size += size
            while self.size > self.max_bytes:
                oldest = next(iter(self.entries))
                self._remove(next((key for key, entry in self.entries.items() if entry.is_unbounded), oldest))

    def clear(self) -> None:
        with self._lock:
            self.entries.clear()
            self.size = 0

    def _remove(self, key: Key) -> None:
        if old := self.entries.pop(key, None):
            self.size -= _size(key, old)


class SharedPages:
    """Cached pages in memory that worker processes inherit from the process that forked them.

    If one process has rendered a page, the other processes use it, too. A hash of the key determines the page's slot,
    and a new page replaces the page in its slot. Slots aren't locked, so a slot can be overwritten while it is read. In
    this case, the stored digest doesn't match. The operating system allocates the memory only when pages are written.
    """

    # The size of a slot in bytes. Longer pages aren't shared.
    SLOT_SIZE = 16 * 1024
    _DIGEST_SIZE = 16
    _LENGTH_SIZE = 4

    def __init__(self, max_bytes: int) -> None:
        self.slots = max_bytes // self.SLOT_SIZE
        self.clear()

    def get(self, key: Key) -> Entry | None:
        """Return the entry that a process last stored with this key, or None if the entry has been replaced."""
        if not self.slots:
            return None
        start = self._offset(key)
        header = self._memory[start : start + self._DIGEST_SIZE + self._LENGTH_SIZE]
        begin = start + len(header)
        payload = self._memory[begin : begin + int.from_bytes(header[self._DIGEST_SIZE :])]
        if not payload or self._digest(payload) != header[: self._DIGEST_SIZE]:
            return None
        stored: tuple[Key, Entry] = pickle.loads(payload)
        return stored[1] if stored[0] == key else None

    def put(self, key: Key, entry: Entry) -> None:
        """Store a page for all processes, if it isn't unbounded and fits in a slot."""
        if not self.slots or entry.is_unbounded or len(entry.compressed) > self.SLOT_SIZE:
            return
        payload = pickle.dumps((key, entry))
        if len(payload) <= self.SLOT_SIZE - self._DIGEST_SIZE - self._LENGTH_SIZE:
            start = self._offset(key)
            record = self._digest(payload) + len(payload).to_bytes(self._LENGTH_SIZE) + payload
            self._memory[start : start + len(record)] = record

    def clear(self) -> None:
        """Replace the memory with new, empty memory for this process and the processes that it will fork."""
        self._memory = mmap.mmap(-1, max(1, self.slots * self.SLOT_SIZE))

    def _offset(self, key: Key) -> int:
        return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest()) % self.slots * self.SLOT_SIZE

    def _digest(self, payload: bytes) -> bytes:
        return blake2b(payload, digest_size=self._DIGEST_SIZE).digest()


def _size(key: Key, entry: Entry) -> int:
    """Return the approximate size in bytes of an entry and its key. A non-ASCII character needs up to 4 bytes."""
    return entry.size + sum(60 + (len(part) if part.isascii() else 4 * len(part)) for part in key)


cache = PageCache(settings.PAGE_CACHE_BYTES)
# The shared memory is twice as large as the cache of one process, because a slot is twice as large as most pages.
shared = SharedPages(2 * settings.PAGE_CACHE_BYTES)


def find(key: Key) -> Entry | None:
    """Return the entry from this process, or one that another process has shared, or None if there is neither."""
    entry = cache.get(key)
    if entry is None and (entry := shared.get(key)):
        cache.put(key, entry)
    return entry


def put(key: Key, entry: Entry) -> None:
    """Store a page in this process and for all other processes."""
    cache.put(key, entry)
    shared.put(key, entry)


def clear() -> None:
    """Remove all pages, as if the server had just started."""
    cache.clear()
    shared.clear()

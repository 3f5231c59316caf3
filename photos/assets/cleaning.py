"""Functions that recognize, clean and hash a file as its bytes arrive."""

import hashlib
import logging
from collections.abc import Iterator

from django.utils.translation import gettext as _

from photos.assets import formats, images
from photos.assets.errors import BROKEN, BadPicture, too_large
from photos.assets.limits import Limits, limits
from photos.assets.stream import Cleaner, ImageFacts, Source

logger = logging.getLogger(__name__)
# Cleaning can enlarge a file by up to this many bytes, because rewritten EXIF data and colour profiles can be longer.
SLACK = 4096


class Cleaning:
    """A cleaner for the bytes of one file. It also computes the hash of the clean bytes, but doesn't write anything."""

    def __init__(self, filename: str, allowed: Limits | None = None) -> None:
        self.limits = allowed or limits()
        self.facts = ImageFacts()
        self.format: formats.Format | None = None
        self._filename = filename
        self._received = 0
        self._yielded = 0
        self._head = bytearray()
        self._cleaner: Cleaner | None = None
        self._hash = hashlib.sha256()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Process the next bytes and yield the bytes to store.

        Raises:
            BadPicture: The file isn't acceptable. The exception is raised as early as possible.
        """
        self._received += len(data)
        if self._received > self.limits.max_bytes:
            raise too_large(BadPicture, self.limits.max_bytes)
        if self._cleaner is None:
            self._head += data
            if len(self._head) < formats.HEAD_SIZE:
                return
            data = self._begin()
        assert self._cleaner
        yield from self._check_and_hash(self._cleaner.feed(data))
        self._check_size()

    def end(self) -> Iterator[bytes]:
        """Mark the end of the file, and yield the last bytes to store.

        Raises:
            BadPicture: The file is incomplete.
        """
        if self._cleaner is None:
            data = self._begin()
            assert self._cleaner
            yield from self._check_and_hash(self._cleaner.feed(data))
        yield from self._check_and_hash(self._cleaner.end())
        self._check_size()

    @property
    def sha256(self) -> str:
        """The hash of all bytes that were yielded."""
        return self._hash.hexdigest()

    def _begin(self) -> bytes:
        head = bytes(self._head)
        self.format = formats.detect(head, self._filename)
        source = Source()
        self._cleaner = Cleaner(source, self.format.parse(source, self.facts, self.limits.keep_location))
        return head

    def _check_and_hash(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        for part in self._parse(parts):
            # The size is checked first, so that no more bytes are read if the image is too large.
            self._check_size()
            self._yielded += len(part)
            if self._yielded > self._received + SLACK:
                raise BadPicture(_("This file is damaged and can't be shown. Export it again."))
            self._hash.update(part)
            yield part

    @staticmethod
    def _parse(parts: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from parts
        except BROKEN as error:
            # Any other exception is a bug in the parser. The user sees an error message, and the cause is logged.
            logger.exception("A photo could not be parsed.")
            raise BadPicture(_("This file is damaged and can't be shown. Export it again.")) from error

    def _check_size(self) -> None:
        if self.facts.size[0] and self.format:
            images.check_size(self.facts, self.format, self.limits)

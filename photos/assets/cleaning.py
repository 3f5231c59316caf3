"""One picture on its way in: recognized, cleaned and hashed as it comes."""

import hashlib
import logging
from collections.abc import Iterator

from django.utils.translation import gettext as _

from photos.assets import formats, images
from photos.assets.errors import BROKEN, BadPicture
from photos.assets.limits import Limits, limits
from photos.assets.stream import Cleaner, Found, Source

logger = logging.getLogger(__name__)
# Bytes by which a cleaned picture may exceed what came: EXIF and colour profiles are written again, a little longer at most.
SLACK = 4096


class Cleaning:
    """The bytes of one file as they are to be stored, and their hash. Nothing is written."""

    def __init__(self, filename: str, allowed: Limits | None = None) -> None:
        self.limits = allowed or limits()
        self.found = Found()
        self.format: formats.Format | None = None
        self._filename = filename
        self._received = 0
        self._yielded = 0
        self._head = bytearray()
        self._cleaner: Cleaner | None = None
        self._hash = hashlib.sha256()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes, yield what to store. Raises BadPicture as soon as anything is wrong."""
        self._received += len(data)
        if self._received > self.limits.max_bytes:
            raise BadPicture(
                _("The file is larger than the %(most)d MB that are allowed.") % {"most": self.limits.max_bytes >> 20}
            )
        if self._cleaner is None:
            self._head += data
            if len(self._head) < formats.HEAD:
                return
            data = self._begin()
        assert self._cleaner
        yield from self._hashed(self._cleaner.feed(data))
        self._check()

    def end(self) -> Iterator[bytes]:
        """Say that there is no more, yield what is left to store. Raises BadPicture for a picture that is not whole."""
        if self._cleaner is None:
            data = self._begin()
            assert self._cleaner
            yield from self._hashed(self._cleaner.feed(data))
        yield from self._hashed(self._cleaner.end())
        self._check()

    @property
    def sha256(self) -> str:
        """The hash of all that was yielded."""
        return self._hash.hexdigest()

    def _begin(self) -> bytes:
        head = bytes(self._head)
        self.format = formats.of(head, self._filename)
        source = Source()
        self._cleaner = Cleaner(source, self.format.parse(source, self.found, self.limits.keep_location))
        return head

    def _hashed(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        for part in self._parsed(parts):
            # Before more is read of what may be too large.
            self._check()
            self._yielded += len(part)
            if self._yielded > self._received + SLACK:
                raise BadPicture(_("The picture is damaged and cannot be shown."))
            self._hash.update(part)
            yield part

    @staticmethod
    def _parsed(parts: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from parts
        except BROKEN as error:
            # A fault of the parser, which is the site's: its sender gets an answer, and the log the cause.
            logger.exception("A picture could not be parsed.")
            raise BadPicture(_("The picture is damaged and cannot be shown.")) from error

    def _check(self) -> None:
        if self.found.size[0] and self.format:
            images.check_size(self.found, self.format, self.limits)

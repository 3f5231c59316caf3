"""The parser for the meta box in ISO image files (ISO/IEC 14496-12, 8.11; 23008-12).

The meta box lists the items in a file, their offsets and their properties.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from photos.assets.errors import BadPicture

# Maximum number of items, and maximum number of properties. These numbers are limited because decoders compare each
# item and each property with all others.
MOST_ITEMS = 1_000


@dataclass(frozen=True)
class Box:
    """A box between the byte offsets `start` and `stop`. Its content begins at the offset `body`."""

    name: bytes
    start: int
    body: int
    stop: int


@dataclass(frozen=True)
class Item:
    """An entry in the iinf box.

    Its type starts at the byte offset `at`, and its strings are between the type and the offset `stop`.
    """

    type: bytes
    at: int
    stop: int
    words: bytes


@dataclass(frozen=True)
class Extent:
    """The location of an item that consists of one piece.

    `start` and `stop` are byte offsets in the file or in the idat box.
    """

    start: int
    stop: int
    in_idat: bool


@dataclass
class Meta:
    """The content of a meta box.

    Attributes:
        boxes: The boxes in the meta box.
        items: The entries of the iinf box, keyed by item number.
        extents: The locations of the items.
        properties: The property boxes. Their numbers start at 1.
        associations: For each item, the numbers of its properties, and whether a reader must support each property.
        references: The references between items, as (name, source, targets).
        primary: The number of the item that is shown.
    """

    boxes: list[Box] = field(default_factory=list)
    items: dict[int, Item] = field(default_factory=dict)
    extents: dict[int, Extent] = field(default_factory=dict)
    properties: list[Box] = field(default_factory=list)
    associations: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    references: list[tuple[bytes, int, list[int]]] = field(default_factory=list)
    primary: int = 0

    def referred(self, kind: bytes, source: int) -> list[int]:
        """Return the items that `source` refers to with references of this `kind`, such as "dimg" for grid cells."""
        return [
            target for name, item, targets in self.references if (name, item) == (kind, source) for target in targets
        ]

    def property(self, item: int, name: bytes) -> Box:
        """Return an item's only property with this name.

        Raises:
            BadPicture: The item has no such property, or it has several.
        """
        found = [self.properties[n - 1] for n, _must in self.associations.get(item, ())]
        named = [box for box in found if box.name == name]
        if len(named) != 1:
            raise damaged()
        return named[0]


class _Numbers:
    """A reader of consecutive unsigned numbers."""

    def __init__(self, data: bytes | bytearray, at: int, stop: int) -> None:
        self._data = data
        self.at = at
        self._stop = stop

    def next(self, size: int) -> int:
        if self.at + size > self._stop:
            raise damaged()
        self.at += size
        return int.from_bytes(self._data[self.at - size : self.at], "big")

    def version(self) -> int:
        """Return the version of a box, and skip the flags that follow it."""
        version = self.next(1)
        self.next(3)
        return version


def each(data: bytes | bytearray, start: int, stop: int) -> Iterator[Box]:
    """Yield the boxes between `start` and `stop`.

    Raises:
        BadPicture: The boxes don't exactly fill the space.
    """
    while start < stop:
        if stop - start < 8:
            raise damaged()
        size, name = struct.unpack_from(">I4s", data, start)
        if size < 8 or start + size > stop:
            raise damaged()
        yield Box(name, start, start + 8, start + size)
        start += size


def meta(data: bytes | bytearray) -> Meta:
    """Return the content of an image file's meta box. `data` begins after the box header.

    Raises:
        BadPicture: The box is damaged.
    """
    found = Meta(boxes=list(each(data, 4, len(data))))
    if len({box.name for box in found.boxes}) != len(found.boxes):
        raise damaged()
    for box in found.boxes:
        if box.name == b"pitm":
            numbers = _Numbers(data, box.body, box.stop)
            found.primary = numbers.next(4 if numbers.version() else 2)
        elif box.name == b"iinf":
            _items(data, box, found)
        elif box.name == b"iloc":
            _extents(data, box, found)
        elif box.name == b"iref":
            _references(data, box, found)
        elif box.name == b"iprp":
            _properties(data, box, found)
    if max(len(found.items), len(found.extents), len(found.properties), len(found.references)) > MOST_ITEMS:
        raise damaged()
    if any(n > len(found.properties) for known in found.associations.values() for n, _must in known):
        raise damaged()
    return found


def _items(data: bytes | bytearray, box: Box, found: Meta) -> None:
    numbers = _Numbers(data, box.body, box.stop)
    numbers.next(4 if numbers.version() else 2)
    for entry in each(data, numbers.at, box.stop):
        inner = _Numbers(data, entry.body, entry.stop)
        version = inner.version()
        number = inner.next(4 if version == 3 else 2)
        inner.next(2)
        at = inner.at
        inner.next(4)
        if entry.name != b"infe" or version not in (2, 3) or number in found.items:
            raise damaged()
        found.items[number] = Item(bytes(data[at : at + 4]), at, entry.stop, bytes(data[at + 4 : entry.stop]))


def _extents(data: bytes | bytearray, box: Box, found: Meta) -> None:
    """Add the extents of items to `found`. Items in several pieces or in other files are omitted."""
    numbers = _Numbers(data, box.body, box.stop)
    version = numbers.version()
    sizes = numbers.next(2)
    offset_size, length_size, base_size, index_size = (sizes >> shift & 15 for shift in (12, 8, 4, 0))
    index_size = index_size if version else 0
    known: set[int] = set()
    for _item in range(numbers.next(2 if version < 2 else 4)):
        number = numbers.next(2 if version < 2 else 4)
        method = numbers.next(2) & 15 if version else 0
        elsewhere = numbers.next(2)
        base = numbers.next(base_size)
        count = numbers.next(2)
        # If lengths took up no bytes, a small file could list any number of pieces, so such files are rejected.
        if number in known or len(known) > MOST_ITEMS or version > 2 or not length_size:
            raise damaged()
        known.add(number)
        if count != 1:
            numbers.next(count * (index_size + offset_size + length_size))
            continue
        numbers.next(index_size)
        start = base + numbers.next(offset_size)
        length = numbers.next(length_size)
        if not elsewhere and method in (0, 1) and length:
            found.extents[number] = Extent(start, start + length, method == 1)


def _references(data: bytes | bytearray, box: Box, found: Meta) -> None:
    inside = _Numbers(data, box.body, box.stop)
    size = 4 if inside.version() else 2
    for entry in each(data, inside.at, box.stop):
        numbers = _Numbers(data, entry.body, entry.stop)
        source = numbers.next(size)
        count = numbers.next(2)
        if count > MOST_ITEMS:
            raise damaged()
        found.references.append((entry.name, source, [numbers.next(size) for _target in range(count)]))


def _properties(data: bytes | bytearray, box: Box, found: Meta) -> None:
    for entry in each(data, box.body, box.stop):
        if entry.name == b"ipco" and not found.properties:
            found.properties = list(each(data, entry.body, entry.stop))
        elif entry.name == b"ipma":
            _associations(data, entry, found)
        else:
            raise damaged()


def _associations(data: bytes | bytearray, box: Box, found: Meta) -> None:
    numbers = _Numbers(data, box.body, box.stop)
    version = numbers.next(1)
    wide = numbers.next(3) & 1
    for _entry in range(numbers.next(4)):
        item = numbers.next(4 if version else 2)
        words = [numbers.next(2 if wide else 1) for _property in range(numbers.next(1))]
        must = 0x8000 if wide else 0x80
        if item in found.associations:
            raise damaged()
        # The number 0 means that the entry has no property.
        found.associations[item] = [(word & (must - 1), bool(word & must)) for word in words if word & (must - 1)]


def damaged() -> BadPicture:
    """Return the error for a damaged AVIF file."""
    return BadPicture(_("This AVIF file is damaged. Export it again."))

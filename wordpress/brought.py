"""Contents that earlier runs of the same source brought. The next run links to them and completes texts that lack something.

WordPress and its hosts cut large exports into files. A text of one file shows pictures and links to posts of another. So
each run remembers what it read of posts, pages, pictures and synced patterns, and keeps the source of texts that lack
something until a later run brings it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.utils.translation import gettext as _
from pymongo import UpdateOne

from marginalia.mongo.connection import batched, database
from nodes.types import Actor
from wordpress.collections import ITEMS
from wordpress.export.records import Attachment, Item
from wordpress.export.scan import PATTERN, Entry, Export, identifier, take_file
from wordpress.report import Report

__all__ = ["Waiting", "forget", "importer", "load", "remember", "still_waits", "wait", "waiting"]

BATCH = 500
# Fields of a post or page that are remembered.
FIELDS = ("link", "guid", "old_slug", "title", "above", "state", "is_public", "protected", "posted", "shown")


@dataclass(frozen=True, slots=True)
class Waiting:
    """The source of a text that lacks something, and `wants`: what it lacks, in words."""

    number: int
    wants: frozenset[str]
    body: str
    link: str
    footnotes: str
    picture: int


def importer() -> Actor:
    """Return who saves what no author wrote: sections, pictures, texts that are completed later."""
    return Actor(None, _("WordPress import"))


def load(export: Export, media: Path | None) -> None:
    """Add to `export` what earlier runs of its source read and it doesn't have."""
    attachments = {attachment.id for attachment in _attachments(export)}
    without_source = {"waiting.body": 0, "waiting.footnotes": 0}
    for item in database()[ITEMS].find({"source": export.key}, without_source).sort("number", 1):
        number = item["number"]
        record = item["record"]
        if item["kind"] == "attachment":
            if number not in attachments:
                # The report counts what this file has.
                take_file(export, Attachment(**record), media, Report())
        elif item["kind"] == PATTERN:
            export.old.patterns.setdefault(number, record["body"])
        else:
            _load_entry(export, number, is_page=item["kind"] == "page", record=record)
            if "waiting" in item:
                export.waiting[number] = set(item["waiting"]["wants"])


def _load_entry(export: Export, number: int, *, is_page: bool, record: Mapping[str, Any]) -> None:
    entry = Entry(
        number=number,
        line=0,
        is_page=is_page,
        wanted="",
        has_slug=False,
        approved=0,
        is_here=False,
        id=identifier(export.key, "page" if is_page else "post", number),
        **{**record, "shown": tuple(record["shown"])},
    )
    export.shown |= set(entry.shown)
    if number not in export.entries:
        export.entries[number] = entry
        export.old.add_page(number, entry.link, entry.guid, entry.old_slug)


def remember(export: Export) -> None:
    """Store what this run read, for the runs over the other files of the same source."""
    found: list[tuple[str, int, dict[str, Any]]] = [
        (entry.type, entry.number, _record(entry)) for entry in export.entries.values() if entry.is_here
    ]
    found += [("attachment", attachment.id, asdict(attachment)) for attachment in _attachments(export) if attachment.id]
    found += [
        (PATTERN, number, {"body": body})
        for number, body in export.old.patterns.items()
        if len(body.encode(errors="replace")) <= settings.TEXT_MAX_BYTES
    ]
    for some in batched(found, BATCH):
        writes = [
            UpdateOne(
                {"_id": identifier(export.key, kind, number)},
                {"$set": {"source": export.key, "number": number, "kind": kind, "record": record}},
                upsert=True,
            )
            for kind, number, record in some
        ]
        database()[ITEMS].bulk_write(writes, ordered=False)


def _record(entry: Entry) -> dict[str, Any]:
    """Return the fields of a post or page to remember, with the page above it that a later run may bring."""
    return {name: getattr(entry, name) for name in FIELDS} | {"above": entry.orphan_of or entry.above}


def _attachments(export: Export) -> Iterator[Attachment]:
    yield from (attachment for attachment, _path in export.found)
    yield from export.absent


def wait(node_id: ObjectId, item: Item, wants: Iterable[str]) -> None:
    """Keep the source of a text, which lacks what `wants` says, or forget it if it lacks nothing."""
    source = {"body": item.body, "link": item.link, "footnotes": item.footnotes, "picture": item.picture}
    _set_waiting(node_id, {"wants": sorted(wants), **source} if wants else None)


def still_waits(node_id: ObjectId, wants: Iterable[str]) -> None:
    """Note what a text lacks that waits already; forget its source if it lacks nothing."""
    if wants:
        database()[ITEMS].update_one({"_id": node_id}, {"$set": {"waiting.wants": sorted(wants)}})
    else:
        _set_waiting(node_id, None)


def _set_waiting(node_id: ObjectId, value: dict[str, Any] | None) -> None:
    change = {"$set": {"waiting": value}} if value else {"$unset": {"waiting": ""}}
    database()[ITEMS].update_one({"_id": node_id}, change)


def waiting(export: Export) -> Iterator[Waiting]:
    """Yield the texts of this source that wait for something, with their sources."""
    # One by one: a text may have a megabyte, and completing it takes longer than a cursor lives.
    for number in sorted(export.waiting):
        entry = export.entries.get(number)
        item = database()[ITEMS].find_one({"_id": entry.id}, {"waiting": 1}) if entry else None
        if item and (found := item.get("waiting")):
            wants = frozenset(found.pop("wants"))
            yield Waiting(number=number, wants=wants, **found)


def forget(node_id: ObjectId) -> None:
    """Forget what was read of a post or page that was deleted permanently."""
    database()[ITEMS].delete_one({"_id": node_id})

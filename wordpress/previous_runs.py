"""Data that each run stores for later runs with the same source.

With this data, a run can link to content that previous runs have imported, and complete posts in which parts were
missing.

WordPress and hosting companies split large exports into several files. A post in one file can show pictures from
another file, and link to posts in other files. Therefore, each run stores data about the posts, pages, pictures and
synced patterns that it has read. If parts of a post or page are missing, its source is stored too, until a later run
has read the missing parts.
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
from wordpress.export.scan import PATTERN, Entry, Export, add_file, identifier
from wordpress.report import Report

__all__ = [
    "IncompleteText",
    "forget",
    "import_actor",
    "load",
    "iter_incomplete",
    "remember",
    "save_incomplete",
    "update_wants",
]

BATCH = 500
# The fields of a post or page that are stored.
FIELDS = ("link", "guid", "old_slug", "title", "above", "state", "is_public", "protected", "posted", "shown")


@dataclass(frozen=True, slots=True)
class IncompleteText:
    """The source of a post or page in which parts are missing.

    Attributes:
        wants: Descriptions of the missing parts.
    """

    number: int
    wants: frozenset[str]
    body: str
    link: str
    footnotes: str
    picture: int


def import_actor() -> Actor:
    """Return the actor for changes that have no author: sections, pictures, and later additions to posts and pages."""
    return Actor(None, _("WordPress import"))


def load(export: Export, media: Path | None) -> None:
    """Add to `export` the items that it doesn't contain, but that previous runs of the same source have read."""
    attachments = {attachment.id for attachment in _attachments(export)}
    without_source = {"waiting.body": 0, "waiting.footnotes": 0}
    for item in database()[ITEMS].find({"source": export.key}, without_source).sort("number", 1):
        number = item["number"]
        record = item["record"]
        if item["kind"] == "attachment":
            if number not in attachments:
                # Use a separate report, because the report of the import counts only the current file.
                add_file(export, Attachment(**record), media, Report())
        elif item["kind"] == PATTERN:
            export.old.patterns.setdefault(number, record["body"])
        else:
            _load_entry(export, number, is_page=item["kind"] == "page", record=record)
            if "waiting" in item:
                export.incomplete[number] = set(item["waiting"]["wants"])


def _load_entry(export: Export, number: int, *, is_page: bool, record: Mapping[str, Any]) -> None:
    entry = Entry(
        number=number,
        line=0,
        is_page=is_page,
        wanted_slug="",
        has_slug=False,
        approved=0,
        in_this_file=False,
        id=identifier(export.key, "page" if is_page else "post", number),
        **{**record, "shown": tuple(record["shown"])},
    )
    export.public_pictures |= set(entry.shown)
    if number not in export.entries:
        export.entries[number] = entry
        export.old.add_page(number, entry.link, entry.guid, entry.old_slug)


def remember(export: Export) -> None:
    """Store the items that this run has read, for later runs with other files from the same source."""
    records: list[tuple[str, int, dict[str, Any]]] = [
        (entry.type, entry.number, _record(entry)) for entry in export.entries.values() if entry.in_this_file
    ]
    records += [
        ("attachment", attachment.id, asdict(attachment)) for attachment in _attachments(export) if attachment.id
    ]
    records += [
        (PATTERN, number, {"body": body})
        for number, body in export.old.patterns.items()
        if len(body.encode(errors="replace")) <= settings.TEXT_MAX_BYTES
    ]
    for batch in batched(records, BATCH):
        writes = [
            UpdateOne(
                {"_id": identifier(export.key, kind, number)},
                {"$set": {"source": export.key, "number": number, "kind": kind, "record": record}},
                upsert=True,
            )
            for kind, number, record in batch
        ]
        database()[ITEMS].bulk_write(writes, ordered=False)


def _record(entry: Entry) -> dict[str, Any]:
    """Return the fields of a post or page that are stored.

    `above` contains the number of the parent page even if this page is missing, because a later run may read it.
    """
    return {name: getattr(entry, name) for name in FIELDS} | {"above": entry.missing_parent or entry.above}


def _attachments(export: Export) -> Iterator[Attachment]:
    yield from (attachment for attachment, _path in export.files)
    yield from export.missing_files


def save_incomplete(node_id: ObjectId, item: Item, wants: Iterable[str]) -> None:
    """Store the source of a post or page, and which parts are missing. If none are missing, delete the source."""
    source = {"body": item.body, "link": item.link, "footnotes": item.footnotes, "picture": item.picture}
    _set_waiting(node_id, {"wants": sorted(wants), **source} if wants else None)


def update_wants(node_id: ObjectId, wants: Iterable[str]) -> None:
    """Update the list of parts missing from a post or page. If no parts are missing, delete the stored source."""
    if wants:
        database()[ITEMS].update_one({"_id": node_id}, {"$set": {"waiting.wants": sorted(wants)}})
    else:
        _set_waiting(node_id, None)


def _set_waiting(node_id: ObjectId, value: dict[str, Any] | None) -> None:
    change = {"$set": {"waiting": value}} if value else {"$unset": {"waiting": ""}}
    database()[ITEMS].update_one({"_id": node_id}, change)


def iter_incomplete(export: Export) -> Iterator[IncompleteText]:
    """Yield the posts and pages from this source in which parts are missing."""
    # Run a separate query for each post or page. Each can be as large as a megabyte, and completing all of them may
    # take longer than a cursor stays open.
    for number in sorted(export.incomplete):
        entry = export.entries.get(number)
        item = database()[ITEMS].find_one({"_id": entry.id}, {"waiting": 1}) if entry else None
        if item and (source := item.get("waiting")):
            wants = frozenset(source.pop("wants"))
            yield IncompleteText(number=number, wants=wants, **source)


def forget(node_id: ObjectId) -> None:
    """Delete the stored data of a post or page that was permanently deleted."""
    database()[ITEMS].delete_one({"_id": node_id})

"""Writing a site, or a part of it, to an archive: what editors and readers wrote, and nothing that opens a door.

Accounts, tokens, sessions, network addresses and jobs are not read at all; e-mail addresses of comments only if asked for.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bson import ObjectId

from marginalia.comments.errors import DiscussionBusy, DiscussionDamaged
from marginalia.comments.operations import transfer
from marginalia.comments.reading import selectors as discussed
from marginalia.comments.types import Discussion, Target
from marginalia.mongo.clock import now
from nodes.content import CONTENT
from nodes.models import Node, Photo, stored_site, tree
from nodes.models.stored_site import StoredSettings
from photos.assets.reader import MissingChunk
from transfer import exported, importing_photos
from transfer.archive import (
    DISCUSSIONS,
    NODES,
    OLD_LINKS,
    PENDING,
    PHOTOS,
    REDIRECTS,
    REVISIONS,
    SECTIONS,
    SETTINGS,
    Lines,
    Manifest,
    Writer,
)
from transfer.exported import Part
from transfer.lines import encoded
from wordpress import old_links

Step = Callable[[], object]
SECOND = timedelta(seconds=1)


class NoSuchSection(Exception):
    """There is no section at this address."""


def export_site(
    path: Path, *, section: str = "", since: datetime | None = None, addresses: bool = False, step: Step = lambda: None
) -> "Export":
    """Write the site, or a section with all below it, to a folder, or to a zip if it is called so; return what is in it.

    `since`: only what was changed from then on. `step` is called for each document. Raises NoSuchSection, FileExistsError,
    OSError.
    """
    part = Part(_below(section) if section else None, since)
    writer = Writer(path)
    export = Export(part, section, addresses, writer, step)
    try:
        export.run()
    finally:
        writer.abort()
    return export


def _below(address: str) -> frozenset[ObjectId]:
    section = tree.fresh().resolve(address)
    if section is None:
        raise NoSuchSection(f"/{address.strip('/')}")
    return exported.below(section.id)


@dataclass
class Export:
    """An export under way. `ids` are the nodes and photos in it, `lost` names what could not be read and why; `manifest` is
    there at the end."""

    part: Part
    section: str
    addresses: bool
    writer: Writer
    step: Step
    ids: set[ObjectId] = field(default_factory=set)
    lost: list[str] = field(default_factory=list)
    manifest: Manifest | None = None

    def run(self) -> None:
        """Write all of it."""
        self._write(SECTIONS, map(self._noted, exported.sections(self.part)))
        self._write(NODES, map(self._noted, exported.leaves(self.part)))
        self._write(PHOTOS, self._photos())
        of = frozenset(self.ids)
        self._write(REVISIONS, exported.revisions(self.part, sorted(of)))
        self._write(REDIRECTS, exported.redirects(self.part, of))
        self._write(OLD_LINKS, (link for link in old_links.all_links() if link["node_id"] in of))
        self._write(SETTINGS, _settings() if self.part.ids is None else ())
        self._discussions()
        self._write(PENDING, (row for row in transfer.waiting(addresses=self.addresses) if self._holds(_target(row))))
        since = self.part.since.isoformat() if self.part.since else None
        options = {"section": self.section, "since": since, "addresses": self.addresses}
        self.manifest = self.writer.finish(now().isoformat(), options)

    def _write(self, name: str, records: Iterable[dict[str, Any]]) -> None:
        with self.writer.lines(name) as lines:
            self._add(lines, records)

    def _add(self, lines: Lines, records: Iterable[dict[str, Any]]) -> None:
        for record in records:
            lines.add(encoded(record))
            self.step()

    def _noted(self, record: dict[str, Any]) -> dict[str, Any]:
        self.ids.add(record["_id"])
        return record

    def _photos(self) -> Iterator[dict[str, Any]]:
        """Yield the photos and contents, each after its bytes were written."""
        # By the content that is yet to come.
        shown: dict[ObjectId, str] = {}
        for record in exported.photos(self.part):
            is_content = record["metadata"]["type"] == CONTENT
            shown.pop(record["_id"], None)
            if is_content and record["metadata"]["parent_id"] not in self.ids:
                continue
            sha256 = ""
            if record["length"]:
                try:
                    sha256 = self.writer.picture(record["_id"], importing_photos.pieces(record["_id"]))
                except MissingChunk:
                    self.lost.append(f"{record['filename']} ({record['_id']}): its bytes are not whole")
                    continue
            if not is_content and record["metadata"]["content_id"] != record["_id"]:
                shown[record["metadata"]["content_id"]] = f"{record['filename']} ({record['_id']})"
            yield (record if is_content else self._noted(record)) | {"sha256": sha256}
        self.lost += [f"the picture that {photo} shows: it is not there" for photo in shown.values()]

    def _discussions(self) -> None:
        with self.writer.lines(DISCUSSIONS) as lines:
            for target in filter(self._holds, discussed.begun()):
                self._discussion(lines, target)

    def _discussion(self, lines: Lines, target: Target) -> None:
        """Write a discussion, nothing of it if it was not changed since, or cannot be read to its end."""

        def write(rows: transfer.Rows) -> None:
            with lines.together():
                self._add(lines, rows)

        try:
            if self._is_later(discussed.discussion(target)):
                transfer.read(target, write, addresses=self.addresses)
        except (DiscussionBusy, DiscussionDamaged) as error:
            self.lost.append(f"the discussion {target}: {error}")

    def _is_later(self, found: Discussion) -> bool:
        # An id knows its second.
        return self.part.since is None or ObjectId(found.version).generation_time + SECOND > self.part.since

    def _holds(self, target: Target) -> bool:
        """Return whether what a discussion is about is in the export: of the whole site, other things than nodes too."""
        if target.label not in (Node._meta.label_lower, Photo._meta.label_lower):
            return self.part.ids is None
        if not ObjectId.is_valid(target.pk) or not self.part.holds(id := ObjectId(target.pk)):
            return False
        return id in self.ids or (self.part.since is not None and exported.is_there(id))


def _settings() -> Iterator[dict[str, Any]]:
    """Yield the settings that were set."""
    usual = asdict(StoredSettings())
    for name, value in asdict(stored_site.read().settings).items():
        if value != usual[name]:
            yield {"setting": name, "value": value}


def _target(row: dict[str, Any]) -> Target:
    return Target.parse(row["discussion"])

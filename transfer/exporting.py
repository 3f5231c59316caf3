"""Export a site or a section to an archive.

The archive contains what editors and readers wrote, but no credentials.

The export never reads accounts, tokens, sessions, IP addresses or jobs. It reads email addresses of comment authors
only if this is requested.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bson import ObjectId

from api.embed import pages as embedded_pages
from marginalia.comments.errors import DiscussionBusy, DiscussionDamaged
from marginalia.comments.operations import transfer
from marginalia.comments.reading import selectors
from marginalia.comments.types import Discussion, Target
from marginalia.mongo.clock import now
from nodes.content import CONTENT
from nodes.models import Node, Photo, stored_site, tree
from nodes.models.stored_site import StoredSettings
from photos.assets.reader import MissingChunk
from transfer import exported, importing_photos
from transfer.archive import (
    DISCUSSIONS,
    EMBEDDED_PAGES,
    MANUAL_REDIRECTS,
    NODES,
    OLD_LINKS,
    PENDING,
    PHOTOS,
    REDIRECTS,
    REVISIONS,
    SECTIONS,
    SETTINGS,
    TAGS,
    ArchiveWriter,
    LineWriter,
    Manifest,
)
from transfer.exported import Selection
from transfer.lines import encode
from wordpress import old_links

Step = Callable[[], object]
SECOND = timedelta(seconds=1)


class NoSuchSection(Exception):
    """There is no section at this path."""


def export_site(
    path: Path, *, section: str = "", since: datetime | None = None, addresses: bool = False, step: Step = lambda: None
) -> "Export":
    """Write the site, or a section and its contents at all levels, to an archive.

    Args:
        path: The path of the archive. If it ends with ".zip", the archive is a zip. Otherwise, it is a folder.
        section: The path of the section to export, or "" for the whole site.
        since: Export only what has changed since this time, or everything if `since` is None.
        addresses: Whether to include the email addresses of comment authors.
        step: A function that is called for each document.

    Returns:
        The finished export.

    Raises:
        NoSuchSection: There is no section at this path.
        FileExistsError: The archive already exists.
        OSError: The archive cannot be written.
    """
    selection = Selection(_section_ids(section) if section else None, since)
    writer = ArchiveWriter(path)
    export = Export(selection, section, addresses, writer, step)
    try:
        export.run()
    finally:
        writer.abort()
    return export


def _section_ids(address: str) -> frozenset[ObjectId]:
    section = tree.fresh().resolve(address)
    if section is None:
        raise NoSuchSection(f"/{address.strip('/')}")
    return exported.ids_of_section(section.id)


@dataclass
class Export:
    """A running export.

    Attributes:
        ids: The ids of the exported nodes and photos.
        unreadable: Descriptions of the documents that could not be read, each with the reason.
        manifest: The manifest, or None until the export is complete.
    """

    selection: Selection
    section: str
    addresses: bool
    writer: ArchiveWriter
    step: Step
    ids: set[ObjectId] = field(default_factory=set)
    unreadable: list[str] = field(default_factory=list)
    manifest: Manifest | None = None

    def run(self) -> None:
        """Write the whole archive."""
        self._write(SECTIONS, map(self._add_id, exported.sections(self.selection)))
        self._write(NODES, map(self._add_id, exported.leaves(self.selection)))
        self._write(PHOTOS, self._photos())
        ids = frozenset(self.ids)
        self._write(REVISIONS, exported.revisions(self.selection, sorted(ids)))
        self._write(REDIRECTS, exported.redirects(self.selection, ids))
        self._write(OLD_LINKS, (link for link in old_links.all_links() if link["node_id"] in ids))
        self._write(MANUAL_REDIRECTS, exported.manual_redirects() if self.selection.ids is None else ())
        self._write(TAGS, exported.tags() if self.selection.ids is None else ())
        self._write(SETTINGS, _settings() if self.selection.ids is None else ())
        self._write(EMBEDDED_PAGES, embedded_pages.stored() if self.selection.ids is None else ())
        self._discussions()
        self._write(
            PENDING, (row for row in transfer.held_rows(addresses=self.addresses) if self._includes(_target(row)))
        )
        since = self.selection.since.isoformat() if self.selection.since else None
        options = {"section": self.section, "since": since, "addresses": self.addresses}
        self.manifest = self.writer.finish(now().isoformat(), options)

    def _write(self, name: str, records: Iterable[dict[str, Any]]) -> None:
        with self.writer.lines(name) as lines:
            self._add(lines, records)

    def _add(self, lines: LineWriter, records: Iterable[dict[str, Any]]) -> None:
        for record in records:
            lines.add(encode(record))
            self.step()

    def _add_id(self, record: dict[str, Any]) -> dict[str, Any]:
        self.ids.add(record["_id"])
        return record

    def _photos(self) -> Iterator[dict[str, Any]]:
        """Write the bytes of photos and of their additional files. Yield each document after its bytes are written."""
        # Descriptions of photos, keyed by the id of the photo's current file, which comes later. An entry is removed
        # when this file is read, so the entries that remain are photos whose file is missing.
        shown: dict[ObjectId, str] = {}
        for record in exported.photos(self.selection):
            is_content = record["metadata"]["type"] == CONTENT
            shown.pop(record["_id"], None)
            if is_content and record["metadata"]["parent_id"] not in self.ids:
                continue
            sha256 = ""
            if record["length"]:
                try:
                    sha256 = self.writer.picture(record["_id"], importing_photos.read_pieces(record["_id"]))
                except MissingChunk:
                    self.unreadable.append(f"{record['filename']} ({record['_id']}): its file is incomplete")
                    continue
            if not is_content and record["metadata"]["content_id"] != record["_id"]:
                shown[record["metadata"]["content_id"]] = f"{record['filename']} ({record['_id']})"
            yield (record if is_content else self._add_id(record)) | {"sha256": sha256}
        self.unreadable += [f"the file of {photo}: it doesn't exist" for photo in shown.values()]

    def _discussions(self) -> None:
        with self.writer.lines(DISCUSSIONS) as lines:
            for target in filter(self._includes, selectors.iterate_targets()):
                self._discussion(lines, target)

    def _discussion(self, lines: LineWriter, target: Target) -> None:
        """Write a discussion if it has changed since `since` and can be read completely."""

        def write(rows: transfer.Rows) -> None:
            with lines.all_or_nothing():
                self._add(lines, rows)

        try:
            if self._was_changed(selectors.discussion(target)):
                transfer.read_rows(target, write, addresses=self.addresses)
        except (DiscussionBusy, DiscussionDamaged) as error:
            self.unreadable.append(f"the discussion {target}: {error}")

    def _was_changed(self, discussion: Discussion) -> bool:
        if self.selection.since is None:
            return True
        if not discussion.version:  # its first comment waits for a moderator, or is being written
            return discussion.writing
        # An ObjectId contains the time only in whole seconds, so allow for the fraction of a second that is missing.
        return ObjectId(discussion.version).generation_time + SECOND > self.selection.since

    def _includes(self, target: Target) -> bool:
        """Return whether to export the discussion of a target.

        Discussions about objects other than nodes and photos are included only if the whole site is exported.
        """
        if target.label not in (Node._meta.label_lower, Photo._meta.label_lower):
            return self.selection.ids is None
        if not ObjectId.is_valid(target.pk) or not self.selection.includes(id := ObjectId(target.pk)):
            return False
        return id in self.ids or (self.selection.since is not None and exported.exists(id))


def _settings() -> Iterator[dict[str, Any]]:
    """Yield the settings that differ from their defaults."""
    defaults = asdict(StoredSettings())
    for name, value in asdict(stored_site.read().settings).items():
        if value != defaults[name]:
            yield {"setting": name, "value": value}


def _target(row: dict[str, Any]) -> Target:
    return Target.parse(row["discussion"])

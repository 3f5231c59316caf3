"""Import an archive, or do a dry run. If an import is interrupted, run it again to resume it.

A document that is already stored is kept. If an earlier version of a document is stored, it is replaced. If a document
has been changed on this site as well, it is skipped and reported.
"""

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from api.embed import pages as embedded_pages
from api.embed.pages import InvalidAddress, PageAddress
from marginalia.comments.errors import CommentError
from marginalia.comments.operations import transfer
from marginalia.comments.posting import policy
from marginalia.comments.types import Target
from marginalia.mongo.reading import MALFORMED
from nodes import setting_fields
from nodes.access import System
from nodes.actions import SaveRedirect
from nodes.content import CONTENT
from nodes.errors import NodeError, TooBusy
from nodes.models import Node, Photo, stored_site
from nodes.models.stored_site import StoredSettings
from nodes.selectors import manual_redirects, stored_tags
from nodes.services import tags as tag_services
from nodes.services.site import SettingsConflict, invalidate, save_settings
from nodes.tags import LONGEST_DESCRIPTION, normalized
from transfer import exported, importing_nodes, importing_photos
from transfer.archive import (
    DISCUSSIONS,
    EMBEDDED_PAGES,
    FILES,
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
    Archive,
)
from transfer.importing_nodes import ImportResult, Outcome, Unstored
from wordpress import old_links

Results = Iterator[ImportResult]
CHANGED = gettext_lazy("it has been changed here")
NOT_HERE = gettext_lazy("its page doesn't exist here")


@dataclass
class ImportSummary:
    """The outcomes of an import.

    Attributes:
        counts: How many documents of each file had each outcome.
        skipped: The results for skipped documents.
        replaced: Descriptions of the earlier versions that were replaced.
    """

    counts: dict[str, Counter[Outcome]] = field(default_factory=lambda: {name: Counter() for name in FILES})
    skipped: list[ImportResult] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    @property
    def skipped_by_label(self) -> dict[str, ImportResult]:
        """Return the results for skipped documents, keyed by label."""
        return {result.label: result for result in self.skipped}

    def count_differing(self, imported: "ImportSummary") -> int:
        """Return how many documents on this site differ from the archive, except those that `imported` skipped."""
        known = imported.skipped_by_label
        newly_skipped = sum(result.label not in known for result in self.skipped)
        return self.count(Outcome.NEW) + self.count(Outcome.NEWER) + newly_skipped

    def count(self, outcome: Outcome) -> int:
        """Return how many documents had the outcome `outcome`."""
        return sum(counts[outcome] for counts in self.counts.values())


@dataclass
class Import:
    """An import of an archive.

    Attributes:
        dry_run: Whether to only determine the results, without storing anything.
        reads_photos: Whether to compare the bytes of photos that are already stored with those in the archive.
        step: A function that is called for each document.
    """

    archive: Archive
    dry_run: bool = False
    reads_photos: bool = False
    step: Callable[[], object] = lambda: None
    # The results for documents that an earlier run skipped, keyed by label. The revisions of skipped nodes and photos
    # are not imported.
    skipped_before: dict[str, ImportResult] = field(default_factory=dict)
    _skipped_ids: set[ObjectId | None] = field(default_factory=set, init=False)
    _unstored: Unstored = field(default_factory=Unstored, init=False)
    _moderates: Callable[[str], bool] = field(default_factory=lambda: cache(policy.is_moderator_key), init=False)

    def run(self) -> ImportSummary:
        """Import the archive, and return a summary of the outcomes.

        Raises:
            BadArchive: The archive cannot be read.
        """
        summary = ImportSummary()
        # Revisions of skipped nodes must be left out. An import gets the skipped nodes from the dry run before it. A
        # dry run knows which nodes are skipped only when it has read all nodes, so it reads the revisions last.
        last = (REVISIONS,) if self.dry_run else ()
        self._skipped_ids = {result.id for result in self.skipped_before.values()}
        if self.dry_run:
            self._unstored = self._list_contents()
        try:
            for name in (*(name for name in FILES if name not in last), *last):
                for new_result in self._import_file(name):
                    result = self.skipped_before.get(new_result.label, new_result) if self.dry_run else new_result
                    summary.counts[name][result.outcome] += 1
                    if result.replaced:
                        summary.replaced.append(result.replaced)
                    if result.outcome is Outcome.SKIPPED:
                        summary.skipped.append(result)
                        self._skipped_ids.add(result.id)
                        if result.id:
                            self._unstored.types.pop(result.id, None)
                    self.step()
        finally:
            if not self.dry_run:
                invalidate()
        return summary

    def _list_contents(self) -> Unstored:
        """Return the ids and types of the archive's nodes and photos. `run` later removes those that are skipped."""
        types = {
            record["_id"]: str(record["metadata"].get("type"))
            for name in (SECTIONS, PHOTOS, NODES)
            for record in self.archive.records(name)
            if record["_id"] not in self._skipped_ids
        }
        return Unstored(types, lambda: (record["_id"] for record in self.archive.records(REVISIONS)))

    def _import_file(self, name: str) -> Results:
        records = self.archive.records(name)
        import_node = partial(importing_nodes.import_node, dry_run=self.dry_run, unstored=self._unstored)
        importers: dict[str, Callable[[dict[str, Any]], ImportResult]] = {
            SECTIONS: import_node,
            NODES: import_node,
            REDIRECTS: partial(importing_nodes.import_redirect, dry_run=self.dry_run),
            OLD_LINKS: self._old_link,
            MANUAL_REDIRECTS: self._manual_redirect,
            TAGS: self._tag,
            SETTINGS: self._setting,
            EMBEDDED_PAGES: self._embedded_page,
            PENDING: self._pending,
        }
        if name == REVISIONS:
            return importing_nodes.import_revisions(self._needed_revisions(records), dry_run=self.dry_run)
        if name == PHOTOS:
            return self._photos(records)
        if name == DISCUSSIONS:
            return self._discussions(records)
        return map(importers[name], records)

    def _needed_revisions(self, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the revisions of nodes and photos that are not skipped."""
        # To save memory, the nonces in each node's history are stored as a single bytes object. In an archive, all
        # revisions of a node follow one another, so each bytes object has to be split only once.
        past = {
            record["_id"]: b"".join(nonce.binary for nonce in record["history"] if isinstance(nonce, ObjectId))
            for name in (SECTIONS, PHOTOS, NODES)
            for record in self.archive.records(name)
            if record["_id"] not in self._skipped_ids and isinstance(record.get("history"), list)
        }
        for node_id, revisions in groupby(records, itemgetter("node_id")):
            nonces = past.get(node_id, b"")
            known = {nonces[start : start + 12] for start in range(0, len(nonces), 12)}
            yield from (revision for revision in revisions if revision["_id"].binary in known)

    def _photos(self, records: Iterable[dict[str, Any]]) -> Results:
        """Import photos and their additional files, and yield the results.

        Earlier versions of photos are not replaced until all files are stored. A photo is skipped if its current file
        is not on this site, and can't be imported.
        """
        newer: set[ObjectId] = set()
        exported_files = {
            record["_id"]: (record["length"], record["sha256"])
            for record in self.archive.records(PHOTOS)
            if record["metadata"].get("type") == CONTENT
        }
        for record in records:
            try:
                importing_photos.check_current_file(record, exported_files, self.archive.picture)
            except NodeError as error:
                yield importing_nodes.skip(record, importing_nodes.explain(error))
                continue
            result = importing_photos.import_photo(
                record, self.archive.picture(record["_id"]), dry_run=self.dry_run, unstored=self._unstored
            )
            if result.outcome is Outcome.NEWER and not self.dry_run:
                newer.add(record["_id"])
                continue
            if result.outcome is Outcome.SAME and self.reads_photos and not importing_photos.has_same_bytes(record):
                result = importing_nodes.skip(record, _("its file here differs from the export"))
            yield result
        for record in self.archive.records(PHOTOS) if newer else ():
            if record["_id"] in newer:
                yield importing_photos.import_photo(record, (), replace=True)

    def _old_link(self, record: dict[str, Any]) -> ImportResult:
        label = (_("the old URL %(name)s") % {"name": record.get("path")})[:200]
        try:
            is_new = old_links.import_link(record, dry_run=self.dry_run)
        except ValueError as error:
            return ImportResult(Outcome.SKIPPED, label, str(error))
        return ImportResult(Outcome.NEW if is_new else Outcome.SAME, label)

    def _manual_redirect(self, record: dict[str, Any]) -> ImportResult:
        label = (_("the redirect from %(name)s") % {"name": record["url"]})[:200]
        if (stored := manual_redirects.get(record["url"])) and stored.target == record["target"]:
            return ImportResult(Outcome.SAME, label)
        action = SaveRedirect(user=System("import"), url=record["url"], target=record["target"])
        try:
            if self.dry_run:
                action.check()
            else:
                action.execute()
        except NodeError as error:
            return ImportResult(Outcome.SKIPPED, label, str(error))
        return ImportResult(Outcome.NEW, label)

    def _tag(self, record: dict[str, Any]) -> ImportResult:
        name, description, renamed_to = record["tag"], record["description"], record["renamed_to"]
        label = (_("the tag %(name)s") % {"name": name})[:200]
        stored = stored_tags.get(name)
        if stored.nonce and (stored.description, stored.renamed_to) == (description, renamed_to):
            return ImportResult(Outcome.SAME, label)
        if stored.nonce:
            return ImportResult(Outcome.SKIPPED, label, _("it has another description or name here"))
        if not name or normalized(name) != name or normalized(renamed_to) != renamed_to:
            return ImportResult(Outcome.SKIPPED, label, _("this isn't a tag"))
        if len(description) > LONGEST_DESCRIPTION:
            return ImportResult(Outcome.SKIPPED, label, _("its description is too long"))
        if not self.dry_run:
            tag_services.import_tag(name, description, renamed_to)
        return ImportResult(Outcome.NEW, label)

    def _setting(self, record: dict[str, Any]) -> ImportResult:
        name = record["setting"]
        value = record.get("value")
        label = _("the setting %(name)s") % {"name": name[:40]}
        defaults = asdict(StoredSettings())
        present = asdict(stored_site.read().settings)
        if name not in defaults:
            return ImportResult(Outcome.SKIPPED, label, _("this release has no such setting"))
        if present[name] == value:
            return ImportResult(Outcome.SAME, label)
        if present[name] != defaults[name]:
            return ImportResult(Outcome.SKIPPED, label, _("it has another value here"))
        try:
            form_value = str(value) if isinstance(value, ObjectId) else value
            if setting_fields.FIELDS[name].clean(form_value) != value:
                raise ValidationError(_("its form would store it differently"))
            if not self.dry_run:
                save_settings({name: value}, {name: defaults[name]})
        except (ValidationError, SettingsConflict, TooBusy, *MALFORMED) as error:
            return ImportResult(Outcome.SKIPPED, label, _("it can't be stored: %(error)s") % {"error": error})
        return ImportResult(Outcome.NEW, label)

    def _embedded_page(self, record: dict[str, Any]) -> ImportResult:
        label = (_("the page %(name)s") % {"name": record["page"]})[:200]
        try:
            address = PageAddress.parse(record["page"])
        except InvalidAddress as error:
            return ImportResult(Outcome.SKIPPED, label, str(error))
        if embedded_pages.find(address):
            return ImportResult(Outcome.SAME, label)
        if not self.dry_run:
            embedded_pages.get_or_create(address, record["title"])
        return ImportResult(Outcome.NEW, label)

    def _discussions(self, records: Iterable[dict[str, Any]]) -> Results:
        """Import one discussion after another, and yield the results of each discussion and its comments."""
        settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
        count = 0

        def number(record: dict[str, Any]) -> int:
            nonlocal count
            count += "discussion" in record
            return count

        for _number, rows in groupby(map(self._check_moderator, records), number):
            yield from self._discussion(rows)

    def _discussion(self, rows: Iterator[dict[str, Any]]) -> Results:
        head = next(rows)
        target = Target.parse(str(head.get("discussion")))
        label = _("the discussion %(name)s") % {"name": str(target)[:80]}
        if self.dry_run and label in self.skipped_before:
            yield self.skipped_before[label]
            return
        if not self._will_exist(target):
            yield ImportResult(Outcome.SKIPPED, label, str(NOT_HERE))
            return
        addresses = bool(self.archive.manifest.options.get("addresses"))
        # Use a temporary file, because a discussion can be larger than the available memory. It is in VAR_DIR, because
        # /tmp can be in memory too, for example in a container.
        with tempfile.TemporaryFile(dir=settings.VAR_DIR) as lines:
            try:
                stored = transfer.read_rows(target, _digests, addresses=addresses)
                new_rows = 0
                for row in chain([head], rows):
                    lines.write(json.dumps(row).encode() + b"\n")
                    new_rows += _compare(target, row, stored).outcome in (Outcome.NEW, Outcome.NEWER)
                if new_rows:
                    lines.seek(0)
                    transfer.import_(lines, dry_run=self.dry_run)
            except (transfer.BrokenFile, CommentError, TypeError) as error:
                yield ImportResult(Outcome.SKIPPED, label, f"{type(error).__name__}: {error}")
                return
            lines.seek(0)
            yield from (_compare(target, json.loads(line), stored) for line in lines)

    def _will_exist(self, target: Target) -> bool:
        is_unstored = ObjectId.is_valid(target.pk) and ObjectId(target.pk) in self._unstored.types
        return is_unstored or _exists(target)

    def _check_moderator(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row of a comment, with "moderator" checked against this site's accounts.

        The comment is marked as written by a moderator only if its author is a moderator on this site.
        """
        user = row.get("user")
        is_moderator = row.get("moderator") is True and isinstance(user, str) and self._moderates(user)
        return {**row, "moderator": is_moderator} if "moderator" in row else row

    def _pending(self, record: dict[str, Any]) -> ImportResult:
        target = Target.parse(record["discussion"])
        label = (_("the pending comment %(name)s") % {"name": f"{str(target)[:80]} {record.get('comment')}"})[:200]
        if not self._will_exist(target):
            return ImportResult(Outcome.SKIPPED, label, str(NOT_HERE))
        try:
            is_new = transfer.import_held(self._check_moderator(record), dry_run=self.dry_run)
        except (transfer.BrokenFile, CommentError, TypeError) as error:
            return ImportResult(Outcome.SKIPPED, label, str(error))
        return ImportResult(Outcome.NEW if is_new else Outcome.SAME, label)


def _compare(target: Target, row: dict[str, Any], digests: dict[str, bytes]) -> ImportResult:
    """Return the result of importing a row, which contains either a comment or the data of the discussion itself."""
    slug = str(row.get("comment", ""))
    label = f"{str(target)[:80]} {slug}".strip()[:200]
    digest = digests.get(slug)
    if digest == _digest(row):
        return ImportResult(Outcome.SAME, label)
    if "discussion" in row:
        if row.get("open"):
            return ImportResult(
                Outcome.SKIPPED, _("the discussion %(name)s") % {"name": label}, _("it has been closed here")
            )
        return ImportResult(Outcome.NEWER, label)
    if digest is None:
        return ImportResult(Outcome.NEW, label)
    return ImportResult(Outcome.SKIPPED, _("the comment %(name)s") % {"name": label}, str(CHANGED))


def _digests(rows: transfer.Rows) -> dict[str, bytes]:
    """Return the digests of rows, keyed by the comment's slug. The digest of the discussion itself has the key ""."""
    return {row.get("comment", ""): _digest(row) for row in rows}


def _digest(row: dict[str, Any]) -> bytes:
    """Return a hash of a row.

    The value of "moderator" doesn't affect the hash, because the author's account may be created, or become a
    moderator, after the import. Neither do likes, because readers can like an unchanged comment.
    """
    hashed = {name: value for name, value in row.items() if name not in ("moderator", "likes")}
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).digest()


def _exists(target: Target) -> bool:
    if target.label not in (Node._meta.label_lower, Photo._meta.label_lower):
        return True
    return ObjectId.is_valid(target.pk) and exported.exists(ObjectId(target.pk))

"""Taking an archive in: what each of its documents would change here, or changes. Whatever stops it, the next run goes on.

What is here in the same version stays; an earlier version is written over, what was changed here since is left and told.
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

from editor.settings import SettingsForm
from marginalia.comments.errors import CommentError
from marginalia.comments.operations import transfer
from marginalia.comments.posting import policy
from marginalia.comments.types import Target
from marginalia.mongo.reading import MALFORMED
from nodes.content import CONTENT
from nodes.errors import TooBusy
from nodes.models import Node, Photo, stored_site
from nodes.models.stored_site import StoredSettings
from nodes.services.site import SettingsConflict, invalidate, save_settings
from transfer import exported, importing_nodes, importing_photos
from transfer.archive import (
    DISCUSSIONS,
    FILES,
    NODES,
    OLD_LINKS,
    PENDING,
    PHOTOS,
    REDIRECTS,
    REVISIONS,
    SECTIONS,
    SETTINGS,
    Archive,
)
from transfer.importing_nodes import Arrival, Outcome
from wordpress import old_links

Arrivals = Iterator[Arrival]
CHANGED, NOT_HERE = "it was changed here since", "what it is about is not here"


@dataclass
class Tally:
    """How much came of each file and what of it, what was left, and what was written over."""

    counts: dict[str, Counter[Outcome]] = field(default_factory=lambda: {name: Counter() for name in FILES})
    left: list[Arrival] = field(default_factory=list)
    over: list[str] = field(default_factory=list)

    @property
    def told(self) -> dict[str, Arrival]:
        """What was left, by what it is called."""
        return {arrival.about: arrival for arrival in self.left}

    def differing(self, told: "Tally") -> int:
        """Return how many documents are not here as the archive has them, beside those that an import told it left."""
        known = told.told
        return self.count(Outcome.NEW) + self.count(Outcome.NEWER) + sum(one.about not in known for one in self.left)

    def count(self, outcome: Outcome) -> int:
        """Return how many documents this became of."""
        return sum(counts[outcome] for counts in self.counts.values())


@dataclass
class Import:
    """An archive on its way in; `dry_run`: only what would come of it. `reads_photos`: whether the bytes of photos that are
    here are compared too. `step` is called for each document."""

    archive: Archive
    dry_run: bool = False
    reads_photos: bool = False
    step: Callable[[], object] = lambda: None
    # What is left, as an earlier run has told; the revisions of such nodes and photos are not wanted.
    told: dict[str, Arrival] = field(default_factory=dict)
    _without: set[ObjectId | None] = field(default_factory=set, init=False)
    _coming: importing_nodes.Coming = field(default_factory=importing_nodes.Coming, init=False)
    _moderates: Callable[[str], bool] = field(default_factory=lambda: cache(policy.moderates), init=False)

    def run(self) -> Tally:
        """Take all of it in. Raises BadArchive."""
        tally = Tally()
        # What stays is known before the first revision is stored; without storing any, only after the nodes.
        last = (REVISIONS,) if self.dry_run else ()
        self._without = {arrival.id for arrival in self.told.values()}
        if self.dry_run:
            self._coming = self._all_that_comes()
        try:
            for name in (*(name for name in FILES if name not in last), *last):
                for one in self._of(name):
                    arrival = self.told.get(one.about, one) if self.dry_run else one
                    tally.counts[name][arrival.outcome] += 1
                    if arrival.over:
                        tally.over.append(arrival.over)
                    if arrival.outcome is Outcome.LEFT:
                        tally.left.append(arrival)
                        self._without.add(arrival.id)
                        if arrival.id:
                            self._coming.types.pop(arrival.id, None)
                    self.step()
        finally:
            if not self.dry_run:
                invalidate()
        return tally

    def _all_that_comes(self) -> importing_nodes.Coming:
        """Return what the archive has; what of it is left is taken out of that later."""
        types = {
            record["_id"]: str(record["metadata"].get("type"))
            for name in (SECTIONS, PHOTOS, NODES)
            for record in self.archive.records(name)
            if record["_id"] not in self._without
        }
        return importing_nodes.Coming(types, lambda: (record["_id"] for record in self.archive.records(REVISIONS)))

    def _of(self, name: str) -> Arrivals:
        records = self.archive.records(name)
        each: dict[str, Callable[[dict[str, Any]], Arrival]] = {
            SECTIONS: partial(importing_nodes.node, dry_run=self.dry_run, coming=self._coming),
            NODES: partial(importing_nodes.node, dry_run=self.dry_run, coming=self._coming),
            REDIRECTS: partial(importing_nodes.redirect, dry_run=self.dry_run),
            OLD_LINKS: self._old_link,
            SETTINGS: self._setting,
            PENDING: self._pending,
        }
        if name == REVISIONS:
            return importing_nodes.revisions(self._wanted(records), dry_run=self.dry_run)
        if name == PHOTOS:
            return self._photos(records)
        if name == DISCUSSIONS:
            return self._discussions(records)
        return map(each[name], records)

    def _wanted(self, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield those revisions that are the past of what comes, or is here already, as the archive has it."""
        # All nonces of a site, as few objects as they can be: an export has the revisions of a node together.
        past = {
            record["_id"]: b"".join(nonce.binary for nonce in record["history"] if isinstance(nonce, ObjectId))
            for name in (SECTIONS, PHOTOS, NODES)
            for record in self.archive.records(name)
            if record["_id"] not in self._without and isinstance(record.get("history"), list)
        }
        for node_id, revisions in groupby(records, itemgetter("node_id")):
            nonces = past.get(node_id, b"")
            known = {nonces[at : at + 12] for at in range(0, len(nonces), 12)}
            yield from (revision for revision in revisions if revision["_id"].binary in known)

    def _photos(self, records: Iterable[dict[str, Any]]) -> Arrivals:
        """Yield what comes of photos. Those that are here in an earlier version follow when all pictures are stored, and one
        whose picture is neither in the archive nor here is left."""
        newer: set[ObjectId] = set()
        come = {record["_id"] for record in self.archive.records(PHOTOS) if record["metadata"].get("type") == CONTENT}
        for record in records:
            if not importing_photos.shows_any(record, come):
                yield importing_nodes.left(record, "the picture that it shows is not in the export")
                continue
            arrival = importing_photos.photo(
                record, self.archive.picture(record["_id"]), dry_run=self.dry_run, coming=self._coming
            )
            if arrival.outcome is Outcome.NEWER and not self.dry_run:
                newer.add(record["_id"])
                continue
            if arrival.outcome is Outcome.SAME and self.reads_photos and not importing_photos.is_whole(record):
                arrival = importing_nodes.left(record, "its bytes here are not those of the export")
            yield arrival
        for record in self.archive.records(PHOTOS) if newer else ():
            if record["_id"] in newer:
                yield importing_photos.photo(record, (), replace=True)

    def _old_link(self, record: dict[str, Any]) -> Arrival:
        about = f"the old address {record.get('path')}"[:200]
        try:
            is_new = old_links.import_link(record, dry_run=self.dry_run)
        except ValueError as error:
            return Arrival(Outcome.LEFT, about, str(error))
        return Arrival(Outcome.NEW if is_new else Outcome.SAME, about)

    def _setting(self, record: dict[str, Any]) -> Arrival:
        name = record["setting"]
        value = record.get("value")
        about = f"the setting {name[:40]}"
        usual = asdict(StoredSettings())
        present = asdict(stored_site.read().settings)
        if name not in usual:
            return Arrival(Outcome.LEFT, about, "this release has none of this name")
        if present[name] == value:
            return Arrival(Outcome.SAME, about)
        if present[name] != usual[name]:
            return Arrival(Outcome.LEFT, about, "it is set to something else here")
        try:
            said = str(value) if isinstance(value, ObjectId) else value
            if SettingsForm.base_fields[name].clean(said) != value:
                raise ValidationError("it is not written as its form would write it")
            if not self.dry_run:
                save_settings({name: value}, {name: usual[name]})
        except (ValidationError, SettingsConflict, TooBusy, *MALFORMED) as error:
            return Arrival(Outcome.LEFT, about, f"it cannot be stored: {error}")
        return Arrival(Outcome.NEW, about)

    def _discussions(self, records: Iterable[dict[str, Any]]) -> Arrivals:
        """Yield what comes of each discussion and of each of its comments, the comments of one discussion at a time."""
        settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
        begun = 0

        def number(record: dict[str, Any]) -> int:
            nonlocal begun
            begun += "discussion" in record
            return begun

        for _number, rows in groupby(map(self._with_rights, records), number):
            yield from self._discussion(rows)

    def _discussion(self, rows: Iterator[dict[str, Any]]) -> Arrivals:
        head = next(rows)
        target = Target.parse(str(head.get("discussion")))
        about = f"the discussion {str(target)[:80]}"
        if self.dry_run and about in self.told:
            yield self.told[about]
            return
        if not self._will_be_there(target):
            yield Arrival(Outcome.LEFT, about, NOT_HERE)
            return
        addresses = bool(self.archive.manifest.options.get("addresses"))
        # A discussion may be larger than memory, of which /tmp is a part in a container.
        with tempfile.TemporaryFile(dir=settings.VAR_DIR) as lines:
            try:
                here = transfer.read(target, _digests, addresses=addresses)
                wanted = 0
                for row in chain([head], rows):
                    lines.write(json.dumps(row).encode() + b"\n")
                    wanted += _compared(target, row, here).outcome in (Outcome.NEW, Outcome.NEWER)
                if wanted:
                    lines.seek(0)
                    transfer.import_(lines, dry_run=self.dry_run)
            except (transfer.BrokenFile, CommentError, TypeError) as error:
                yield Arrival(Outcome.LEFT, about, f"{type(error).__name__}: {error}")
                return
            lines.seek(0)
            yield from (_compared(target, json.loads(line), here) for line in lines)

    def _will_be_there(self, target: Target) -> bool:
        is_coming = ObjectId.is_valid(target.pk) and ObjectId(target.pk) in self._coming.types
        return is_coming or _is_there(target)

    def _with_rights(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the line of a comment: that of a moderator only if the account that it names is one here."""
        user = row.get("user")
        is_moderator = row.get("moderator") is True and isinstance(user, str) and self._moderates(user)
        return {**row, "moderator": is_moderator} if "moderator" in row else row

    def _pending(self, record: dict[str, Any]) -> Arrival:
        target = Target.parse(record["discussion"])
        about = f"the comment that waits, {str(target)[:80]} {record.get('comment')}"[:200]
        if not self._will_be_there(target):
            return Arrival(Outcome.LEFT, about, NOT_HERE)
        try:
            is_new = transfer.hold(self._with_rights(record), dry_run=self.dry_run)
        except (transfer.BrokenFile, CommentError, TypeError) as error:
            return Arrival(Outcome.LEFT, about, str(error))
        return Arrival(Outcome.NEW if is_new else Outcome.SAME, about)


def _compared(target: Target, row: dict[str, Any], here: dict[str, bytes]) -> Arrival:
    """Return what is to come of a line of a discussion: of itself, or of a comment."""
    slug = str(row.get("comment", ""))
    about = f"{str(target)[:80]} {slug}".strip()[:200]
    stored = here.get(slug)
    if stored == _digest(row):
        return Arrival(Outcome.SAME, about)
    if "discussion" in row:
        if row.get("open"):
            return Arrival(Outcome.LEFT, f"the discussion {about}", "it was closed here")
        return Arrival(Outcome.NEWER, about)
    return Arrival(Outcome.NEW, about) if stored is None else Arrival(Outcome.LEFT, f"the comment {about}", CHANGED)


def _digests(rows: transfer.Rows) -> dict[str, bytes]:
    """Return what tells whether a comment is as it is elsewhere, by slug, and of the discussion itself under ""."""
    return {row.get("comment", ""): _digest(row) for row in rows}


def _digest(row: dict[str, Any]) -> bytes:
    """Return a hash of a row, but for "moderator": accounts may be made, and get rights, after the comments came."""
    said = {name: value for name, value in row.items() if name != "moderator"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).digest()


def _is_there(target: Target) -> bool:
    if target.label not in (Node._meta.label_lower, Photo._meta.label_lower):
        return True
    return ObjectId.is_valid(target.pk) and exported.is_there(ObjectId(target.pk))

"""Nodes that come from an export, with the ids and nonces that they have there.

What is here already is only replaced where the export knows its version as an earlier one, by a compare-and-set on that
version. What was changed here since is left as it is, and told.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR
from enum import StrEnum
from functools import cached_property
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from pymongo.client_session import ClientSession
from pymongo.errors import BulkWriteError, DuplicateKeyError, WriteError

from marginalia.mongo.connection import Document, batched, database, non_duplicate_errors, transaction
from marginalia.mongo.reading import MALFORMED
from nodes import content, merging
from nodes.collections import ASSET_FILES, NODES, REDIRECTS, REVISIONS, TRASH
from nodes.content import declared_fields, upgrading, values
from nodes.errors import FieldRefused, InvalidField, NodeError
from nodes.models import stored_site, tree
from nodes.models.documents import Byline, Metadata
from nodes.selectors import slugs
from nodes.services import derived, drafts
from nodes.services.editing import normalized
from nodes.services.placement import check_ancestors, count_move
from nodes.services.site import invalidate
from nodes.services.write import check_place, check_tags, writable
from nodes.tags import unique
from nodes.types import NEVER, Expected
from transfer import exported

# Revisions that one command stores: each has a whole text.
BATCH = 20
REFUSED = "the database refuses it: it is not what its collection holds"


# What all nodes have, and forms bound; dates that are shown in the site's time zone.
_COMMON = frozenset({"title", "slug", "summary", "created", "updated", "published", "expires"})
_DATES = ("created", "updated", "published", "expires")


class Outcome(StrEnum):
    """What becomes of a document of an export."""

    NEW = "new"
    NEWER = "newer than here"
    SAME = "the same here"
    LEFT = "left as they are"


@dataclass(frozen=True)
class Arrival:
    """What becomes, or would become, of a document: `why` it is left, of which node or photo it is, and what is written `over`
    with it."""

    outcome: Outcome
    about: str = ""
    why: str = ""
    id: ObjectId | None = None
    over: str = ""


class Refused(NodeError):
    """The document cannot be stored here; the message says why."""


@dataclass
class Coming:
    """Contents of an export that a dry run doesn't store: the `types` of nodes and photos by id, and the ids of revisions."""

    types: dict[ObjectId, str] = dataclasses.field(default_factory=dict)
    read_revisions: Callable[[], Iterable[ObjectId]] = tuple

    @cached_property
    def revisions(self) -> frozenset[ObjectId]:
        """The ids of revisions, read only if needed because that takes long."""
        return frozenset(self.read_revisions())


def node(record: Mapping[str, Any], *, dry_run: bool = False, coming: Coming | None = None) -> Arrival:
    """Store a node of an export, whose sections and revisions are here; with `dry_run` only say what would come of it, if what
    is `coming` were stored."""
    coming = coming or Coming()
    try:
        stored = database()[NODES].find_one({"_id": record["_id"]})
        arrival = compared(record, stored, NODES)
        if arrival.outcome not in (Outcome.NEW, Outcome.NEWER):
            return arrival
        check_fields(record)
        _check(record, coming)
        if dry_run:
            if stored is not None:
                check_past(record, coming)
            return arrival
        _insert(_whole(record)) if stored is None else _replace(stored, _whole(record))
        return arrival
    except (NodeError, DuplicateKeyError, WriteError, *MALFORMED) as error:
        return left(record, reason(error))


def compared(record: Mapping[str, Any], stored: Mapping[str, Any] | None, collection: str) -> Arrival:
    """Return what is to become of a node or photo, of which `stored` is here. Raises what a malformed document raises."""
    name = about(record)
    said = {k: v for k, v in record.items() if k not in ("history", "sha256")}
    if stored is None:
        if database()[TRASH].find_one({"_id": record["_id"]}, {"_id": 1}):
            return left(record, "it is in the trash here")
        place = {f"metadata.{field}": record["metadata"][field] for field in ("parent_id", "slug")}
        if database()[collection].find_one({**place, "_id": {"$ne": record["_id"]}}, {"_id": 1}):
            return left(record, "something else has its address here")
        return Arrival(Outcome.NEW, name)
    if exported.as_exported(stored) == said:
        return Arrival(Outcome.SAME, name)
    known = {record["metadata"]["nonce"], *record["history"]}
    present = {stored["metadata"]["nonce"], stored.get("draft", {}).get("nonce", record["metadata"]["nonce"])}
    if not present <= known:
        return left(record, "it was changed here since")
    if (record["metadata"]["nonce"], _draft(record)) == (stored["metadata"]["nonce"], _draft(stored)):
        # Of what takes no nonce it is not known where it was changed last.
        return left(record, "it is the same version with other tags, in another order or the like")
    if stored["metadata"]["tags"] not in (record["metadata"]["tags"], _saved_tags(stored)):
        return left(record, "its tags were changed here since")
    if _was_discarded(record, stored):
        return left(record, "its draft was discarded here")
    address = tree.current().url(stored["metadata"]["parent_id"], stored["metadata"]["slug"])
    return Arrival(Outcome.NEWER, name, id=record["_id"], over=f"{about(stored)} at {address}")


def _was_discarded(record: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Return whether the draft of a record is the one that was discarded here, or one from before it."""
    gone = stored.get("discarded")
    if gone is None or "draft" in stored or "draft" not in record:
        return False
    is_same_version = record["metadata"]["nonce"] == stored["metadata"]["nonce"]
    # Nonces begin with their second: what was begun elsewhere after it is another draft.
    sent = record["draft"]["nonce"]
    return bool(sent == gone or (is_same_version and gone not in record["history"] and sent < gone))


def check_past(record: Mapping[str, Any], coming: Coming | None = None) -> None:
    """Raise Refused for a version that is to be written over another, and is in no history: the next editor could not merge."""
    saved = {"_id": record["metadata"]["nonce"], "node_id": record["_id"]}
    is_coming = coming is not None and saved["_id"] in coming.revisions
    if not is_coming and database()[REVISIONS].find_one(saved, {"_id": 1}) is None:
        raise Refused("its present version is not in its history")


def _saved_tags(stored: Mapping[str, Any]) -> Any:
    """Return the tags with which the present version was saved: tagging alone takes no nonce."""
    saved = {"_id": stored["metadata"]["nonce"], "node_id": stored["_id"]}
    return (database()[REVISIONS].find_one(saved, {"metadata.tags": 1}) or {}).get("metadata", {}).get("tags")


def about(record: Mapping[str, Any]) -> str:
    """Return how a node or photo is named to an operator."""
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    title = "".join(c if c.isprintable() else " " for c in str(metadata.get("title", metadata.get("slug")))[:80])
    return f"“{title}” ({str(record.get('_id'))[:40]})"


def left(record: Mapping[str, Any], why: str) -> Arrival:
    """Return that a node or photo is left."""
    return Arrival(Outcome.LEFT, about(record), why, record.get("_id"))


def reason(error: Exception) -> str:
    """Return in a sentence why a document cannot be stored."""
    if isinstance(error, DuplicateKeyError):
        return "something else has its address here"
    if isinstance(error, WriteError):
        return REFUSED
    if isinstance(error, FieldRefused):
        return f"{error.path}: {error}"
    if isinstance(error, NodeError):
        return str(error)
    return f"it is malformed ({type(error).__name__}: {error})"


def revisions(records: Iterable[Mapping[str, Any]], *, dry_run: bool = False) -> Iterator[Arrival]:
    """Store those revisions that are not here, many by one command; yield what came, or would come, of each."""
    for batch in batched(records, BATCH):
        documents = {record["_id"]: dict(record) for record in batch}
        of = {"$in": list({one["node_id"] for one in batch})}
        found = database()[REVISIONS].find({"_id": {"$in": list(documents)}, "node_id": of})
        stored = {one["_id"]: one for one in found}
        come = {id: _fixed(f"revision {id}", one, stored.get(id)) for id, one in documents.items()}
        missing = [one for id, one in documents.items() if come[id].outcome is Outcome.NEW]
        yield from (come | ({} if dry_run else _refused(missing))).values()


def _refused(missing: list[Document]) -> dict[ObjectId, Arrival]:
    """Store some revisions; return those that were refused."""
    try:
        if missing:
            database()[REVISIONS].insert_many(missing, ordered=False)
    except BulkWriteError as error:
        left = [missing[one["index"]]["_id"] for one in non_duplicate_errors(error)]
        return {id: Arrival(Outcome.LEFT, f"revision {id}", REFUSED) for id in left}
    return {}


def redirect(record: Mapping[str, Any], *, dry_run: bool = False) -> Arrival:
    """Store where a node stood before, unless that address is known here already."""
    about = f"the former address {_address(record['_id'])}"[:200]
    if stored := database()[REDIRECTS].find_one({"_id": record["_id"]}):
        # When it was kept, and that the node was deleted since, make it no other.
        is_same = stored["node_id"] == record["node_id"]
        return Arrival(Outcome.SAME, about) if is_same else Arrival(Outcome.LEFT, about, "it leads elsewhere here")
    if not dry_run:
        try:
            database()[REDIRECTS].insert_one(dict(record))
        except WriteError as error:
            return Arrival(Outcome.LEFT, about, reason(error))
    return Arrival(Outcome.NEW, about)


def _address(place: Mapping[str, Any]) -> str:
    """Return a place as an address, or, if its section is not here, as slug and section."""
    parent_id = place.get("parent_id")
    slug = str(place.get("slug"))
    is_known = parent_id is None or isinstance(parent_id, ObjectId)
    return (tree.current().url(parent_id, slug) if is_known else "") or f"{slug!r} in {parent_id}"


def _fixed(about: str, record: Mapping[str, Any], stored: Mapping[str, Any] | None) -> Arrival:
    """Return what becomes of what is never changed."""
    if stored is None:
        return Arrival(Outcome.NEW, about)
    return Arrival(Outcome.SAME, about) if stored == record else Arrival(Outcome.LEFT, about, "it is another here")


def _check(record: Mapping[str, Any], coming: Coming) -> None:
    """Raise NodeError for a node that no editor could have made here."""
    metadata = record["metadata"]
    if unknown := set(record) - {"_id", "metadata", "position", "draft", "history"}:
        raise Refused(f"it has a field {min(unknown)!r}")
    if not isinstance(record["_id"], ObjectId) or database()[ASSET_FILES].find_one({"_id": record["_id"]}, {"_id": 1}):
        raise Refused("its id is none, or that of a photo")
    if content.get(metadata["type"]).is_file:
        raise Refused(_("A photo begins with its file: upload one."))
    check_place(metadata["parent_id"], metadata["type"], coming.types)
    slugs.check(metadata["slug"], metadata["parent_id"])


def check_fields(record: Mapping[str, Any]) -> None:
    """Raise NodeError for a node or photo, or a draft of it, with a field that no editor could have saved so."""
    metadata = record["metadata"]
    for said in (metadata, upgrading.draft_metadata(record)) if "draft" in record else (metadata,):
        present = writable(said)
        if not isinstance(present["detail"], Mapping):
            raise InvalidField("detail", _("The field does not take this value."))
        # What a type had in a former release is kept, and read by nothing.
        given = declared_fields.keep_declared(said["type"], merging.fields(present))
        cleaned = normalized(given, said["type"])
        # What an upgrader makes is written as it is.
        wrong = [path for path in given if present is said and given[path] != cleaned[path]]
        wrong += ["tags"] if sorted(said["tags"]) != sorted(unique(said["tags"])) else []
        check_tags(said["tags"])
        wrong += [name for name in _DATES if name in said and not _is_shown(said[name])]
        if wrong:
            raise InvalidField(min(wrong), _("The field does not take this value."))
        common = [(name, Metadata._meta.get_field(name), said[name]) for name in _COMMON & said.keys()]
        if (said["author"] or {}).get("name"):
            common.append(("author", Byline._meta.get_field("name"), said["author"]["name"]))
        for name, field, value in common:
            try:
                values.cleaned(field, value)
            except ValidationError as error:
                raise InvalidField(name, " ".join(error.messages)) from error


def _is_shown(moment: Any) -> bool:
    """Return whether a moment has a date in every time zone, or is none at all."""
    return moment in (None, NEVER) or MINYEAR < moment.year < MAXYEAR


def _whole(record: Mapping[str, Any]) -> Document:
    """Return a node as it is stored, with what is worked out of it."""
    whole = {name: value for name, value in record.items() if name != "history"}
    whole["derived"] = derived.derive(writable(record["metadata"]))
    if "draft" in whole:
        said = drafts.with_draft(whole)
        whole["draft"] = {**whole["draft"], **derived.references(said)}
        if whole["draft"].get("due"):
            whole["draft"]["derived"] = derived.derive_for_readers(said)
    return whole


def _insert(whole: Document) -> None:
    database()[NODES].insert_one(whole)
    _tell(whole)


def _replace(stored: Document, whole: Document) -> None:
    """Write a node over the earlier version that is stored. Raises Refused if it was changed in between, InvalidPlace."""
    check_past(whole)
    seen = Expected.of(stored)
    metadata = whole["metadata"]
    unchanged = {**seen.as_filter(), "metadata.tags": stored["metadata"]["tags"], "draft.nonce": _draft(stored)}
    update = _update(stored, whole)

    def work(session: ClientSession | None = None) -> bool:
        return bool(database()[NODES].update_one(unchanged, update, session=session).matched_count)

    def move(session: ClientSession) -> bool:
        return count_move(seen_tree, session) and work(session)

    if content.get(metadata["type"]).is_section and metadata["parent_id"] != seen.parent_id:
        seen_tree = stored_site.read().tree
        check_ancestors(seen.id, metadata["parent_id"])
        is_done = transaction(move)
    else:
        is_done = work()
    if not is_done:
        raise Refused("it was changed here since")
    _tell(whole)


def _update(stored: Mapping[str, Any], whole: Mapping[str, Any]) -> Document:
    """Return the update that makes of a stored node another version; its comments, which are in the same document, stay."""
    written = {f"metadata.{name}": value for name, value in whole["metadata"].items()}
    gone = {f"metadata.{name}": "" for name in stored["metadata"].keys() - whole["metadata"].keys()}
    for name in ("draft", "discarded", "position", "derived"):
        if name in whole:
            written[name] = whole[name]
        elif name in stored:
            gone[name] = ""
    return {"$set": written, "$unset": gone} if gone else {"$set": written}


def _tell(whole: Mapping[str, Any]) -> None:
    """What stands in a section is looked for in the tree: it is read anew under another version."""
    if content.get(whole["metadata"]["type"]).is_section:
        invalidate()


def _draft(document: Mapping[str, Any]) -> ObjectId | None:
    nonce: ObjectId | None = document.get("draft", {}).get("nonce")
    return nonce

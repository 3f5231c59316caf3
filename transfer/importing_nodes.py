"""Import nodes, which get the same ids and nonces as in the export.

A stored node is replaced only if its version is in the history of the exported node. The update that replaces the node
fails if the node has a different version by then. Nodes that have been changed on this site as well are skipped and
reported.

A text that is HTML becomes Markdown if Markdown can express it. The converted text is a later version with a nonce that
is derived from the exported version, so another import finds that nothing has changed.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pymongo.client_session import ClientSession
from pymongo.errors import BulkWriteError, DuplicateKeyError, WriteError

from marginalia.markup import html
from marginalia.markup.characters import normalize_newlines
from marginalia.mongo.connection import Document, batched, database, non_duplicate_errors, transaction
from marginalia.mongo.reading import MALFORMED
from nodes import content, merging
from nodes.collections import ASSET_FILES, NODES, REDIRECTS, REVISIONS, TRASH
from nodes.content import HTML, declared_fields, upgrading, values
from nodes.content.messages import invalid_value, photo_needs_file
from nodes.errors import FieldRefused, InvalidField, NodeError
from nodes.models import stored_site, tree
from nodes.models.documents import Byline, Metadata
from nodes.selectors import slugs
from nodes.services import derived, drafts, rules
from nodes.services.editing import normalized
from nodes.services.imported_texts import text_fields
from nodes.services.placement import check_ancestors, count_move
from nodes.services.site import invalidate
from nodes.services.write import writable
from nodes.tags import unique
from nodes.types import NEVER, Expected
from transfer import exported

# How many revisions each command stores. They are few, because each revision contains a complete body text.
BATCH = 20
DATABASE_REFUSED = gettext_lazy("it violates the validator of its collection")


# Fields that all nodes have, and whose values are limited by forms.
_COMMON = frozenset({"title", "slug", "summary", "created", "updated", "published", "expires"})
_DATES = ("created", "updated", "published", "expires")


class Outcome(StrEnum):
    """The outcome of importing a document."""

    NEW = "new"
    NEWER = "newer than here"
    SAME = "the same here"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class ImportResult:
    """The result of importing a document, or, in a dry run, the result that an import would have.

    Attributes:
        label: A description of the document.
        reason: The reason why the document was skipped.
        id: The id of the node or photo, or None for other documents.
        replaced: A description of the earlier version that the document replaces, or "".
    """

    outcome: Outcome
    label: str = ""
    reason: str = ""
    id: ObjectId | None = None
    replaced: str = ""


class Refused(NodeError):
    """The document cannot be stored on this site. The message contains the reason."""


@dataclass
class Unstored:
    """Contents of an export that a dry run treats as stored, although it doesn't store them.

    Attributes:
        types: The types of the nodes and photos, keyed by id.
        read_revisions: A function that returns the ids of the revisions.
    """

    types: dict[ObjectId, str] = dataclasses.field(default_factory=dict)
    read_revisions: Callable[[], Iterable[ObjectId]] = tuple

    @cached_property
    def revisions(self) -> frozenset[ObjectId]:
        """Return the ids of the revisions. They are read only if they are needed, because this takes a long time."""
        return frozenset(self.read_revisions())


def import_node(record: Mapping[str, Any], *, dry_run: bool = False, unstored: Unstored | None = None) -> ImportResult:
    """Store an exported node. Its ancestor sections and its revisions must already be stored.

    Args:
        record: The exported node.
        dry_run: Whether to only determine the result, without storing anything.
        unstored: Documents that a dry run treats as stored.
    """
    unstored = unstored or Unstored()
    try:
        stored = database()[NODES].find_one({"_id": record["_id"]})
        if stored is not None and stored["metadata"]["nonce"] == _converted_nonce(record["metadata"]["nonce"]):
            record = _with_text(record, {path: stored["metadata"]["detail"][path] for path in ("text", "format")})
        result = compare(record, stored, NODES)
        if result.outcome not in (Outcome.NEW, Outcome.NEWER):
            return result
        check_fields(record)
        _check(record, unstored)
        if dry_run:
            if stored is not None:
                check_history(record, unstored)
            return result
        record = _convert_text(record)
        if stored is None:
            _insert(_with_derived(record))
        else:
            _replace(stored, _with_derived(record))
        return result
    except (NodeError, DuplicateKeyError, WriteError, *MALFORMED) as error:
        return skip(record, explain(error))


def compare(record: Mapping[str, Any], stored: Mapping[str, Any] | None, collection: str) -> ImportResult:
    """Return the result of importing a node or photo. `stored` is the version on this site, if there is one.

    Raises:
        Exception: The document is malformed. The possible exceptions are listed in MALFORMED.
    """
    label = describe(record)
    exported_fields = {k: v for k, v in record.items() if k not in ("history", "sha256")}
    if stored is None:
        if database()[TRASH].find_one({"_id": record["_id"]}, {"_id": 1}):
            return skip(record, _("it is in the trash here"))
        place = {f"metadata.{field}": record["metadata"][field] for field in ("parent_id", "slug")}
        if database()[collection].find_one({**place, "_id": {"$ne": record["_id"]}}, {"_id": 1}):
            return skip(record, _("another page has its URL here"))
        return ImportResult(Outcome.NEW, label)
    if exported.as_exported(stored) == exported_fields:
        return ImportResult(Outcome.SAME, label)
    known = {record["metadata"]["nonce"], *record["history"]}
    known |= {_converted_nonce(nonce) for nonce in known if isinstance(nonce, ObjectId)}
    present = {stored["metadata"]["nonce"], stored.get("draft", {}).get("nonce", record["metadata"]["nonce"])}
    if not present <= known:
        return skip(record, _("it has been changed here"))
    if (record["metadata"]["nonce"], _draft_nonce(record)) == (stored["metadata"]["nonce"], _draft_nonce(stored)):
        # The nonces are equal, so the difference was caused by a change that doesn't set a nonce, for example to the
        # tags or to the position. It is unknown on which site this change was made.
        return skip(record, _("it has the same version, but other tags or another position"))
    if stored["metadata"]["tags"] not in (record["metadata"]["tags"], _saved_tags(stored)):
        return skip(record, _("its tags have been changed here"))
    if _was_discarded(record, stored):
        return skip(record, _("its draft has been discarded here"))
    address = tree.current().url(stored["metadata"]["parent_id"], stored["metadata"]["slug"])
    return ImportResult(Outcome.NEWER, label, id=record["_id"], replaced=f"{describe(stored)} at {address}")


def _was_discarded(record: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Return whether the exported draft, or a later draft, has been discarded on this site."""
    discarded = stored.get("discarded")
    if discarded is None or "draft" in stored or "draft" not in record:
        return False
    is_same_version = record["metadata"]["nonce"] == stored["metadata"]["nonce"]
    # A nonce begins with the time of its creation, in seconds. Therefore, if a draft was saved later on another site,
    # its nonce is greater.
    nonce = record["draft"]["nonce"]
    return bool(nonce == discarded or (is_same_version and discarded not in record["history"] and nonce < discarded))


def check_history(record: Mapping[str, Any], unstored: Unstored | None = None) -> None:
    """Refuse to replace a node or photo if the revision of its new version is missing.

    Without this revision, edits that are based on this version could not be merged later.

    Raises:
        Refused: The revision is missing.
    """
    revision = {"_id": record["metadata"]["nonce"], "node_id": record["_id"]}
    is_unstored = unstored is not None and revision["_id"] in unstored.revisions
    if not is_unstored and database()[REVISIONS].find_one(revision, {"_id": 1}) is None:
        raise Refused(_("its current version is not in its history"))


def _saved_tags(stored: Mapping[str, Any]) -> Any:
    """Return the tags with which the current version was saved.

    The tags may have changed since, because changing only the tags doesn't save a new version.
    """
    revision = {"_id": stored["metadata"]["nonce"], "node_id": stored["_id"]}
    return (database()[REVISIONS].find_one(revision, {"metadata.tags": 1}) or {}).get("metadata", {}).get("tags")


def describe(record: Mapping[str, Any]) -> str:
    """Return the title (or slug) and the id of a node or photo, as text for an operator."""
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    title = "".join(c if c.isprintable() else " " for c in str(metadata.get("title", metadata.get("slug")))[:80])
    return f"“{title}” ({str(record.get('_id'))[:40]})"


def skip(record: Mapping[str, Any], reason: str) -> ImportResult:
    """Return the result for a node or photo that is skipped."""
    return ImportResult(Outcome.SKIPPED, describe(record), reason, record.get("_id"))


def explain(error: Exception) -> str:
    """Return why a document can't be stored, as text for an operator."""
    if isinstance(error, DuplicateKeyError):
        if "metadata.slug" in (error.details or {}).get("keyPattern", {"metadata.slug": 1}):
            return _("another page has its URL here")
        return _("another page in its section has the same values in fields that must be unique")
    if isinstance(error, WriteError):
        return str(DATABASE_REFUSED)
    if isinstance(error, FieldRefused):
        return "; ".join(f"{path}: {text}" if path else text for path, text in error.errors.items())
    if isinstance(error, NodeError):
        return str(error)
    return _("it is malformed (%(error)s)") % {"error": f"{type(error).__name__}: {error}"}


def import_revisions(records: Iterable[Mapping[str, Any]], *, dry_run: bool = False) -> Iterator[ImportResult]:
    """Store, in batches, the revisions that this site doesn't have. Yield the result for each revision."""
    for batch in batched(records, BATCH):
        documents = {record["_id"]: dict(record) for record in batch}
        node_ids = list({record["node_id"] for record in batch})
        cursor = database()[REVISIONS].find({"_id": {"$in": list(documents)}, "node_id": {"$in": node_ids}})
        stored = {revision["_id"]: revision for revision in cursor}
        results = {
            id: _compare_immutable(_revision_label(id), document, stored.get(id)) for id, document in documents.items()
        }
        missing = [document for id, document in documents.items() if results[id].outcome is Outcome.NEW]
        yield from (results | ({} if dry_run else _insert_revisions(missing))).values()


def _revision_label(revision_id: ObjectId) -> str:
    return _("revision %(id)s") % {"id": revision_id}


def _insert_revisions(missing: list[Document]) -> dict[ObjectId, ImportResult]:
    """Store revisions. Return the results for the revisions that the database rejected, keyed by id."""
    try:
        if missing:
            database()[REVISIONS].insert_many(missing, ordered=False)
    except BulkWriteError as error:
        refused_ids = [missing[failure["index"]]["_id"] for failure in non_duplicate_errors(error)]
        return {id: ImportResult(Outcome.SKIPPED, _revision_label(id), str(DATABASE_REFUSED)) for id in refused_ids}
    return {}


def import_redirect(record: Mapping[str, Any], *, dry_run: bool = False) -> ImportResult:
    """Store a redirect from a former path of a node, unless this site already has a redirect from this path."""
    label = (_("the former URL %(name)s") % {"name": _format_place(record["_id"])})[:200]
    if stored := database()[REDIRECTS].find_one({"_id": record["_id"]}):
        # If the stored redirect and the imported one lead to the same node, they count as the same redirect, even if
        # their times differ or the node has since been deleted.
        is_same = stored["node_id"] == record["node_id"]
        if is_same:
            return ImportResult(Outcome.SAME, label)
        return ImportResult(Outcome.SKIPPED, label, _("it redirects elsewhere here"))
    if not dry_run:
        try:
            database()[REDIRECTS].insert_one(dict(record))
        except WriteError as error:
            return ImportResult(Outcome.SKIPPED, label, explain(error))
    return ImportResult(Outcome.NEW, label)


def _format_place(place: Mapping[str, Any]) -> str:
    """Return a place as a path. If the section isn't stored, return the slug and the id of the section instead."""
    parent_id = place.get("parent_id")
    slug = str(place.get("slug"))
    is_known = parent_id is None or isinstance(parent_id, ObjectId)
    return (tree.current().url(parent_id, slug) if is_known else "") or f"{slug!r} in {parent_id}"


def _compare_immutable(label: str, record: Mapping[str, Any], stored: Mapping[str, Any] | None) -> ImportResult:
    """Return the result of importing a document that never changes once it has been created."""
    if stored is None:
        return ImportResult(Outcome.NEW, label)
    if stored == record:
        return ImportResult(Outcome.SAME, label)
    return ImportResult(Outcome.SKIPPED, label, _("it is a different one here"))


def _check(record: Mapping[str, Any], unstored: Unstored) -> None:
    """Reject a node that no editor could have created on this site.

    Raises:
        NodeError: The node breaks a rule.
    """
    metadata = record["metadata"]
    if unknown := set(record) - {"_id", "metadata", "position", "arranged", "draft", "history"}:
        raise Refused(_("it has the unknown field %(name)s") % {"name": repr(min(unknown))})
    if not isinstance(record["_id"], ObjectId) or database()[ASSET_FILES].find_one({"_id": record["_id"]}, {"_id": 1}):
        raise Refused(_("its id is invalid, or belongs to a photo"))
    if content.get(metadata["type"]).is_file:
        raise Refused(photo_needs_file())
    rules.check_place(metadata["parent_id"], metadata["type"], unstored.types)
    slugs.check(metadata["slug"], metadata["parent_id"])
    _check_unique(record)


def _check_unique(record: Mapping[str, Any]) -> None:
    """Raise NotUnique if another node on this site has the same values in fields that must be unique together."""
    live = writable(record["metadata"])
    rules.check_unique(record["_id"], live)
    if record.get("draft", {}).get("due"):
        rules.check_unique(record["_id"], {**live, **writable(upgrading.draft_metadata(record))})


def check_fields(record: Mapping[str, Any]) -> None:
    """Reject a node or photo if it, or its draft, contains a value that no editor could have saved.

    Raises:
        NodeError: A value breaks a rule.
    """
    metadata = record["metadata"]
    for version in (metadata, upgrading.draft_metadata(record)) if "draft" in record else (metadata,):
        present = writable(version)
        if not isinstance(present["detail"], Mapping):
            raise InvalidField("detail", invalid_value())
        # Leave out fields that existed only in an earlier version of the type. They are stored without checks, because
        # nothing reads them.
        fields = declared_fields.keep_declared(version["type"], merging.fields(present))
        cleaned = normalized(fields, version["type"])
        # If an upgrader has converted the values, don't compare them with their normalized form, because they are
        # imported as they were before the conversion. Texts of earlier releases can contain other line breaks.
        wrong = [path for path in fields if present is version and _with_newlines(fields[path]) != cleaned[path]]
        wrong += ["tags"] if sorted(version["tags"]) != sorted(unique(version["tags"])) else []
        rules.check_tags(version["tags"])
        wrong += [name for name in _DATES if name in version and not _is_shown(version[name])]
        if wrong:
            raise InvalidField(min(wrong), invalid_value())
        # Check drafts only if they are scheduled. Other drafts are checked when an editor publishes them.
        if version is metadata or record["draft"].get("due"):
            rules.check_ready(present)
            rules.check_type(fields, present)
        common = [(name, Metadata._meta.get_field(name), version[name]) for name in _COMMON & version.keys()]
        if (version["author"] or {}).get("name"):
            common.append(("author", Byline._meta.get_field("name"), version["author"]["name"]))
        for name, field, value in common:
            try:
                values.cleaned(field, value)
            except ValidationError as error:
                raise InvalidField(name, " ".join(error.messages)) from error


def _with_newlines(value: Any) -> Any:
    return normalize_newlines(value) if isinstance(value, str) else value


def _is_shown(moment: Any) -> bool:
    """Return whether the site can show `moment`.

    This is the case if it is None or NEVER, or can be converted to any time zone.
    """
    return moment in (None, NEVER) or MINYEAR < moment.year < MAXYEAR


def _with_derived(record: Mapping[str, Any]) -> Document:
    """Return a node as it is stored, including its derived fields."""
    document = {name: value for name, value in record.items() if name != "history"}
    document["derived"] = derived.derive_to_store(writable(record["metadata"]))
    if "draft" in document:
        drafted = drafts.with_draft(document)
        document["draft"] = {**document["draft"], **derived.references(drafted)}
        if document["draft"].get("due"):
            document["draft"]["derived"] = derived.derive_for_readers(drafted)
    return document


def _convert_text(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the node with its HTML converted to Markdown, as a later version of the node. Store this version's revision.

    A node that already contains Markdown, has a draft or can't be converted is returned unchanged.
    """
    metadata = record["metadata"]
    if metadata["detail"].get("format") != HTML or "draft" in record:
        return record
    fields = text_fields(html.clean(metadata["detail"]["text"], "article"))
    revision = {"_id": metadata["nonce"], "node_id": record["_id"]}
    saved = database()[REVISIONS].find_one(revision, {"saved_at": 1, "saved_by": 1})
    if fields["detail.format"] == HTML or saved is None:
        return record
    converted = _with_text(record, {path.removeprefix("detail."): value for path, value in fields.items()})
    nonce = converted["metadata"]["nonce"]
    following = {**saved, **revision, "_id": nonce, "parent": metadata["nonce"], "metadata": converted["metadata"]}
    database()[REVISIONS].update_one({"_id": nonce}, {"$setOnInsert": following}, upsert=True)
    return converted


def _with_text(record: Mapping[str, Any], text: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the next version of an exported node, which contains the converted text."""
    metadata = record["metadata"]
    detail = {**metadata["detail"], **text}
    nonce = _converted_nonce(metadata["nonce"])
    history = [*record["history"], metadata["nonce"]]
    return {**record, "metadata": {**metadata, "nonce": nonce, "detail": detail}, "history": history}


def _converted_nonce(nonce: ObjectId) -> ObjectId:
    """Return the nonce of the version that contains the converted text of the version `nonce`.

    The nonce is the same in each import and on each site, so that a site recognizes a version that it has converted.
    Its time is a second later, because the history is sorted by nonce.
    """
    seconds = min(int.from_bytes(nonce.binary[:4]) + 1, 2**32 - 1)
    return ObjectId(seconds.to_bytes(4) + blake2b(nonce.binary, digest_size=8, person=b"markdown").digest())


def _insert(document: Document) -> None:
    database()[NODES].insert_one(document)
    _invalidate_tree(document)


def _replace(stored: Document, document: Document) -> None:
    """Replace the earlier version of a node that is stored on this site.

    Raises:
        Refused: The node has changed since it was read.
        InvalidPlace: The node can't be moved to its new section.
    """
    check_history(document)
    seen = Expected.of(stored)
    metadata = document["metadata"]
    unchanged = {**seen.as_filter(), "metadata.tags": stored["metadata"]["tags"], "draft.nonce": _draft_nonce(stored)}
    update = _update(stored, document)

    def write(session: ClientSession | None = None) -> bool:
        return bool(database()[NODES].update_one(unchanged, update, session=session).matched_count)

    def move(session: ClientSession) -> bool:
        return count_move(seen_tree, session) and write(session)

    if content.get(metadata["type"]).is_section and metadata["parent_id"] != seen.parent_id:
        seen_tree = stored_site.read().tree
        check_ancestors(seen.id, metadata["parent_id"])
        is_done = transaction(move)
    else:
        is_done = write()
    if not is_done:
        raise Refused(_("it has been changed here"))
    _invalidate_tree(document)


def _update(stored: Mapping[str, Any], document: Mapping[str, Any]) -> Document:
    """Return the update that replaces a stored node with another version, but keeps the node's embedded comments."""
    changes = {f"metadata.{name}": value for name, value in document["metadata"].items()}
    removed = {f"metadata.{name}": "" for name in stored["metadata"].keys() - document["metadata"].keys()}
    for name in ("draft", "discarded", "position", "arranged", "derived"):
        if name in document:
            changes[name] = document[name]
        elif name in stored:
            removed[name] = ""
    return {"$set": changes, "$unset": removed} if removed else {"$set": changes}


def _invalidate_tree(document: Mapping[str, Any]) -> None:
    """If the node is a section, make all processes read the tree of sections again."""
    if content.get(document["metadata"]["type"]).is_section:
        invalidate()


def _draft_nonce(document: Mapping[str, Any]) -> ObjectId | None:
    nonce: ObjectId | None = document.get("draft", {}).get("nonce")
    return nonce

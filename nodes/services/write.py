"""The write of a node: a compare-and-set on its place and nonce. The revision is inserted first, versions are renewed last."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.utils.translation import gettext as _
from pymongo.client_session import ClientSession
from pymongo.errors import DuplicateKeyError

from marginalia.markup.characters import is_blank
from marginalia.markup.inserts.reading import TextInserts, UnknownInsert, may_have_inserts
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes import content, merging, rendering
from nodes.collections import ASSET_FILES, NODES, REDIRECTS, REVISIONS, TRASH, home_of
from nodes.content import MARKDOWN, PHOTO, declared_fields, may_hold, upgrading
from nodes.content.declared_fields import PREFIX
from nodes.errors import (
    FieldRefused,
    IdTaken,
    InvalidPlace,
    NewerVersion,
    NotReady,
    NotUpgraded,
    SlugTaken,
    TextTooLong,
    WrongInsert,
)
from nodes.models import tree
from nodes.selectors import lists, slugs
from nodes.services import derived, ordering, scope
from nodes.services.site import invalidate
from nodes.tags import has_no_address
from nodes.types import NO_TAGS, Act, Actor, Expected, Submitted, TagChange

# Maximum saves that are searched for the last save of a form.
LOOK_BACK = 200
# Fields that are read before a node is written.
STORED = {"metadata": 1, "draft.due": 1, **scope.FIELDS}
# Drafts don't contain the place of a node, because a URL cannot be a draft.
NOT_DRAFTED = frozenset({"slug", "parent_id"})
# Maximum earlier nodes of a redirect, in addition to the last one.
MOST_EARLIER = 10
# Maximum faults of a text that are reported at once.
MOST_FAULTS = 10


def compare_and_set(
    actor: Actor,
    stored: Document,
    changes: Mapping[str, Any],
    tags: TagChange = NO_TAGS,
    *,
    more_filter: Mapping[str, Any] | None = None,
    more_update: Mapping[str, Any] | None = None,
    submitted: Submitted | None = None,
    act: Act | None = None,
    session: ClientSession | None = None,
) -> ObjectId | None:
    """Write `changes` (fields by path) to the node, if it is still as `stored`. Returns the new nonce, or None if it changed.

    The revision is inserted first, so that a later save finds this version as its base. `more_filter` and `more_update` are
    added to the same update, for fields that must change together with the node. Tags change in this update, too, so a refused
    save changes no tags. The form's content `submitted` and `act` are stored with the revision.

    After the write, the site's versions are renewed. In a transaction (`session`), the caller renews them after the commit.
    `stored` was read with STORED at least. If the base of scheduled changes changes, their schedule ends (`ends_schedule`).
    Changes that are already due have to be published first (scheduled.publish_if_due), or the write doesn't match.

    Raises SlugTaken, InvalidSlug, InvalidPlace, NotReady, FieldRefused, NewerVersion, NotUpgraded.
    """
    check_tags(tags.added)
    seen = Expected.of(stored)
    metadata = writable(stored["metadata"])
    home = home_of(metadata["type"])
    place = changes.get("parent_id", seen.parent_id), changes.get("slug", seen.slug)
    if place != (seen.parent_id, seen.slug):
        check_place(place[0], metadata["type"])
        if place[0] != seen.parent_id:
            check_capacity(place[0])
        slugs.check(place[1], place[0])
        # The unique index decides in the end. This query avoids redirects for renames that would be refused.
        taken = {"metadata.parent_id": place[0], "metadata.slug": place[1], "_id": {"$ne": seen.id}}
        if database()[home].find_one(taken, {"_id": 1}):
            raise SlugTaken(place[1], slugs.find_free(place[1], place[0], home))
        store_redirect(seen, was_public=metadata["published"] is not None and metadata["published"] <= now())
    nonce = ObjectId()
    moment = now()
    due = stored.get("draft", {}).get("due")
    after = {**metadata, **merging.nested({**merging.fields(metadata), **changes}), "nonce": nonce, "updated": moment}
    after["tags"] = tags.applied(metadata["tags"])
    check_ready(after)
    # A merged text may be longer than both of its sources.
    check_lengths(changes)
    check_inserts(changes, after)
    insert_revision(seen.id, seen.nonce, after, actor, submitted, act=act)
    extra = dict(more_update or {})
    found = derived.derive(after)
    update: dict[str, Any] = {
        **extra,
        "$set": {
            **extra.get("$set", {}),
            **_written(stored["metadata"], after, changes),
            "metadata.nonce": nonce,
            "metadata.updated": moment,
            "derived": found,
        },
    }
    if due and ends_schedule(changes) and "$unset" not in extra:
        update["$unset"] = {"draft.due": "", "draft.derived": ""}
    if place[0] != seen.parent_id:
        update = ordering.update_with_position(update, place[0])
    not_due = {"draft.due": {"$eq": due, "$gt": moment} if due else None}
    unchanged = {**seen.as_filter(), **not_due, **(more_filter or {})}
    if tags:
        # A change of only tags makes no nonce. So the filter contains the tags, and a save that doesn't match reads them again.
        unchanged["metadata.tags"] = metadata["tags"]
        update["$set"]["metadata.tags"] = after["tags"]
    try:
        done = database()[home].update_one(unchanged, update, session=session)
    except DuplicateKeyError as error:
        raise SlugTaken(place[1], slugs.find_free(place[1], place[0], home)) from error
    if not done.matched_count:
        return None
    if session is None:
        invalidate(scope.of_save(stored, after, found), scope.changed_tags(stored, after, tags))
    return nonce


def ends_schedule(changes: Mapping[str, Any]) -> bool:
    """Return whether a save of these fields (by path) of the live version ends the schedule of its draft.

    Every field does, except the place, because the base of the draft is changed then.
    """
    return bool(changes.keys() - NOT_DRAFTED)


def _written(stored: Mapping[str, Any], after: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set: the changes, and the whole detail if the stored one had an older version."""
    if upgrading.version(stored) == upgrading.version(after):
        return {f"metadata.{path}": value for path, value in changes.items()}
    common = {path: value for path, value in changes.items() if not path.startswith(PREFIX)}
    written = {**common, "detail": after["detail"], upgrading.VERSION: after[upgrading.VERSION]}
    return {f"metadata.{name}": value for name, value in written.items()}


def base_for(
    node_id: ObjectId, seen: ObjectId, present: ObjectId, form: ObjectId | None, tags: TagChange
) -> tuple[dict[str, Any] | None, TagChange]:
    """Return the base, and the change of tags, for a save of a form that was rendered under the nonce `seen`.

    If the same rendered form was saved since (double click, or the back button), the base is its last content, so that editors
    don't conflict with themselves. At most LOOK_BACK saves before the nonce `present` are searched.
    """
    last = _last_of(node_id, seen, present, form)
    if last is None:
        return load_base(node_id, seen), tags
    if tags.wanted is not None and "form_tags" in last:
        tags = TagChange.between(last["form_tags"], tags.wanted)
    return load_base(node_id, last["_id"], said=True), tags


def _last_of(node_id: ObjectId, seen: ObjectId, present: ObjectId, form: ObjectId | None) -> Document | None:
    """Return the newest revision that a rendered form saved since the nonce `seen`, without its content."""
    if form is None:
        return None
    links = {"parent": 1, "form": 1, "form_tags": 1}
    newest = database()[REVISIONS].find({"node_id": node_id}, links).sort("saved_at", -1).limit(LOOK_BACK)
    by_nonce = {revision["_id"]: revision for revision in newest}
    nonce: ObjectId | None = present
    while nonce != seen and (revision := by_nonce.pop(nonce, None)):
        if revision.get("form") == form:
            return revision
        nonce = revision["parent"]
    return None


def load_base(node_id: ObjectId, nonce: ObjectId, *, said: bool = False) -> dict[str, Any] | None:
    """Return the fields that the node had under `nonce`, from its revision, or None if there is no usable revision.

    If `said`, return the fields of the form that saved it instead.
    """
    revision = database()[REVISIONS].find_one({"_id": nonce, "node_id": node_id}, {"metadata": 1, "submitted": 1})
    if revision is None:
        return None
    try:
        present = writable(revision["metadata"])
        return submitted_fields(revision) if said else merging.fields(present)
    except (NewerVersion, NotUpgraded):
        return None


def submitted_fields(revision: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the form that saved a revision. Fields that were not in the form have their saved values."""
    whole = revision["metadata"]
    said = revision.get("submitted") or {}
    # Upgraders need the whole detail.
    detail = {**(whole.get("detail") or {}), **said.get("detail", {})}
    return merging.fields({**whole, **said, "detail": detail})


def writable(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stored `metadata` in the current version of its type.

    Raises NewerVersion if a newer release stored it, NotUpgraded if it cannot be upgraded.
    """
    if upgrading.is_newer(metadata):
        raise NewerVersion
    try:
        return upgrading.upgraded(metadata)
    except upgrading.UpgradeFailed as error:
        raise NotUpgraded(error.from_version) from error


def check_place(parent_id: ObjectId | None, type: str, coming: Mapping[ObjectId, str] = MappingProxyType({})) -> None:
    """Raise InvalidPlace if the section cannot contain a node of this type, or doesn't exist.

    `coming` has the types, by id, of sections that will be stored before the node.
    """
    what = content.get(type)
    if not what.is_installed:
        raise InvalidPlace(_("There is no type “%(type)s”.") % {"type": type})
    above = coming.get(parent_id) if parent_id else None
    if parent_id is not None and above is None:
        sections = tree.fresh()
        if sections.ancestors(parent_id) is None:
            raise InvalidPlace(_("That section is not there: it was moved to the trash or deleted."))
        above = sections.sections[parent_id].type
    if not may_hold(above, type):
        where = content.get(above).label if above else _("the top level")
        raise InvalidPlace(_("%(what)s cannot stand in: %(where)s.") % {"what": what.label, "where": where})


def check_capacity(parent_id: ObjectId | None) -> None:
    """Raise InvalidPlace if a section is full. Two concurrent writers may both pass this check."""
    section = tree.current().sections.get(parent_id) if parent_id else None
    most = section.content_type.most if section else None
    if section and most is not None and lists.count_children([section.id], most) >= most:
        raise InvalidPlace(
            _("“%(section)s” is full: it holds at most %(most)d.") % {"section": section.title, "most": most}
        )


def check_tags(added: Iterable[str]) -> None:
    """Raise FieldRefused if an added tag cannot have a URL."""
    if tag := next(filter(has_no_address, added), ""):
        raise FieldRefused("tags", _("“%(tag)s” can't be a tag. Use a word instead of the dots.") % {"tag": tag})


def check_ready(metadata: Mapping[str, Any]) -> None:
    """Raise NotReady for a photo that would be published without an alternative text.

    `editing.create` and `drafts.schedule` do not call this, because neither handles photos. A publishing rule for other
    types needs both calls. Forms and the API report NotReady at `alt` (editor/sent_forms.py, api/refusals.py).
    """
    if metadata["type"] == PHOTO and metadata["published"] and is_blank(metadata["detail"].get("alt") or ""):
        raise NotReady(
            _("“%(title)s” needs an alternative text before it can be published: say what it shows.") % metadata
        )


def check_lengths(fields: Mapping[str, Any]) -> None:
    """Raise TextTooLong if a text in `fields` (by path) is too long. Long texts are slow to render and merge."""
    for path, text in fields.items():
        if not isinstance(text, str):
            continue
        # A character has at most four bytes, so only texts that might be too long are encoded to count bytes.
        size = len(text.encode(errors="surrogatepass")) if 4 * len(text) > settings.TEXT_MAX_BYTES else 0
        if size > settings.TEXT_MAX_BYTES:
            raise TextTooLong(path, size, settings.TEXT_MAX_BYTES)


def check_inserts(changes: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Raise WrongInsert if a text in `changes` (by path) has invalid inserts. `metadata` is the metadata after the save.

    Unchanged texts are not checked, so that a stored mistake doesn't block an editor who corrects a title.
    """
    detail = metadata["detail"]
    texts = [(declared_fields.FieldText("detail.text", 0, detail.get("text") or ""), detail.get("format") or MARKDOWN)]
    texts += [(written, MARKDOWN) for written in declared_fields.markdown_texts(metadata["type"], detail)]
    for written, text_format in texts:
        # Rendering is slow, so texts without inserts are skipped.
        if written.path not in changes or not may_have_inserts(written.text):
            continue
        found = TextInserts(rendering.to_html(written.text, text_format)).faults
        place = f"{written.number}: " if written.number else ""
        if faults := [f"{place}{fault}" for fault in found if not isinstance(fault, UnknownInsert)]:
            raise WrongInsert(written.path, faults[:MOST_FAULTS])


def check_id(node_id: ObjectId, *, form: ObjectId | None = None, photo: bool = False) -> None:
    """Raise IdTaken if an id that the caller chose belongs to another kind of node, or to the history of one.

    Revisions, comments and redirects refer to the id, so it must not be reused. A history that `form` started, for example in
    an interrupted save, is allowed. For a `photo`, a history of a photo is allowed.
    """
    homes = (NODES, TRASH) if photo else (ASSET_FILES,)
    others = {"metadata.type": {"$ne": PHOTO}} if photo else {"form": {"$ne": form}}
    taken = [(home, {"_id": node_id}) for home in homes] + [(REVISIONS, {"node_id": node_id, **others})]
    if any(database()[name].find_one(wanted, {"_id": 1}) for name, wanted in taken):
        raise IdTaken(node_id)


def insert_revision(
    node_id: ObjectId,
    parent: ObjectId | None,
    metadata: Mapping[str, Any],
    actor: Actor,
    submitted: Submitted | None = None,
    *,
    draft: bool = False,
    act: Act | None = None,
) -> None:
    """Insert the next revision of a node before the node is updated. `parent` is the node's nonce before the update.

    The id of the revision is the new nonce, `metadata["nonce"]`. `act` is the action of the save, if it cannot be derived from
    two neighbouring revisions.
    """
    revision = {
        "_id": metadata["nonce"],
        "parent": parent,
        "node_id": node_id,
        "metadata": dict(metadata),
        "saved_at": now(),
        "saved_by": actor.as_document(),
    }
    if draft:
        revision["draft"] = True
    if act is not None:
        revision["act"] = act.value
    if submitted is not None:
        revision["form"] = submitted.form
        if submitted.was_merged:
            revision["submitted"] = merging.nested(submitted.fields)
        if submitted.tags is not None:
            revision["form_tags"] = sorted(submitted.tags)
    database()[REVISIONS].insert_one(revision)


def store_redirect(seen: Expected, *, was_public: bool = False) -> None:
    """Store a redirect from the node's place before the node leaves it. A crash can leave a needless redirect, but no dead URL.

    If the URL already redirects to an earlier node, that redirect stays, unless this node `was_public` since. In this case, the
    other node is stored in `earlier`, where pages below it are still found.
    """
    place = {"_id": {"parent_id": seen.parent_id, "slug": seen.slug}}
    # Redirects to permanently deleted nodes can be replaced.
    free = {} if was_public else {"$or": [{"node_id": seen.id}, {"deleted_at": {"$exists": True}}]}
    # If the URL redirects to another node, the filter doesn't match, and the upsert fails with DuplicateKeyError.
    with suppress(DuplicateKeyError):
        database()[REDIRECTS].update_one(
            {**place, **free},
            [
                {"$set": {"earlier": _earlier(seen.id), "node_id": seen.id, "kept_at": now()}},
                {"$unset": "deleted_at"},
            ],
            upsert=True,
        )


def _earlier(node_id: ObjectId) -> Document:
    """Return the expression for the earlier nodes of a redirect before `node_id`, without deleted ones."""
    last = {"$cond": [{"$and": ["$node_id", {"$not": "$deleted_at"}]}, ["$node_id"], []]}
    others = {"$concatArrays": [last, {"$ifNull": ["$earlier", []]}]}
    kept = {"$slice": [{"$filter": {"input": others, "cond": {"$ne": ["$$this", node_id]}}}, MOST_EARLIER]}
    return {"$cond": [{"$eq": [kept, []]}, "$$REMOVE", kept]}

"""Rules that nodes must satisfy. Services check them before each write, regardless of the caller."""

import builtins
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from types import MappingProxyType
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from pymongo.errors import DuplicateKeyError

from marginalia.markup.characters import is_blank
from marginalia.markup.inserts.reading import TextInserts, UnknownInsert, may_have_inserts
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.mongo.reading import Malformed
from nodes import content, rendering
from nodes.collections import ASSET_FILES, NODES, REVISIONS, TRASH
from nodes.content import MARKDOWN, PHOTO, Content, declared_fields, may_hold, registry, uniqueness, values
from nodes.content.declared_fields import PREFIX
from nodes.content.messages import section_gone, unknown_type
from nodes.errors import (
    FieldRefused,
    FieldsRefused,
    IdTaken,
    InvalidField,
    InvalidPlace,
    NotReady,
    NotUnique,
    TextTooLong,
    WrongInsert,
)
from nodes.models import tree
from nodes.selectors import lists
from nodes.tags import has_no_address
from nodes.types import NEVER, TagChange

# The fields that drafts don't contain. They are left out because a node and its draft share one URL.
NOT_DRAFTED = frozenset({"slug", "parent_id"})
# Maximum number of errors that are reported at once for the text in a field.
MOST_FAULTS = 10


def check_dates(before: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise InvalidField if the dates in `changes`, keyed by path, contradict each other or would hide a public node.

    `before` contains the stored fields. It is empty for a new node.
    """
    if not changes.keys() & {"published", "expires"}:
        return
    moment = now()
    dates = {**before, **changes}
    published = dates.get("published")
    if published is None or published <= moment:
        return
    if published >= (dates.get("expires") or NEVER):
        raise InvalidField("expires", _("The expiry date must be after the publication date."))
    was_published = before.get("published")
    if was_published and was_published <= moment < before["expires"]:
        raise InvalidField(
            "published",
            _(
                "This item is already public, so its publication date can't be in the future. To hide it until then, "
                "unpublish it first."
            ),
        )


def check_future(at: datetime) -> None:
    """Raise InvalidField unless the publication time `at` is in the future."""
    if at <= now():
        raise InvalidField("at", _("Choose a time in the future. To show the changes now, publish them."))


def check_place_unchanged(changes: Mapping[str, Any], live: Mapping[str, Any]) -> None:
    """Raise InvalidField if a draft's slug or section would differ from the live version's.

    The keys of both arguments are paths.
    """
    for path in sorted(NOT_DRAFTED & changes.keys()):
        if changes[path] != live.get(path):
            raise InvalidField(
                path,
                _(
                    "A draft can't change the page's URL. Reset the section and the slug, or "
                    "save them to the live version."
                ),
            )


def check_place(parent_id: ObjectId | None, type: str, coming: Mapping[ObjectId, str] = MappingProxyType({})) -> None:
    """Raise InvalidPlace if the section doesn't exist or can't contain a node of this type.

    `coming` contains the types of sections that will be stored before the node, keyed by id.
    """
    what = content.get(type)
    if not what.is_installed:
        raise InvalidPlace(unknown_type(type))
    above = coming.get(parent_id) if parent_id else None
    if parent_id is not None and above is None:
        sections = tree.fresh()
        if sections.ancestors(parent_id) is None:
            raise InvalidPlace(section_gone())
        above = sections.sections[parent_id].type
    if not may_hold(above, type):
        if above is None:
            raise InvalidPlace(
                _("Content of the type “%(what)s” isn't allowed at the top level.") % {"what": what.label}
            )
        raise InvalidPlace(
            _("Content of the type “%(what)s” isn't allowed in a section of the type “%(where)s”.")
            % {"what": what.label, "where": content.get(above).label}
        )


def check_capacity(parent_id: ObjectId | None) -> None:
    """Raise InvalidPlace if a section is full. Two concurrent writers can both pass this check."""
    section = tree.current().sections.get(parent_id) if parent_id else None
    most = section.content_type.most if section else None
    if section and most is not None and lists.count_children([section.id], most) >= most:
        raise InvalidPlace(
            _("“%(section)s” is full. It can contain at most %(most)d items. Choose another section.")
            % {"section": section.title, "most": most}
        )


def apply_tags(change: TagChange, present: Iterable[str]) -> list[str]:
    """Apply `change` to the tags in `present`, and return the result.

    Raises:
        FieldRefused: An added tag can't be used in a URL.
    """
    check_tags(change.added)
    return change.applied(present)


def check_tags(tags: Iterable[str]) -> None:
    """Raise FieldRefused if one of `tags` can't be used in a URL."""
    if tag := next(filter(has_no_address, tags), ""):
        raise FieldRefused("tags", _("“%(tag)s” can't be a tag. Add a letter or a digit.") % {"tag": tag})


def check_ready(metadata: Mapping[str, Any]) -> None:
    """Raise NotReady if a photo would be published without alternative text.

    All code that publishes nodes calls this function, so you can add rules for other types here. Forms and the API
    report NotReady as an error in the `alt` field (editor/sent_forms.py, api/refusals.py).
    """
    if metadata["type"] == PHOTO and metadata["published"] and is_blank(metadata["detail"].get("alt") or ""):
        raise NotReady(
            _("“%(title)s” can't be published without alternative text. Describe what the photo shows.") % metadata
        )


def check_type(changes: Iterable[str], metadata: Mapping[str, Any]) -> None:
    """Raise FieldsRefused if the `clean` method of the node's type rejects its fields after a save of `changes`.

    `clean` is called only if one of the changed paths is a field of the type. Otherwise, an editor couldn't correct the
    title of a node whose stored fields are invalid.
    """
    if not any(path.startswith(PREFIX) for path in changes):
        return
    type = content.get(metadata["type"])
    # Damaged values are reported when the node is read, so ignore them here.
    with suppress(Malformed):
        try:
            type.from_document(metadata["detail"]).clean()
        except ValidationError as error:
            raise FieldsRefused(_messages(type, error)) from error


def _messages(type: builtins.type[Content], error: ValidationError) -> dict[str, str]:
    """Return the error messages, keyed by path. Messages that belong to no field of the type have the path ""."""
    by_name = error.message_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.messages}
    columns = {field.name: field.column for field in values.stored_fields(type)}
    by_path: dict[str, list[str]] = {}
    for name, messages in by_name.items():
        by_path.setdefault(f"{PREFIX}{columns[name]}" if name in columns else "", []).extend(messages)
    return {path: " ".join(messages) for path, messages in by_path.items()}


def check_unique(node_id: ObjectId | None, metadata: Mapping[str, Any], changes: Iterable[str] | None = None) -> None:
    """Raise NotUnique if another node in the section has the same values in fields that must be unique together.

    Scheduled changes of other nodes also count, because no editor can correct them at the time when they are published.
    Other drafts and the trash don't count. A unique index prevents duplicates that are saved at the same moment.

    Args:
        node_id: The node, or None for a new node.
        metadata: The node's metadata after the save.
        changes: The changed paths. If none of them affects a combination of fields, this combination isn't checked.
            None means that all combinations are checked.
    """
    changed = None if changes is None else set(changes)
    type = metadata["type"]
    others = {"metadata.parent_id": metadata["parent_id"], "metadata.type": type, "_id": {"$ne": node_id}}
    for fields in uniqueness.combinations(type):
        paths = {"parent_id", "type", *(f"{PREFIX}{field.column}" for field in fields)}
        if changed is not None and not changed & paths:
            continue
        live = uniqueness.same_values(fields, metadata["detail"])
        if live is None:
            continue
        scheduled = uniqueness.same_values(fields, metadata["detail"], "draft.metadata") or {}
        is_due = {"draft.due": {"$exists": True}}
        if any(database()[NODES].find_one({**others, **same}, {"_id": 1}) for same in (live, is_due | scheduled)):
            raise not_unique(fields)


def duplicate_values(type: str, error: DuplicateKeyError) -> NotUnique | None:
    """If `error` was caused by fields that must be unique together, return the NotUnique exception for these fields.

    Otherwise, return None.
    """
    paths = set((error.details or {}).get("keyPattern") or ())
    for fields in uniqueness.combinations(type):
        if paths == {"metadata.parent_id", *(f"metadata.detail.{field.column}" for field in fields)}:
            return not_unique(fields)
    return None


def not_unique(fields: uniqueness.Combination) -> NotUnique:
    """Return the exception for a page that has the same values in `fields` as another page in its section."""
    labels = get_text_list([str(field.verbose_name) for field in fields], _("and"))
    message = _("Another page in this section already has the same %(fields)s. Choose different values.")
    return NotUnique({f"{PREFIX}{field.column}": message % {"fields": labels} for field in fields})


def check_lengths(fields: Mapping[str, Any]) -> None:
    """Raise TextTooLong if the text in one of `fields` is too long. Long text is slow to render and merge."""
    for path, text in fields.items():
        if not isinstance(text, str):
            continue
        # A character has at most four bytes, so text is encoded only if it could exceed the limit.
        size = len(text.encode(errors="surrogatepass")) if 4 * len(text) > settings.TEXT_MAX_BYTES else 0
        if size > settings.TEXT_MAX_BYTES:
            raise TextTooLong(path, size, settings.TEXT_MAX_BYTES)


def check_inserts(changes: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Raise WrongInsert if the text in one of `changes`, keyed by path, contains invalid inserts.

    `metadata` is the metadata after the save. Unchanged text isn't checked, so that an editor can correct the title
    even if the text already contains a mistake.
    """
    detail = metadata["detail"]
    texts = [(declared_fields.FieldText("detail.text", 0, detail.get("text") or ""), detail.get("format") or MARKDOWN)]
    texts += [(written, MARKDOWN) for written in declared_fields.markdown_texts(metadata["type"], detail)]
    for written, text_format in texts:
        # Rendering is slow, so text without inserts is skipped.
        if written.path not in changes or not may_have_inserts(written.text):
            continue
        inserts = TextInserts(rendering.to_html(written.text, text_format))
        place = f"{written.number}: " if written.number else ""
        if faults := [f"{place}{fault}" for fault in inserts.faults if not isinstance(fault, UnknownInsert)]:
            raise WrongInsert(written.path, faults[:MOST_FAULTS])


def check_id(node_id: ObjectId, *, form: ObjectId | None = None, uploaded: bool = False) -> None:
    """Raise IdTaken if an id that the caller chose belongs, or used to belong, to another node or photo.

    Revisions, comments and redirects refer to ids, so an id must not be reused.

    Args:
        node_id: The id.
        form: The id of the form. Revisions that this form stored, for example in an interrupted save, are allowed.
        uploaded: Whether the id is for a photo or file. If so, revisions of photos and files are allowed.
    """
    homes = (NODES, TRASH) if uploaded else (ASSET_FILES,)
    others = {"metadata.type": {"$nin": list(registry.uploaded())}} if uploaded else {"form": {"$ne": form}}
    taken = [(home, {"_id": node_id}) for home in homes] + [(REVISIONS, {"node_id": node_id, **others})]
    if any(database()[name].find_one(wanted, {"_id": 1}) for name, wanted in taken):
        raise IdTaken(node_id)

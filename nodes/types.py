"""Types, in addition to models, that services accept and return, such as the actor and the result of a save."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, Self

from bson import ObjectId

from marginalia.markup.characters import is_blank

# The expiry time of nodes that never expire. It can't be null, because $gt doesn't match null.
NEVER = datetime(9999, 12, 31, tzinfo=UTC)


class Act(enum.StrEnum):
    """The kind of change that a save made. The history of a node shows it.

    Revisions store a kind only if it can't be derived from two consecutive revisions: RESTORED, MERGED,
    CHANGES_PUBLISHED, SCHEDULED_CHANGES, or SCHEDULED for a draft.
    """

    CREATED = "created"
    IMPORTED = "imported"
    SAVED = "saved"
    DRAFTED = "drafted"
    RESTORED = "restored"  # An older version was restored, or the node was restored from the trash.
    MERGED = "merged"
    PUBLISHED = "published"
    CHANGES_PUBLISHED = "changes-published"
    SCHEDULED_CHANGES = "scheduled-changes-published"  # Scheduled changes were due and were published automatically.
    SCHEDULED = "scheduled"
    UNPUBLISHED = "unpublished"
    MOVED = "moved"
    RENAMED = "renamed"
    REPLACED = "replaced"  # The file of a photo was replaced.


class User(Protocol):
    """An account, a visitor, the Principal of an API request, or `nodes.access.System`."""

    @property
    def pk(self) -> Any: ...
    @property
    def is_active(self) -> bool: ...
    @property
    def is_staff(self) -> bool: ...
    def has_perm(self, permission: str, /) -> bool: ...


@dataclass(frozen=True)
class Actor:
    """The author of a change: the id of an account, and the name to show. Imports have no account id."""

    id: ObjectId | None
    name: str

    @classmethod
    def of(cls, user: Any) -> Self:
        """Return the actor for a user or for `nodes.access.System`.

        The actor's name is public, so it is never an email address.
        """
        if isinstance(known := getattr(user, "actor", None), cls):
            return known
        full_name = user.get_full_name()
        return cls(user.pk, user.get_username().partition("@")[0] if is_blank(full_name) else full_name)

    def as_document(self) -> dict[str, Any]:
        return {"_id": self.id, "name": self.name}


@dataclass(frozen=True)
class Expected:
    """The expected state of a node in a compare-and-set operation: the section, slug, nonce and type version.

    The section and slug are included because they are the shard key. Without the shard key, MongoDB would broadcast
    saves and reject renames.
    """

    id: ObjectId
    parent_id: ObjectId | None
    slug: str
    nonce: ObjectId
    # `upgrade_nodes` changes this version but not the nonce, so a writer that read the node before the upgrade must
    # read it again.
    schema_version: int | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        metadata = document["metadata"]
        return cls(
            document["_id"], metadata["parent_id"], metadata["slug"], metadata["nonce"], metadata.get("schema_version")
        )

    def as_filter(self) -> dict[str, Any]:
        return {
            "_id": self.id,
            "metadata.parent_id": self.parent_id,
            "metadata.slug": self.slug,
            "metadata.nonce": self.nonce,
            "metadata.schema_version": self.schema_version,
        }


@dataclass(frozen=True)
class TagChange:
    """The difference between the tags with which a form was rendered and the tags that were submitted.

    Attributes:
        added: The tags to add.
        removed: The tags to remove.
        wanted: All tags in the form, or None if only the difference is known.
    """

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    wanted: frozenset[str] | None = field(default=None, compare=False)

    @classmethod
    def between(cls, rendered: Any, wanted: Any) -> Self:
        """Return the change from the tags in `rendered` to the tags in `wanted`."""
        before = frozenset(rendered)
        after = frozenset(wanted)
        return cls(after - before, before - after, after)

    def applied(self, present: Iterable[str]) -> list[str]:
        """Apply the change to the tags in `present`, and return the sorted result.

        "News" and "news" count as the same tag, and the capitalization in `present` is kept.
        """
        if not self:
            return sorted(present)
        removed = {tag.casefold() for tag in self.removed}
        spellings: dict[str, str] = {}
        for tag in (*(tag for tag in present if tag.casefold() not in removed), *sorted(self.added)):
            spellings.setdefault(tag.casefold(), tag)
        return sorted(spellings.values())

    def changes(self, present: Iterable[str]) -> bool:
        """Return whether the change would alter the tags in `present`."""
        return self.applied(present) != sorted(present)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


NO_TAGS = TagChange()


@dataclass(frozen=True)
class Submitted:
    """The content of a form when it was saved.

    Attributes:
        form: The id of the form.
        fields: The fields, keyed by path.
        was_merged: Whether the stored version also contains changes that others saved while the form was open.
        tags: All tags in the form, or None if the form has no tags field.
    """

    form: ObjectId
    fields: Mapping[str, Any]
    was_merged: bool = False
    tags: frozenset[str] | None = None


@dataclass(frozen=True)
class Change:
    """A change to a stored node.

    Attributes:
        fields: The changed fields, keyed by path.
        tags: The tags to add and remove.
        submitted: The content of the form, which is stored with the revision.
        act: The kind of change, which is stored with the revision.
    """

    fields: Mapping[str, Any]
    tags: TagChange = NO_TAGS
    submitted: Submitted | None = None
    act: Act | None = None

    def alters(self, metadata: Mapping[str, Any]) -> bool:
        return bool(self.fields) or self.tags.changes(metadata["tags"])


@dataclass(frozen=True)
class Saved:
    """The result of a save.

    Attributes:
        id: The node.
        nonce: The stored nonce.
        changed: The paths of the written fields.
        merged: The paths of the fields that were merged with changes that another writer saved.
        unscheduled: If this save cancelled a schedule, the scheduled time. The changes are now an ordinary draft.
    """

    id: ObjectId
    nonce: ObjectId
    changed: tuple[str, ...] = ()
    merged: tuple[str, ...] = field(default=())
    unscheduled: datetime | None = None


@dataclass(frozen=True)
class SelectedNode:
    """A node that a user selected in a list, with the data that the list showed."""

    id: ObjectId
    nonce: ObjectId
    title: str
    # The content type, or "" before the node has been read.
    type: str = ""


@dataclass(frozen=True)
class Refused:
    """A node that wasn't changed, and the reason."""

    selected: SelectedNode
    reason: str


@dataclass(frozen=True)
class Summary:
    """The number of changed nodes, and the nodes that weren't changed."""

    done: int
    refused: tuple[Refused, ...]

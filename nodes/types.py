"""Types that services accept and return in addition to models: the actor, the expected state and the result of a save."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from bson import ObjectId

from marginalia.markup.characters import is_blank

# The expiry of nodes that never expire. It isn't null, because $gt doesn't match null.
NEVER = datetime(9999, 12, 31, tzinfo=UTC)


class Act(enum.StrEnum):
    """The action of a save, for the history of a node.

    Revisions only store the actions that can't be derived from two neighbouring revisions: RESTORED, MERGED,
    CHANGES_PUBLISHED and SCHEDULED_CHANGES.
    """

    CREATED = "created"
    IMPORTED = "imported"
    SAVED = "saved"
    RESTORED = "restored"  # an older version, or a node from the trash
    MERGED = "merged"
    PUBLISHED = "published"
    CHANGES_PUBLISHED = "changes-published"
    SCHEDULED_CHANGES = "scheduled-changes-published"  # automatically, when they were due
    SCHEDULED = "scheduled"
    UNPUBLISHED = "unpublished"
    MOVED = "moved"
    RENAMED = "renamed"
    REPLACED = "replaced"  # the file of a photo


@dataclass(frozen=True)
class Actor:
    """The author of a change: the id of an account, and the name to show. An import has no id."""

    id: ObjectId | None
    name: str

    @classmethod
    def of(cls, user: Any) -> Self:
        """Return the actor for a user, or for `nodes.access.System`.

        Readers see the name, so it is never an email address.
        """
        if isinstance(known := getattr(user, "actor", None), cls):
            return known
        full_name = user.get_full_name()
        return cls(user.pk, user.get_username().partition("@")[0] if is_blank(full_name) else full_name)

    def as_document(self) -> dict[str, Any]:
        return {"_id": self.id, "name": self.name}


@dataclass(frozen=True)
class Expected:
    """The expected state of a node in a compare-and-set: its place, nonce and type version when it was read.

    The place is included because it is the shard key. Without the shard key, MongoDB would broadcast saves and refuse
    renames.
    """

    id: ObjectId
    parent_id: ObjectId | None
    slug: str
    nonce: ObjectId
    # `upgrade_nodes` changes the stored version without a new nonce, so writers that read the old version have to read
    # again.
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
    """A change of tags, as the difference to the tags with which a form was rendered.

    Attributes:
        added: The tags to add.
        removed: The tags to remove.
        wanted: All tags of the form, or None if only the difference is known.
    """

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    wanted: frozenset[str] | None = field(default=None, compare=False)

    @classmethod
    def between(cls, rendered: Any, wanted: Any) -> Self:
        """Return the change that turns the tags `rendered` into the tags `wanted`."""
        before = frozenset(rendered)
        after = frozenset(wanted)
        return cls(after - before, before - after, after)

    def applied(self, present: Iterable[str]) -> list[str]:
        """Return the tags `present` after the change, sorted. "News" and "news" are one tag. The present spelling stays."""
        if not self:
            return sorted(present)
        removed = {tag.casefold() for tag in self.removed}
        spellings: dict[str, str] = {}
        for tag in (*(tag for tag in present if tag.casefold() not in removed), *sorted(self.added)):
            spellings.setdefault(tag.casefold(), tag)
        return sorted(spellings.values())

    def changes(self, present: Iterable[str]) -> bool:
        """Return whether the change would alter the tags `present`."""
        return self.applied(present) != sorted(present)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


NO_TAGS = TagChange()


@dataclass(frozen=True)
class Submitted:
    """The content of a form when it was saved.

    Attributes:
        form: The id of the form.
        fields: The fields by path.
        was_merged: Whether others had saved meanwhile, so that the stored version also contains their changes.
        tags: All tags of the form, or None if it has no tags field.
    """

    form: ObjectId
    fields: Mapping[str, Any]
    was_merged: bool = False
    tags: frozenset[str] | None = None


@dataclass(frozen=True)
class Change:
    """A change of a stored node.

    Attributes:
        fields: The fields by path.
        tags: The change of tags.
        submitted: The content of the form, which is stored with the revision.
        act: The action, which is stored with the revision.
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
        merged: The paths of the fields that were merged with another writer's save.
        unscheduled: The time of scheduled changes whose schedule this save ended. They are now an ordinary draft.
    """

    id: ObjectId
    nonce: ObjectId
    changed: tuple[str, ...] = ()
    merged: tuple[str, ...] = field(default=())
    unscheduled: datetime | None = None


@dataclass(frozen=True)
class SelectedNode:
    """A node as a list showed it."""

    id: ObjectId
    nonce: ObjectId
    title: str


@dataclass(frozen=True)
class Refused:
    """A node that was not changed, and the reason."""

    selected: SelectedNode
    reason: str


@dataclass(frozen=True)
class Summary:
    """The number of changed nodes, and the nodes that were not changed."""

    done: int
    refused: tuple[Refused, ...]

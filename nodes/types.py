"""What crosses the boundary of services beside models: who acts, what was seen, what came of it."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from bson import ObjectId

from marginalia.markup.characters import is_blank

# When what has no end expires. Never null: $gt does not match null.
NEVER = datetime(9999, 12, 31, tzinfo=UTC)


class Act(enum.StrEnum):
    """What a save did, for history. Revisions store those that they do not show by themselves (RESTORED, MERGED,
    CHANGES_PUBLISHED, SCHEDULED_CHANGES); the others are told by two neighbouring revisions."""

    CREATED = "created"
    IMPORTED = "imported"
    SAVED = "saved"
    RESTORED = "restored"  # an older version, or what was in the trash
    MERGED = "merged"
    PUBLISHED = "published"
    CHANGES_PUBLISHED = "changes-published"
    SCHEDULED_CHANGES = "scheduled-changes-published"  # by themselves, when they were due
    SCHEDULED = "scheduled"
    UNPUBLISHED = "unpublished"
    MOVED = "moved"
    RENAMED = "renamed"
    REPLACED = "replaced"  # the file of a photo


@dataclass(frozen=True)
class Actor:
    """Who makes a change: an account's id and the name to show; an import has no id."""

    id: ObjectId | None
    name: str

    @classmethod
    def of(cls, user: Any) -> Self:
        """Return the actor that a logged-in Django user is: readers see the name, so that it is never an address for mails."""
        full = user.get_full_name()
        return cls(user.pk, user.get_username().partition("@")[0] if is_blank(full) else full)

    def as_document(self) -> dict[str, Any]:
        return {"_id": self.id, "name": self.name}


@dataclass(frozen=True)
class Expected:
    """What a compare-and-set expects to find: the place, the nonce and the shape that the node had when it was read.

    The place is in it because it is the shard key: without it a save would be broadcast, and a rename would fail.
    """

    id: ObjectId
    parent_id: ObjectId | None
    slug: str
    nonce: ObjectId
    # Writing stored documents through takes no nonce: who read another shape reads again.
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
    """Tags as the difference to those that the form was rendered with. `wanted`: what the form says; None: only this."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    wanted: frozenset[str] | None = field(default=None, compare=False)

    @classmethod
    def between(cls, rendered: Any, wanted: Any) -> Self:
        """Return what turns the tags `rendered` into the tags `wanted`."""
        before = frozenset(rendered)
        after = frozenset(wanted)
        return cls(after - before, before - after, after)

    def applied(self, present: Iterable[str]) -> list[str]:
        """Return the tags `present` after the change, sorted. "News" and "news" are one tag, spelled as it is there already."""
        if not self:
            return sorted(present)
        removed = {tag.casefold() for tag in self.removed}
        found: dict[str, str] = {}
        for tag in (*(tag for tag in present if tag.casefold() not in removed), *sorted(self.added)):
            found.setdefault(tag.casefold(), tag)
        return sorted(found.values())

    def changes(self, present: Iterable[str]) -> bool:
        """Return whether the tags `present` would be others afterwards."""
        return self.applied(present) != sorted(present)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


NO_TAGS = TagChange()


@dataclass(frozen=True)
class Submitted:
    """What a rendered form said when it saved: the fields by path, and all its tags, None if it has none.

    `was_merged`: others had saved too, so more was stored.
    """

    form: ObjectId
    fields: Mapping[str, Any]
    was_merged: bool = False
    tags: frozenset[str] | None = None


@dataclass(frozen=True)
class Saved:
    """What a save came to: the nonce now stored, the fields written, and those merged with another writer's save.

    `unscheduled`: when the changes were to appear whose schedule the save ended; they are a draft as before.
    """

    id: ObjectId
    nonce: ObjectId
    changed: tuple[str, ...] = ()
    merged: tuple[str, ...] = field(default=())
    unscheduled: datetime | None = None

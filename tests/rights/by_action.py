"""How the classes of nodes.actions execute the actions of the tables, and how to check that they were done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404

from marginalia.mongo.clock import now
from nodes import actions
from nodes.errors import NodeError
from nodes.types import Act, TagChange
from photos.actions import ReplaceFile
from tests.rights.world import FUTURE, NOT_TOLD, Thing, World, stored, word
from tests.support.nodes import pictures

# The time for which things are scheduled.
LATER = FUTURE.replace(month=6)
# The file that replaces that of a photo.
PICTURE = pictures.jpeg(picture=pictures.image(seed=77))
TAGS = TagChange(added=frozenset({"added"}))


@dataclass(frozen=True)
class Case:
    """A user who acts on a thing. `before` is its document as the user saw it, and `copy` the id of a copy."""

    world: World
    thing: Thing
    user: Any
    before: Mapping[str, Any]
    copy: ObjectId = field(default_factory=ObjectId)

    @property
    def target(self) -> dict[str, Any]:
        """Return the arguments of every action."""
        return {"user": self.user, "node_id": self.thing.id}

    @property
    def live(self) -> dict[str, Any]:
        """Return the arguments of an action on the live version."""
        return {**self.target, "seen": self.before["metadata"]["nonce"]}

    @property
    def draft(self) -> dict[str, Any]:
        """Return the arguments of an action on the draft, or on the live version without one."""
        return {**self.target, "seen": self.before.get("draft", self.before["metadata"])["nonce"]}

    @property
    def section(self) -> ObjectId:
        """Return a section that everybody sees and that doesn't contain the thing."""
        if self.before["metadata"]["type"] != "photo":
            return self.world.second
        return self.world.dark if self.before["metadata"]["parent_id"] == self.world.gallery else self.world.gallery


class _Replacing:
    """Replaces the file of a photo with its bytes."""

    def __init__(self, case: Case) -> None:
        self._action = ReplaceFile(user=case.user, photo_id=case.thing.id, filename="new.jpg")

    def execute(self) -> None:
        self._action.begin().write([PICTURE])


ACTIONS: dict[str, Callable[[Case], Any]] = {
    "edit": lambda c: actions.SaveNode(**c.live, fields={"title": "Changed", "slug": f"s{c.copy}"}),
    "describe": lambda c: actions.SaveNode(**c.live, fields={"title": "Changed", "detail.alt": "Changed"}),
    "edit the draft": lambda c: actions.SaveDraft(**c.draft, fields={"title": "Changed"}),
    "restore a version": lambda c: actions.SaveNode(**c.live, fields={"title": "Before"}, act=Act.RESTORED),
    "move": lambda c: actions.Move(**c.live, place={"parent_id": c.section}),
    "copy": lambda c: actions.Duplicate(**c.target, parent_id=c.world.second, new_id=c.copy),
    "publish": lambda c: actions.Publish(**c.live),
    "publish in bulk": lambda c: actions.PublishListed(**c.live),
    "publish the draft": lambda c: actions.PublishDraft(**c.draft),
    "discard the draft": lambda c: actions.DiscardDraft(**c.draft),
    "schedule": lambda c: actions.Schedule(**c.live, at=LATER),
    "schedule the draft": lambda c: actions.ScheduleDraft(**c.draft, at=LATER),
    "unschedule the draft": lambda c: actions.UnscheduleDraft(**c.draft),
    "unpublish": lambda c: actions.Unpublish(**c.live),
    "tag": lambda c: actions.Tag(**c.target, tags=TAGS),
    "trash": lambda c: actions.Trash(**c.live),
    "put back": lambda c: actions.Restore(**c.live),
    "delete for good": lambda c: actions.Delete(**c.live),
    "replace": _Replacing,
}


def attempt(action: str, case: Case) -> Exception | None:
    """Execute the action, and return the refusal, or None."""
    try:
        ACTIONS[action](case).execute()
    except (Http404, PermissionDenied, NodeError) as refusal:
        return refusal
    return None


def ask(world: World, thing: Thing, action: str, kind: str, may: bool, strangers: tuple[str, ...] = NOT_TOLD) -> None:
    """Assert that an action succeeds with permission, and is refused to others. `strangers` get "not found"."""
    case = Case(world, thing, world.user(kind), stored(thing.id))
    refusal = attempt(action, case)
    after = stored(thing.id)
    assert is_done(world, action, case.before, after, case.copy) is may, refusal
    if not may:
        assert after == case.before, "a refusal changes nothing"
        assert kind not in strangers or isinstance(refusal, Http404), "strangers are told that there is no such thing"


def is_done(
    world: World, action: str, before: Mapping[str, Any], after: Mapping[str, Any], copy: ObjectId | None = None
) -> bool:
    """Return whether an action was done, by the stored document before and after it."""
    was, metadata = before["metadata"], after.get("metadata", {})
    match action:
        case "edit" | "describe":
            return bool(metadata["title"] == "Changed")
        case "edit the draft":
            return after.get("draft") != before.get("draft")
        case "restore a version":
            return bool(metadata["title"] == "Before")
        case "move" | "move in bulk":
            return bool(metadata["parent_id"] != was["parent_id"])
        case "copy":
            return bool(stored(copy))
        case "publish" | "publish in bulk":
            return bool(_dates(metadata) != _dates(was) and metadata["published"] <= now() < metadata["expires"])
        case "publish the draft":
            return word("drafted") in metadata["title"]
        case "discard the draft":
            return "draft" in before and "draft" not in after
        case "schedule":
            return bool(metadata["published"] == LATER)
        case "schedule the draft":
            return bool(after.get("draft", {}).get("due") == LATER)
        case "unpublish":
            return metadata["published"] is None and was["published"] is not None
        case "replace":
            return bool(metadata["content_id"] != was["content_id"])
        case "tag":
            return "added" in metadata["tags"]
        case "trash" | "trash in bulk":
            return before["in"] != "cms.trash" == after["in"]
        case "put back":
            return before["in"] == "cms.trash" != after["in"]
    assert action == "delete for good"
    return not after


def _dates(metadata: Mapping[str, Any]) -> tuple[Any, Any]:
    return metadata["published"], metadata["expires"]

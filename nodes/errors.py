"""What a write may answer instead of doing it. Each has a caller who acts on it; the message is meant for editors."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes.types import NO_TAGS, TagChange

if TYPE_CHECKING:
    from nodes.merging import Merge


class NodeError(Exception):
    """A write was not done; nothing was changed."""


class NodeGone(NodeError):
    """The node is not there any more: it was moved to the trash or deleted."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("This page is no longer there: it was moved to the trash or deleted."))


class IdTaken(NodeError):
    """The id that was chosen beforehand, as by a form, is that of something else; under another one trying again is safe."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("Nothing was saved: the number that was chosen for it belongs to something else."))


class Published(NodeError):
    """The node was to be changed only while it was not published, and a concurrent editor published it."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("This page has been published since: only an editor can change it now."))


class DraftGone(NodeError):
    """The draft is not the one that was seen: it was saved, published or discarded since."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("Another editor saved, published or discarded this draft. Look at it again."))


class NotLive(NodeError):
    """Changes were to be scheduled of a page that is not live: it has a time of its own to appear at."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("Only changes of a published page can be scheduled. Give this page a date to appear at."))


class ChangedSince(NodeError):
    """The node is not what a list showed, and what is there now was to be seen before."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("This page was changed after the list was shown: look at it first."))


class DraftStays(NodeError):
    """The node was to be published as a list showed it, and is public already: its draft was not seen there."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("It is public; its draft is published on its own page."))


class EditConflict(NodeError):
    """A concurrent editor saved, and the two versions cannot be merged by themselves.

    `base` is what the editor started from (None: not known any more), `theirs` the stored metadata, `merge` what could be
    merged and which fields could not; `tags` what the editor wanted done to the tags, which always merge.
    """

    def __init__(
        self, base: Mapping[str, Any] | None, theirs: Mapping[str, Any], merge: "Merge", tags: TagChange = NO_TAGS
    ) -> None:
        self.base = base
        self.theirs = theirs
        self.merge = merge
        self.tags = tags
        super().__init__(_("Another editor changed this page while you were editing it."))


class SlugTaken(NodeError):
    """The slug is in use in that section; `free` is one like it that was free when this was raised."""

    def __init__(self, slug: str, free: str) -> None:
        self.slug = slug
        self.free = free
        super().__init__(
            _("“%(slug)s” is already in use in this section. “%(free)s” is free.") % {"slug": slug, "free": free}
        )


class InvalidSlug(NodeError):
    """The slug cannot be part of an address, or an address of the site's own needs it."""


class InvalidPlace(NodeError):
    """The node cannot stand there: wrong type of section, its own descendant, or not there."""


class FieldRefused(NodeError):
    """A field of the node, by its path under `metadata`, or what it merges to, cannot be kept as it is."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(message)


class TextTooLong(FieldRefused):
    """A text has more bytes than settings.TEXT_MAX_BYTES."""

    def __init__(self, path: str, size: int, most: int) -> None:
        told = {"have": -(-size // 1000), "most": most // 1000}
        super().__init__(
            path,
            _("This text has %(have)d KB; at most %(most)d KB are taken. Nothing was saved: make several pages of it.")
            % told,
        )


class WrongInsert(FieldRefused):
    """A text has inserts that are not spelled as they can be read. `faults` says of each what is wrong, and at which line."""

    def __init__(self, path: str, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(path, " ".join(self.faults))


class InvalidField(FieldRefused):
    """A field does not take what it was given, or the node's type has no such field."""


class NotReady(NodeError):
    """The node lacks something without which it cannot be published."""


class NewerVersion(NodeError):
    """The node was stored by a newer version of its type than the running code has: it is read, and not written."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "A newer release of the site has saved this already. Nothing was saved: try again when the update is complete."
            )
        )


class NotUpgraded(NodeError):
    """An upgrader of the node's type, the one that takes `from_version`, fails on what is stored."""

    def __init__(self, from_version: int) -> None:
        super().__init__(
            _("This was stored by version %(version)d of its type, and cannot be brought to the present one.")
            % {"version": from_version}
        )


class TooBusy(NodeError):
    """Others kept changing the same node; trying again is safe."""

    def __init__(self) -> None:
        super().__init__(_("Others are changing this right now. Please try again."))

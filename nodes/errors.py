"""Exceptions raised by writes. Callers handle all of these exceptions, and show their messages to editors."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes.types import NO_TAGS, TagChange

if TYPE_CHECKING:
    from nodes.merging import Merge


class NodeError(Exception):
    """Base class for the exceptions that reject a write. If one of them is raised, nothing has been changed."""


class NodeGone(NodeError):
    """The node no longer exists, because it was moved to the trash or deleted."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("This page no longer exists. It was moved to the trash or permanently deleted."))


class IdTaken(NodeError):
    """The id for a new node already belongs to another document. A form can generate such an id in advance.

    Trying again with a different id is safe.
    """

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("Nothing was saved, because this id is already in use. Try again."))


class Published(NodeError):
    """Another editor has published the node, and the user can change only unpublished nodes."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("This page has been published, so only an editor can change it now."))


class DraftGone(NodeError):
    """The draft has been saved, published or discarded since it was read."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(
            _(
                "Another editor saved, published or discarded this draft. Nothing was "
                "changed. Reload the page to see the latest version."
            )
        )


class NotLive(NodeError):
    """The page isn't live, so changes to it can't be scheduled. Editors can set its publication time instead."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(
            _(
                "You can schedule changes only for a published page. To publish this page "
                "later, set its publication date."
            )
        )


class ChangedSince(NodeError):
    """The node has changed since the user saw it, so the user has to see the new version first."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(
            _("This item has changed since you opened this page. Reload it, check the item, then try again.")
        )


class DraftStays(NodeError):
    """The node can't be published from a list, because it is already public and the list doesn't show its draft."""

    def __init__(self, node_id: ObjectId) -> None:
        self.node_id = node_id
        super().__init__(_("This page is already public. To publish its draft, open the page."))


class EditConflict(NodeError):
    """Another editor has saved the page, and the two versions can't be merged automatically.

    Attributes:
        base: The metadata that the editor started from, or None if it is no longer stored.
        theirs: The stored metadata.
        merge: The merged fields and the conflicts.
        tags: The tags that the editor added and removed. They never conflict.
        mine: The editor's fields, keyed by path.
    """

    def __init__(
        self,
        base: Mapping[str, Any] | None,
        theirs: Mapping[str, Any],
        merge: "Merge",
        tags: TagChange = NO_TAGS,
        mine: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.base = base
        self.theirs = theirs
        self.merge = merge
        self.tags = tags
        self.mine = mine
        super().__init__(_("Another editor changed this page while you were editing it."))


class SlugTaken(NodeError):
    """The slug is already used in its section. `free` is a similar slug that was free when the exception was raised."""

    def __init__(self, slug: str, free: str) -> None:
        self.slug = slug
        self.free = free
        super().__init__(
            _("“%(slug)s” is already in use in this section. “%(free)s” is free.") % {"slug": slug, "free": free}
        )


class InvalidSlug(NodeError):
    """The slug can't be part of a URL, or is reserved for one of the site's own URLs."""


class InvalidPlace(NodeError):
    """The section can't contain the node: the section has the wrong type, is inside the node, or doesn't exist."""


class TagBusy(NodeError):
    """The tag is being renamed, so it can't be renamed again yet."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        super().__init__(_("“%(tag)s” is still being renamed. Wait until this is done, then try again.") % {"tag": tag})


class RedirectChanged(NodeError):
    """Someone else has changed, added or deleted the redirect since it was read."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(
            _("Someone else has just changed the redirect from “%(url)s”. Check the list, then try again.")
            % {"url": url}
        )


class TagExists(NodeError):
    """There is already a tag with the new name, so the user has to confirm that the two tags are merged.

    Attributes:
        pages: The number of pages that have the tag.
    """

    def __init__(self, tag: str, pages: int) -> None:
        self.tag = tag
        self.pages = pages
        super().__init__(_("There is already a tag “%(tag)s”.") % {"tag": tag})


class TagChanged(NodeError):
    """Someone else has changed the tag since it was read."""

    def __init__(self) -> None:
        super().__init__(_("Someone else has just changed this tag. Nothing was saved. Check the tag, then try again."))


class FieldRefused(NodeError):
    """The value of a field, possibly after a merge, can't be stored. `path` is the field's path under `metadata`."""

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        super().__init__(message)

    @property
    def errors(self) -> Mapping[str, str]:
        """Return the error messages of the rejected fields, keyed by path. The path "" stands for the whole node."""
        return {self.path: str(self)}


class FieldsRefused(FieldRefused):
    """The node's type rejected the combination of its field values, for example in its `clean` method."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        self._errors = errors
        super().__init__(next(iter(errors)), " ".join(errors.values()))

    @property
    def errors(self) -> Mapping[str, str]:
        """Return the error messages of the rejected fields, keyed by path."""
        return self._errors


class NotUnique(FieldsRefused):
    """Another page of the same type in the section has the same values in fields that must be unique together."""


class TextTooLong(FieldRefused):
    """The text in a field has more bytes than settings.TEXT_MAX_BYTES."""

    def __init__(self, path: str, size: int, most: int) -> None:
        kilobytes = {"have": -(-size // 1000), "most": most // 1000}
        super().__init__(
            path,
            _(
                "This text is too long. It is %(have)d KB, and the maximum is %(most)d KB. Nothing was saved. "
                "Split the text into several pages."
            )
            % kilobytes,
        )


class WrongInsert(FieldRefused):
    """The text in a field contains invalid inserts. `faults` has a message for each of them, with its line number."""

    def __init__(self, path: str, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(path, " ".join(self.faults))


class InvalidField(FieldRefused):
    """A field doesn't accept its value, or the node's type doesn't have the field."""


class NotReady(NodeError):
    """The node can't be published, because it lacks something that publishing requires."""


class NewerVersion(NodeError):
    """The node was stored with a newer version of its type than the running code supports.

    The node can be read, but not changed.
    """

    def __init__(self) -> None:
        super().__init__(
            _(
                "This content was saved by a newer version of the site, so your change was not saved. Try again once "
                "the update is complete."
            )
        )


class NotUpgraded(NodeError):
    """The type's upgrader for `from_version` failed on the stored document."""

    def __init__(self, from_version: int) -> None:
        super().__init__(
            _(
                "This content was saved with version %(version)d of its content type and can't be upgraded. Nothing "
                "was changed. Ask the site's developer to fix the upgrade function."
            )
            % {"version": from_version}
        )


class TooBusy(NodeError):
    """Other writers kept changing the same node. Trying again is safe."""

    def __init__(self) -> None:
        super().__init__(_("Other people are changing this content right now. Nothing was saved. Please try again."))


class TooManyFilters(NodeError):
    """The user has already saved as many filters as possible."""

    def __init__(self, most: int) -> None:
        super().__init__(_("You can save up to %(most)d filters. Delete some first.") % {"most": most})

"""Load and remove the demo site, with the same actions that editors use."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.http import Http404

from cms.demo.content import Item, account, identifier, items
from cms.demo.discussing import discuss, discussions
from cms.demo.photos import AUTHOR, DemoPhoto, photos
from nodes.access import System
from nodes.actions import CreateNode, Delete, Restore, Trash
from nodes.errors import IdTaken, InvalidPlace, NodeGone, SlugTaken
from nodes.models import Node, Photo, stored_site, tree
from nodes.models.stored_site import StoredSettings
from nodes.selectors import stored_nodes, stored_photos
from nodes.selectors import trash as trash_selectors
from nodes.services import vocabulary
from nodes.services.site import save_settings
from nodes.services.trash import delete_redirects
from nodes.types import Actor
from photos.actions import UploadPhoto

# The demo's site settings. These settings are applied only if the operator hasn't changed any of the defaults.
MENU = ("essays", "field-notes", "workshop", "世界文学", "plates", "library", "handbook")
FOOTER = ("about", "authors", "imprint")
FURNISHED = {
    "name": "Marginalia",
    "tagline": "A small magazine about reading, writing and making",
    "menu": [{"label": "", "target": f"node:{identifier(path)}"} for path in MENU],
    "comment_likes": True,
    "footer": "Made at a kitchen table. Corrections are welcome, in the margin.",
    "footer_links": [{"label": "", "target": f"node:{identifier(path)}"} for path in FOOTER],
}
PLAIN = {name: value for name, value in asdict(StoredSettings()).items() if name in FURNISHED}


@dataclass
class Counts:
    """The result of loading or removing the demo.

    Attributes:
        done: The number of items that were created or deleted.
        left: The number of items that weren't created because they already existed, or that could not be deleted.
    """

    done: int = 0
    left: int = 0
    # The paths of nodes that could not be deleted.
    kept: list[str] = field(default_factory=list)


def load(moment: datetime, step: Callable[[], object]) -> Counts:
    """Create the missing items of the demo, as if they had been written in the weeks before `moment`.

    Args:
        moment: The current time.
        step: A function that is called after each item, for a progress bar.

    Returns:
        The number of items that were created, and the number that already existed.
    """
    counts = Counts()
    _furnish()
    comments = discussions()
    existing = _existing(Node, [item.id for item in items()])
    for item in items():
        if item.id not in existing and _create(item, moment):
            discuss(item, comments.get(item.path, []), moment)
            counts.done += 1
        step()
    existing = _existing(Photo, [photo.id for photo in photos()])
    for photo in photos():
        if photo.id not in existing:
            counts.done += _upload(photo, moment)
        step()
    counts.left = size() - counts.done
    return counts


def _existing(model: type[Node | Photo], ids: Sequence[ObjectId]) -> set[ObjectId]:
    """Return the subset of `ids` whose items exist, including items in the trash."""
    stored = set(model.objects.filter(pk__in=ids).values_list("pk", flat=True))
    return stored | {id for id in ids if id not in stored and trash_selectors.load(id)}


def size() -> int:
    """Return the number of nodes and photos in the demo."""
    return len(items()) + len(photos())


def _create(item: Item, moment: datetime) -> bool:
    """Create one of the demo's nodes. Return False if an editor has removed the node's section.

    If another node already uses the slug, the new node gets a different one.
    """
    published = item.published(moment)
    fields: dict[str, Any] = {
        "title": item.title,
        "slug": item.path.name,
        "parent_id": item.parent_id,
        "summary": item.summary,
        "published": published,
        "detail.text": item.text,
    }
    if item.picture:
        fields["detail.picture"] = identifier(item.picture)
    if item.is_pinned:
        fields["detail.is_pinned"] = True

    action = CreateNode(
        user=_user(item.author),
        type=item.type,
        fields=fields,
        tags=item.tags,
        node_id=item.id,
        created=min(published or moment, moment),
    )
    try:
        action.execute()
    except SlugTaken as error:
        replace(action, fields=fields | {"slug": error.free}).execute()
    except (IdTaken, NodeGone, InvalidPlace):  # an editor has moved the section to the trash
        return False
    return True


def _user(name: str) -> System:
    return System(Actor(account(name), name))


def _upload(photo: DemoPhoto, moment: datetime) -> bool:
    """Upload one of the demo's photos. Return False if the photo's gallery no longer exists."""
    published = photo.published(moment)
    upload = UploadPhoto(
        user=_user(AUTHOR),
        gallery_id=photo.gallery_id,
        filename=photo.file.name,
        title=photo.title,
        fields={
            "detail.alt": photo.alt,
            "detail.focal": list(photo.focal),
            "summary": photo.summary,
            "published": published,
            "created": published,
        },
        tags=photo.tags,
        photo_id=photo.id,
    )
    try:
        upload.execute([photo.file.read_bytes()])
    except InvalidPlace:  # an editor has moved the gallery to the trash
        return False
    return True


def remove(step: Callable[[], object]) -> Counts:
    """Delete the demo permanently, except for sections that contain other nodes.

    Args:
        step: A function that is called after each item, for a progress bar.

    Returns:
        The number of items that were deleted, and the number that could not be deleted.
    """
    counts = Counts()
    for photo in photos():
        if _delete_photo(photo):
            counts.done += 1
        step()
    for item in reversed(items()):
        if _delete(item):
            counts.done += 1
        elif node := stored_nodes.get(item.id):
            counts.left += 1
            counts.kept.append(node.get_absolute_url())
        step()
    delete_redirects([item.id for item in items()] + [photo.id for photo in photos()])
    vocabulary.forget_unused()
    _unfurnish()
    return counts


def _delete_photo(photo: DemoPhoto) -> bool:
    try:
        if stored := stored_photos.get(photo.id):
            Trash(user=_user(AUTHOR), node_id=photo.id, seen=stored.metadata.nonce).execute()
        Delete(user=_user(AUTHOR), node_id=photo.id).execute()
    except (NodeGone, Http404):
        return False
    return True


def _delete(item: Item) -> bool:
    node = stored_nodes.get(item.id)
    if node and stored_nodes.has_children(item.id):
        return False
    user = _user(item.author)
    try:
        if node:
            Trash(user=user, node_id=item.id, seen=node.metadata.nonce).execute()
        Delete(user=user, node_id=item.id).execute()
    except (NodeGone, Http404):
        return False
    except InvalidPlace:  # the section's contents are in the trash
        Restore(user=user, node_id=item.id).execute()
        return False
    return True


def _furnish() -> None:
    """Set the site's name, menu and footer, unless an operator has changed any of these settings.

    The menu is not set if it would hide sections that are not part of the demo.
    """
    present = asdict(stored_site.read().settings)
    if any(present[name] != value for name, value in PLAIN.items()):
        return
    ours = {item.id for item in items()}
    is_alone = all(section.id in ours for section in tree.current().children.get(None, ()))
    save_settings({name: value for name, value in FURNISHED.items() if is_alone or name != "menu"}, PLAIN)


def _unfurnish() -> None:
    """Reset all settings that still have the demo's values."""
    present = asdict(stored_site.read().settings)
    ours = {name: value for name, value in PLAIN.items() if present[name] == FURNISHED[name] != value}
    if ours:
        save_settings(ours, FURNISHED)

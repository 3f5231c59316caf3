"""Putting the demo site up and taking it away again, through the services that editors use."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cms.demo.content import Item, identifier, items
from cms.demo.discussing import discuss, discussions
from cms.demo.plates import AUTHOR, GALLERY, PLATES, Plate
from nodes.collections import ASSET_FILES
from nodes.errors import IdTaken, InvalidPlace, NodeGone, SlugTaken
from nodes.models import site as stored_site
from nodes.models.site import SiteSettings
from nodes.selectors import nodes as selectors
from nodes.selectors import photos
from nodes.selectors import trash as trashed
from nodes.services import editing, trash, volume_data
from nodes.services.photos import Upload
from nodes.services.site import save_settings
from nodes.types import Actor

NAMED = SiteSettings(name="Marginalia", tagline="A small magazine about reading, writing and making")
UNNAMED = SiteSettings()


@dataclass
class Counts:
    """What loading or removing came to."""

    done: int = 0
    left: int = 0
    # The addresses of what was left where the demo was removed.
    kept: list[str] = field(default_factory=list)


def load(moment: datetime, step: Callable[[], object]) -> Counts:
    """Create what is not there yet of the demo, as if written in the weeks before `moment`; call `step` after each item."""
    counts = Counts()
    _name_the_site(UNNAMED, NAMED)
    talk = discussions()
    for item in items():
        if _create(item, moment):
            counts.done += 1
            discuss(item, talk.get(item.path, []), moment)
        else:
            counts.left += 1
        step()
    for plate in PLATES:
        if _hang(plate, moment):
            counts.done += 1
        else:
            counts.left += 1
        step()
    return counts


def size() -> int:
    """Return of how many items and pictures the demo is made."""
    return len(items()) + len(PLATES)


def _create(item: Item, moment: datetime) -> bool:
    if selectors.get(item.id):
        return False
    fields = {
        "summary": item.summary,
        "published": item.published(moment),
        "detail.text": item.text,
        "detail.picture": identifier(item.picture) if item.picture else None,
        "author": {"_id": None, "name": item.author},
    }
    author = Actor(None, item.author)

    def create(slug: str) -> None:
        editing.create(
            author,
            type=item.type,
            parent_id=item.parent_id,
            slug=slug,
            title=item.title,
            fields=fields,
            tags=item.tags,
            node_id=item.id,
            created=min(item.published(moment) or moment, moment),
        )

    try:
        create(item.path.name)
    except SlugTaken as error:
        create(error.free)
    except (IdTaken, NodeGone, InvalidPlace):  # an editor threw it, or its section, away
        return False
    return True


def _hang(plate: Plate, moment: datetime) -> bool:
    if photos.get(plate.id) or trashed.load(plate.id):
        return False
    published = moment - timedelta(days=plate.days)
    fields = {
        "detail.alt": plate.alt,
        "summary": plate.summary,
        "published": published,
        "created": published,
        "author": {"_id": None, "name": AUTHOR},
    }
    try:
        coming = Upload(
            Actor(None, AUTHOR),
            identifier(GALLERY),
            plate.filename,
            title=plate.title,
            fields=fields,
            tags=plate.tags,
            photo_id=plate.id,
        )
    except InvalidPlace:  # an editor threw the gallery away
        return False
    try:
        coming.feed(plate.drawn())
        coming.finish()
    finally:
        coming.abort()
    return True


def remove(step: Callable[[], object]) -> Counts:
    """Delete all of the demo for good. A section stays as long as something of others stands in it."""
    counts = Counts()
    for plate in PLATES:
        if _take_down(plate):
            counts.done += 1
        step()
    for item in reversed(items()):
        if _delete(item):
            counts.done += 1
        elif node := selectors.get(item.id):
            counts.left += 1
            counts.kept.append(node.get_absolute_url())
        step()
    volume_data.forget_places([item.id for item in items()] + [plate.id for plate in PLATES])
    _name_the_site(NAMED, UNNAMED)
    return counts


def _take_down(plate: Plate) -> bool:
    try:
        if photo := photos.get(plate.id):
            trash.trash(Actor(None, AUTHOR), plate.id, photo.metadata.nonce, ASSET_FILES)
        trash.delete(plate.id)
    except NodeGone:
        return False
    return True


def _delete(item: Item) -> bool:
    node = selectors.get(item.id)
    if node and selectors.holds_something(item.id):
        return False
    try:
        if node:
            trash.trash(Actor(None, item.author), item.id, node.metadata.nonce)
        trash.delete(item.id)
    except NodeGone:
        return False
    except InvalidPlace:  # what stood in it is in the trash
        trash.restore(Actor(None, item.author), item.id)
        return False
    return True


def _name_the_site(old: SiteSettings, new: SiteSettings) -> None:
    """Change the site's name and tagline from those of `old` to those of `new`, unless an editor chose others."""
    site = stored_site.read()
    if (site.settings.name, site.settings.tagline) == (old.name, old.tagline) and old != new:
        save_settings({"name": new.name, "tagline": new.tagline}, {"name": old.name, "tagline": old.tagline})

"""Putting the demo site up and taking it away again, through the services that editors use."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from bson import ObjectId

from cms.demo.content import Item, account, identifier, items
from cms.demo.discussing import discuss, discussions
from cms.demo.plates import AUTHOR, PLATES, Plate
from nodes.collections import ASSET_FILES
from nodes.errors import IdTaken, InvalidPlace, NodeGone, SlugTaken
from nodes.models import Node, Photo, stored_site, tree
from nodes.models.stored_site import StoredSettings
from nodes.selectors import stored_nodes, stored_photos
from nodes.selectors import trash as trashed
from nodes.services import editing, trash, volume_data
from nodes.services.site import save_settings
from nodes.types import Actor
from photos.services.photos import Upload

# What the site is called and how it is furnished, unless its operator chose anything of it.
MENU = ("essays", "field-notes", "workshop", "世界文学", "plates", "library", "handbook")
FOOTER = ("about", "authors", "imprint")
FURNISHED = {
    "name": "Marginalia",
    "tagline": "A small magazine about reading, writing and making",
    "menu": [{"label": "", "target": f"node:{identifier(path)}"} for path in MENU],
    "footer": "Made at a kitchen table. Corrections are welcome, in the margin.",
    "footer_links": [{"label": "", "target": f"node:{identifier(path)}"} for path in FOOTER],
}
PLAIN = {name: value for name, value in asdict(StoredSettings()).items() if name in FURNISHED}


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
    _furnish()
    talk = discussions()
    with ThreadPoolExecutor(max_workers=1) as pool:
        # Pictures are drawn while the server writes texts.
        hung = _stored(Photo, [plate.id for plate in PLATES])
        missing = [plate for plate in PLATES if plate.id not in hung and not trashed.load(plate.id)]
        drawn = {plate.id: pool.submit(plate.drawn) for plate in missing}
        for parent_id, group in groupby(items(), key=lambda item: None if item.is_section else item.parent_id):
            for item in _create(list(group), parent_id, moment):
                discuss(item, talk.get(item.path, []), moment)
                counts.done += 1
                step()
        for plate in missing:
            counts.done += _hang(plate, drawn[plate.id], moment)
            step()
    counts.left = size() - counts.done
    return counts


def _stored(model: type[Node | Photo], ids: Sequence[ObjectId]) -> set[ObjectId]:
    return set(model.objects.filter(pk__in=ids).values_list("pk", flat=True))


def size() -> int:
    """Return of how many items and pictures the demo is made."""
    return len(items()) + len(PLATES)


def _create(group: Sequence[Item], parent_id: ObjectId | None, moment: datetime) -> list[Item]:
    """Create what is neither there nor in the trash; return it. What stands in one section is written at once."""
    there = _stored(Node, [item.id for item in group])
    missing = [item for item in group if item.id not in there and not trashed.load(item.id)]
    beside = Node.objects.filter(metadata__parent_id=parent_id, metadata__slug__in=[item.path.name for item in missing])
    taken = set(beside.values_list("metadata__slug", flat=True)) if parent_id else set()
    alone = [item for item in missing if not parent_id or item.path.name in taken]
    made = [item for item in alone if _create_alone(item, moment)]
    together = [item for item in missing if item not in alone]
    try:
        sum(volume_data.insert(_row(item, moment) for item in together))
    except InvalidPlace:  # an editor threw the section away
        return made
    return made + together


def _row(item: Item, moment: datetime) -> volume_data.Row:
    published = item.published(moment)
    return volume_data.Row(
        id=item.id,
        author=_actor(item.author),
        type=item.type,
        parent_id=item.parent_id,
        slug=item.path.name,
        title=item.title,
        published=published,
        created=min(published or moment, moment),
        tags=item.tags,
        text=item.text,
        summary=item.summary,
        detail=_detail(item),
    )


def _detail(item: Item) -> dict[str, Any]:
    picture = {"picture": identifier(item.picture)} if item.picture else {}
    return {**picture, **({"is_pinned": True} if item.is_pinned else {})}


def _create_alone(item: Item, moment: datetime) -> bool:
    author = _actor(item.author)
    published = item.published(moment)
    fields = {
        "summary": item.summary,
        "published": published,
        "detail.text": item.text,
        "author": author.as_document(),
        **{f"detail.{name}": value for name, value in _detail(item).items()},
    }

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
            created=min(published or moment, moment),
        )

    try:
        create(item.path.name)
    except SlugTaken as error:
        create(error.free)
    except (IdTaken, NodeGone, InvalidPlace):  # an editor threw its section away
        return False
    return True


def _actor(name: str) -> Actor:
    return Actor(account(name), name)


def _hang(plate: Plate, drawn: Future[bytes], moment: datetime) -> bool:
    published = moment - timedelta(days=plate.days)
    author = _actor(AUTHOR)
    fields = {
        "detail.alt": plate.alt,
        "detail.focal": list(plate.focal),
        "summary": plate.summary,
        "published": published,
        "created": published,
        "author": author.as_document(),
    }
    try:
        coming = Upload(
            author,
            identifier(plate.gallery),
            plate.filename,
            title=plate.title,
            fields=fields,
            tags=plate.tags,
            photo_id=plate.id,
        )
    except InvalidPlace:  # an editor threw the gallery away
        return False
    try:
        coming.feed(drawn.result())
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
        elif node := stored_nodes.get(item.id):
            counts.left += 1
            counts.kept.append(node.get_absolute_url())
        step()
    volume_data.forget_places([item.id for item in items()] + [plate.id for plate in PLATES])
    _unfurnish()
    return counts


def _take_down(plate: Plate) -> bool:
    try:
        if photo := stored_photos.get(plate.id):
            trash.trash(_actor(AUTHOR), plate.id, photo.metadata.nonce, ASSET_FILES)
        trash.delete(plate.id)
    except NodeGone:
        return False
    return True


def _delete(item: Item) -> bool:
    node = stored_nodes.get(item.id)
    if node and stored_nodes.holds_something(item.id):
        return False
    try:
        if node:
            trash.trash(_actor(item.author), item.id, node.metadata.nonce)
        trash.delete(item.id)
    except NodeGone:
        return False
    except InvalidPlace:  # what stood in it is in the trash
        trash.restore(_actor(item.author), item.id)
        return False
    return True


def _furnish() -> None:
    """Set the site's name, menu and footer, unless an operator chose any of them; no menu where it would hide sections."""
    present = asdict(stored_site.read().settings)
    if any(present[name] != value for name, value in PLAIN.items()):
        return
    ours = {item.id for item in items()}
    is_alone = all(section.id in ours for section in tree.current().children.get(None, ()))
    save_settings({name: value for name, value in FURNISHED.items() if is_alone or name != "menu"}, PLAIN)


def _unfurnish() -> None:
    """Take back those settings that are still the demo's."""
    present = asdict(stored_site.read().settings)
    ours = {name: value for name, value in PLAIN.items() if present[name] == FURNISHED[name] != value}
    if ours:
        save_settings(ours, FURNISHED)

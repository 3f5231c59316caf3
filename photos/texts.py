"""Texts as they are shown: with inserts, photos where they are named, `![alt](photo:…)`, and links to where nodes stand now.

A photo is named by its id, its slug, or "gallery/slug"; a node by its id: `[words](node:…)`. All that a text names is looked
up by one query of nodes and one of photos (one more where it names slugs), and kept under the site's `lists`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy

from marginalia.markup.html import references
from marginalia.markup.html.references import WORDS_ALONE, ImageRef, LinkRef, Names
from marginalia.markup.inserts.reading import Inserts, may_have_any
from marginalia.mongo.clock import now
from nodes import rendering, tags
from nodes.content import declared_fields
from nodes.models import BaseNode, Photo, tree, version_cache
from nodes.models.dependencies import note_texts
from nodes.selectors import due, stored_nodes, stored_photos
from nodes.selectors import references as reference_selectors
from nodes.selectors.listing import is_public
from nodes.selectors.references import State
from photos import addresses

# Why a reference shows words alone, for editors.
REASONS = {
    State.HIDDEN: gettext_lazy("not public"),
    State.TRASHED: gettext_lazy("in the trash"),
    State.GONE: gettext_lazy("not there any more"),
}


@dataclass(frozen=True)
class Targets:
    """What a text names, by name: photos, and the paths of nodes. What is not in it stays words.

    `marks`: for editors, why readers do not see it.
    """

    photos: Mapping[str, Photo]
    nodes: Mapping[str, str]
    marks: Mapping[str, str] = field(default_factory=dict)


NONE = Targets({}, {})
# Broken references of one text that are listed.
MOST_BROKEN = 50
# As a source spells a reference: in a link, a picture, an attribute.
_REFERENCE = re.compile(r"(?i)\b(?:node|photo):\s*([^\s#()<>\[\]\"',}]+)")


def body(node: BaseNode, *, is_feed: bool = False) -> SafeString:
    """Return the node's text as clean HTML, with the photos and inserts that readers may see now.

    On pages its footnotes stand in the margin, in feeds at the end, and its headings have links to themselves."""
    return shown(saved(node), is_feed=is_feed, is_page=not is_feed)


def frames(node: BaseNode) -> list[str]:
    """Return the origins of other sites whose pages the node's texts may show in frames."""
    return sorted(frozenset().union(*(one.frames for one in (Inserts(saved(node)), *_of_fields(node)))))


def in_fields(node: BaseNode) -> frozenset[str]:
    """Return the names of the inserts in the texts of the node's fields."""
    return frozenset().union(*(one.names for one in _of_fields(node)))


def _of_fields(node: BaseNode) -> Iterator[Inserts]:
    fields = declared_fields.markdown_texts(node.metadata.type, node.metadata.detail)
    return (Inserts(rendering.of_field(one.text)) for one in fields if may_have_any(one.text))


def saved(node: BaseNode) -> str:
    """Return a node's text as clean HTML, as it is kept by nonce: "" where there is none."""
    detail = node.metadata.detail
    text = getattr(detail, "text", "")
    return rendering.saved(node.metadata.nonce, text, detail.format) if text else ""


def shown(html: str, *, is_feed: bool = False, is_page: bool = False) -> SafeString:
    """Return a clean text as readers see it: of what is not public, its words alone. Kept in process."""
    inserts = Inserts(rendering.for_readers(html, get_language() or "en", is_page=is_page))
    names = named(inserts)
    targets = readable(names) if names else NONE
    return SafeString(_resolved(inserts.shown(Readers(targets.photos), is_feed=is_feed), targets))


def first(html: str) -> Photo | None:
    """Return the first photo that a clean text shows to readers; None if it shows none. Kept in process."""
    names = named(Inserts(html))
    public = readable(names).photos if names.shown else {}
    return next((public[name] for name in names.shown if name in public), None)


def named(inserts: Inserts) -> Names:
    """Return what a clean text names, that of its inserts last, as far as it is looked up."""
    most = reference_selectors.MOST_NAMED
    named = references.names(inserts.html, most)
    used = inserts.references
    if not used:
        return named
    photos = sorted(map(str, used.photos))
    nodes = sorted(map(str, used.nodes))
    return Names(
        tuple(dict.fromkeys((*named.photos, *photos)))[:most],
        tuple(dict.fromkeys((*named.nodes, *nodes)))[:most],
        tuple(dict.fromkeys((*named.shown, *photos)))[:most],
    )


def readable(names: Names) -> Targets:
    """Return what readers may see now of what these names stand for. Kept in process."""
    moment = now()
    sections = tree.current()

    def read() -> tuple[Targets, datetime | None]:
        photos = stored_photos.named(names.photos)
        public = {name: photo for name, photo in photos.items() if is_public(photo, sections, moment)}
        return Targets(public, reference_selectors.addresses(sections, names.nodes, moment)), due.next_due(moment)

    return version_cache.get_or_set(("references", names), moment, read)


def marked(node: BaseNode, *, sees_photos: bool, sees_all: bool) -> SafeString:
    """Return the node's text for its editor: what readers do not see, photos and links, is marked, as is what is wrong with
    its inserts.

    `sees_photos`, `sees_all`: whether the editor may see all photos, and may know why something is not public.
    """
    inserts = Inserts(rendering.for_readers(saved(node), get_language() or "en", is_page=True))
    names = named(inserts)
    public = readable(names) if names else NONE
    photos = stored_photos.named(names.photos) if sees_photos else public.photos
    targets = Targets(photos, public.nodes, _marks(names, photos, sees_all=sees_all))
    return SafeString(_resolved(inserts.shown(Readers(photos), faults=True), targets))


def _marks(names: Names, photos: Mapping[str, Photo], *, sees_all: bool) -> dict[str, str]:
    ids = {name: ObjectId(name) for name in (*names.nodes, *names.photos) if ObjectId.is_valid(name)}
    ids |= {name: photo.pk for name, photo in photos.items()}
    found = reference_selectors.states(tree.current(), set(ids.values()), now())
    every = {name: found[ids[name]] if name in ids else State.GONE for name in (*names.nodes, *names.photos)}
    told = {name: state for name, state in every.items() if state is not State.LIVE}
    return {name: str(REASONS[state if sees_all else State.HIDDEN]) for name, state in told.items()}


@dataclass(frozen=True)
class BrokenReference:
    """A place of a text where readers meet words alone, or less. `line`: from 1, 0 where it is not known; `title`: of what it
    names, "" for editors who may not know it."""

    name: str
    words: str
    line: int
    title: str
    reason: str

    @property
    def called(self) -> str:
        """Return what editors know it by: its words, else the title of what it names, else how it is named."""
        return self.words or self.title or self.name


def broken(source: str, render: Callable[[], str], *, sees_photos: bool, sees_all: bool) -> list[BrokenReference]:
    """Return what a text and its inserts name that readers cannot see, at most MOST_BROKEN places, by line.

    `render`: returns the text as clean HTML, asked only if it names anything; `sees_photos` and `sees_all` as for `marked`.
    """
    lines: dict[str, list[int]] = {}
    for number, line in enumerate(source.split("\n"), 1):
        for typed in _REFERENCE.findall(line):
            lines.setdefault(unquote(typed), []).append(number)
    if not lines:
        return []
    inserts = Inserts(render())
    names = named(inserts)
    photos = stored_photos.named(names.photos) if sees_photos else readable(names).photos
    marks = _marks(names, photos, sees_all=sees_all)
    ids = {
        name: photos[name].pk if name in photos else ObjectId(name)
        for name in marks
        if name in photos or ObjectId.is_valid(name)
    }
    titles = reference_selectors.titles(set(ids.values()) if sees_all else (), of_photos=sees_photos)
    words: dict[str, list[str]] = {}
    for mention in references.mentions(inserts.html):
        words.setdefault(mention.name, []).append(mention.words)
    found = []
    for name, reason in marks.items():
        at = lines.get(name) or [0]
        said = words.get(name, [])
        # An insert has no words. Of words more often than lines the last are on the last line.
        places = [(at[min(number, len(at) - 1)], one) for number, one in enumerate(said)] or [(line, "") for line in at]
        title = titles.get(ids[name], "") if name in ids else ""
        found += [BrokenReference(name, one, line, title, reason) for line, one in places]
    return sorted(found, key=lambda one: one.line)[:MOST_BROKEN]


@dataclass(frozen=True)
class Readers:
    """What inserts read (`marginalia.markup.inserts.base.Site`), kept in process. `photos`: those that the text names."""

    photos: Mapping[str, Photo]

    def photo(self, photo_id: ObjectId) -> Photo | None:
        """Return a photo that the text names."""
        return self.photos.get(str(photo_id))

    def node(self, node_id: ObjectId) -> BaseNode | None:
        """Return a page, post, section or photo with all its fields; None where readers do not see it. Reads it each time."""
        note_texts()
        return stored_nodes.live_by_id(tree.current(), node_id, now())

    def photos_of(self, gallery_id: ObjectId, most: int) -> Sequence[Any]:
        """Return the newest photos of a gallery, none if that is not live."""
        moment = now()

        def read() -> tuple[Sequence[Any], datetime | None]:
            is_live = tree.current().is_live(gallery_id, moment)
            found = stored_nodes.photos_of(gallery_id, moment, size=most).nodes if is_live else ()
            return found, due.next_due(moment)

        return version_cache.get_or_set(("inserted photos", gallery_id, most), moment, read)

    def tagged(self, tag: str, most: int) -> Sequence[Any]:
        """Return what is newest with a tag, of all posts without one."""
        moment = now()
        wanted = tags.normalized(tag)

        def read() -> tuple[Sequence[Any], datetime | None]:
            sections = tree.current()
            if wanted:
                found = stored_nodes.tagged(sections, wanted, moment, size=most)
            else:
                found = stored_nodes.newest_entries(sections, moment, size=most)
            return found.nodes, due.next_due(moment)

        return version_cache.get_or_set(("inserted posts", wanted, most), moment, read)


def _resolved(html: str, targets: Targets) -> str:
    def image(ref: ImageRef) -> str | None:
        photo = targets.photos.get(ref.slug)
        return None if photo is None else _picture(ref, photo, targets.marks.get(ref.slug, ""))

    def link(ref: LinkRef) -> tuple[str, str]:
        address = _address(ref, targets)
        mark = targets.marks.get(ref.name)
        if mark:
            return '<span class="broken-link">', format_html(" <small>({})</small></span>", mark)
        return ref.to(address) if address else WORDS_ALONE

    return references.resolve(html, image, link)


def _address(ref: LinkRef, targets: Targets) -> str:
    if ref.scheme == references.NODE:
        return targets.nodes.get(ref.name, "")
    photo = targets.photos.get(ref.name)
    return photo.get_absolute_url() if photo else ""


def _picture(ref: ImageRef, photo: Photo, mark: str) -> str:
    picture = addresses.picture(photo, alt=ref.alt or photo.metadata.detail.alt)
    if not ref.linked:
        picture = format_html('<a href="{}">{}</a>', photo.get_absolute_url(), picture)
    told = format_html(' <small class="not-public">({})</small>', mark) if mark else ""
    if not ref.block:
        return format_html("{}{}", picture, told)
    caption = format_html("<figcaption>{}{}</figcaption>", ref.title, told) if ref.title or told else ""
    return format_html('<figure class="photo">{}{}</figure>', picture, caption)

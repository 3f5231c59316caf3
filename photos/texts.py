"""Functions that render body text with inserts, photos (`![alt](photo:…)`), and links to the current URLs of nodes.

Body text refers to a photo by its id, its slug, or "gallery/slug", and to a node by its id (`[words](node:…)`). These
references are called names. All names are looked up with one query for nodes, and one query for photos (two if there
are slugs). The results are cached in memory until the site's `lists` version changes.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from marginalia.markup.html import references
from marginalia.markup.html.references import NO_TAGS, ImageRef, LinkRef, ReferencedNames
from marginalia.markup.inserts.reading import TextInserts, may_have_inserts
from marginalia.mongo.clock import now
from nodes import rendering, tags
from nodes.content import declared_fields
from nodes.models import BaseNode, File, Photo, tree, version_cache
from nodes.models.dependencies import note_texts
from nodes.selectors import due, stored_assets, stored_nodes, stored_photos
from nodes.selectors import references as reference_selectors
from nodes.selectors.listing import is_public
from nodes.selectors.references import State
from photos import addresses

# Reasons, shown to editors, why readers see only the link text of a reference.
REASONS = {
    State.HIDDEN: gettext_lazy("not public"),
    State.TRASHED: gettext_lazy("in the trash"),
    State.GONE: gettext_lazy("deleted"),
}


@dataclass(frozen=True)
class Targets:
    """The targets of the references in body text. If a reference has no target, readers see only its link text.

    Attributes:
        photos: The photos, keyed by name.
        nodes: The paths of nodes and files, keyed by name.
        files: The files, keyed by name.
        marks: The reasons, shown to editors, why a reference has no target, keyed by name.
    """

    photos: Mapping[str, Photo]
    nodes: Mapping[str, str]
    files: Mapping[str, File] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)


NO_TARGETS = Targets({}, {})
# Maximum number of broken references to list.
MAX_BROKEN = 50
# A pattern that matches a reference in the Markdown source. The reference can be in a link, a photo or an attribute.
_REFERENCE = re.compile(r"(?i)\b(?:node|photo):\s*([^\s#()<>\[\]\"',}]+)")


def body(node: BaseNode, *, is_feed: bool = False) -> SafeString:
    """Return the node's body text as HTML, with the photos and inserts that readers can currently see.

    On pages, footnotes are in the margin, and headings have links to themselves. In feeds, footnotes are at the end.
    """
    return render_for_readers(clean_html(node), language=node.language, is_feed=is_feed, is_page=not is_feed)


def iframe_origins(node: BaseNode) -> list[str]:
    """Return the origins of other sites that the node's text and Markdown fields can load in iframes."""
    return sorted(
        frozenset().union(
            *(inserts.iframe_origins for inserts in (TextInserts(clean_html(node)), *_field_inserts(node)))
        )
    )


def field_insert_names(node: BaseNode) -> frozenset[str]:
    """Return the names of the inserts in the Markdown fields that the node's type declares."""
    return frozenset().union(*(inserts.names for inserts in _field_inserts(node)))


def _field_inserts(node: BaseNode) -> Iterator[TextInserts]:
    fields = declared_fields.markdown_texts(node.metadata.type, node.metadata.detail)
    return (TextInserts(rendering.of_field(field.text)) for field in fields if may_have_inserts(field.text))


def clean_html(node: BaseNode) -> str:
    """Return a node's text as clean HTML, with unresolved references and inserts, or "" if it has no text.

    Results are cached in memory, keyed by nonce.
    """
    detail = node.metadata.detail
    text = getattr(detail, "text", "")
    return rendering.saved(node.metadata.nonce, text, detail.format) if text else ""


def render_for_readers(html: str, *, language: str = "", is_feed: bool = False, is_page: bool = False) -> SafeString:
    """Return clean HTML with its references and inserts resolved.

    For references to hidden nodes and photos, only the link text is shown. Lookups are cached in memory.

    Args:
        html: The clean HTML.
        language: The language of the text, or "" if it is the active language.
        is_feed: Whether the text is for feed readers.
        is_page: Whether the text is a page's body text.
    """
    inserts = TextInserts(rendering.for_readers(html, get_language() or "en", text_language=language, is_page=is_page))
    names = find_names(inserts)
    targets = public_targets(names) if names else NO_TARGETS
    return SafeString(_resolve(inserts.render(InsertSource(targets.photos, targets.files), is_feed=is_feed), targets))


def first_photo(html: str) -> Photo | None:
    """Return the first photo in clean HTML that readers can see, or None if there is none.

    Lookups are cached in memory.
    """
    names = find_names(TextInserts(html))
    photos = public_targets(names).photos if names.shown else {}
    return next((photos[name] for name in names.shown if name in photos), None)


def find_names(inserts: TextInserts) -> ReferencedNames:
    """Return the names of the photos and nodes that clean HTML refers to.

    Names from inserts come last, and names beyond the lookup limit are omitted.
    """
    limit = reference_selectors.MOST_REFERENCES
    in_text = references.find_names(inserts.html, limit)
    in_inserts = inserts.references
    if not in_inserts:
        return in_text
    photos = sorted(map(str, in_inserts.photos))
    nodes = sorted(map(str, in_inserts.nodes))
    return ReferencedNames(
        tuple(dict.fromkeys((*in_text.photos, *photos)))[:limit],
        tuple(dict.fromkeys((*in_text.nodes, *nodes)))[:limit],
        tuple(dict.fromkeys((*in_text.shown, *photos)))[:limit],
    )


def public_targets(names: ReferencedNames) -> Targets:
    """Return the targets of `names` that readers can currently see. Results are cached in memory."""
    moment = now()
    sections = tree.current()

    def read() -> tuple[Targets, datetime | None]:
        photos = stored_photos.by_references(names.photos)
        public = {name: photo for name, photo in photos.items() if is_public(photo, sections, moment)}
        paths = reference_selectors.addresses(sections, names.nodes, moment)
        files = {name: file for name, file in _other_files(names, paths).items() if is_public(file, sections, moment)}
        paths |= {name: file.get_absolute_url() for name, file in files.items()}
        return Targets(public, paths, files), due.next_due(moment)

    return version_cache.get_or_set(("references", names), moment, read)


def _other_files(names: ReferencedNames, known: Collection[str]) -> dict[str, File]:
    """Return the files, live or not, among the names of nodes, except for names in `known`. They are read together."""
    ids = {name: ObjectId(name) for name in names.nodes if name not in known and ObjectId.is_valid(name)}
    found = {asset.pk: asset for asset in stored_assets.by_ids(list(set(ids.values()))) if isinstance(asset, File)}
    return {name: found[file_id] for name, file_id in ids.items() if file_id in found}


def render_for_editor(node: BaseNode, *, sees_photos: bool, sees_all: bool) -> SafeString:
    """Return the node's text for an editor. Invalid inserts, and photos and links that readers can't see, are marked.

    Args:
        node: The node.
        sees_photos: Whether the editor can see all photos.
        sees_all: Whether the editor is allowed to see why something isn't public.
    """
    return resolve_for_editor(
        clean_html(node), language=node.language, sees_photos=sees_photos, sees_all=sees_all, is_page=True
    )


def resolve_for_editor(
    html: str, *, language: str = "", sees_photos: bool, sees_all: bool, is_page: bool = False
) -> SafeString:
    """Return clean HTML with its references and inserts resolved for an editor, as in `render_for_editor`."""
    inserts = TextInserts(rendering.for_readers(html, get_language() or "en", text_language=language, is_page=is_page))
    names = find_names(inserts)
    public = public_targets(names) if names else NO_TARGETS
    photos = stored_photos.by_references(names.photos) if sees_photos else public.photos
    files = {**public.files, **(_other_files(names, public.nodes) if sees_photos else {})}
    targets = Targets(photos, public.nodes, files, _marks(names, photos, sees_all=sees_all))
    return SafeString(_resolve(inserts.render(InsertSource(photos, files), faults=True), targets))


def _marks(names: ReferencedNames, photos: Mapping[str, Photo], *, sees_all: bool) -> dict[str, str]:
    """Return the reasons why readers can't see targets, keyed by name. Targets that readers can see are omitted."""
    ids = {name: ObjectId(name) for name in (*names.nodes, *names.photos) if ObjectId.is_valid(name)}
    ids |= {name: photo.pk for name, photo in photos.items()}
    by_id = reference_selectors.states(tree.current(), set(ids.values()), now())
    states = {name: by_id[ids[name]] if name in ids else State.GONE for name in (*names.nodes, *names.photos)}
    not_live = {name: state for name, state in states.items() if state is not State.LIVE}
    return {name: str(REASONS[state if sees_all else State.HIDDEN]) for name, state in not_live.items()}


@dataclass(frozen=True)
class BrokenReference:
    """A reference for which readers see only the link text, or nothing.

    Attributes:
        name: The name in the text.
        words: The link text, or the photo's alternative text.
        line: The line number, starting at 1, or 0 if unknown.
        column: The number of characters before the reference in its line.
        title: The target's title, or "" if the editor isn't allowed to see it.
        reason: Why readers can't see the target.
    """

    name: str
    words: str
    line: int
    column: int
    title: str
    reason: str

    @property
    def label(self) -> str:
        """The label for editors: the link text, the target's title or, if there is neither, the name."""
        return self.words or self.title or self.name


def find_broken(source: str, render: Callable[[], str], *, sees_photos: bool, sees_all: bool) -> list[BrokenReference]:
    """Return up to MAX_BROKEN broken references in text and its inserts, sorted by line.

    A reference is broken if readers can't see its target.

    Args:
        source: The text as typed.
        render: A function that returns the text as clean HTML. It is called only if the source contains references.
        sees_photos: Whether the editor can see all photos.
        sees_all: Whether the editor is allowed to see why something isn't public.
    """
    places: dict[str, list[tuple[int, int]]] = {}
    for number, line in enumerate(source.split("\n"), 1):
        for match in _REFERENCE.finditer(line):
            places.setdefault(unquote(match[1]), []).append((number, match.start()))
    if not places:
        return []
    inserts = TextInserts(render())
    names = find_names(inserts)
    photos = stored_photos.by_references(names.photos) if sees_photos else public_targets(names).photos
    marks = _marks(names, photos, sees_all=sees_all)
    ids = {
        name: photos[name].pk if name in photos else ObjectId(name)
        for name in marks
        if name in photos or ObjectId.is_valid(name)
    }
    titles = reference_selectors.titles(set(ids.values()) if sees_all else (), of_photos=sees_photos)
    words: dict[str, list[str]] = {}
    for mention in references.find_mentions(inserts.html):
        words.setdefault(mention.name, []).append(mention.words)
    broken = []
    for name, reason in marks.items():
        own_places = places.get(name) or [(0, 0)]
        # Inserts have no link text. If there are more links to this name than known places, the remaining links get the
        # last place.
        found = [
            (own_places[min(number, len(own_places) - 1)], phrase) for number, phrase in enumerate(words.get(name, []))
        ] or [(place, "") for place in own_places]
        title = titles.get(ids[name], "") if name in ids else ""
        if reason == REASONS[State.HIDDEN] and sees_photos and name in photos and not photos[name].metadata.detail.alt:
            reason = _("no alternative text")
        broken += [BrokenReference(name, phrase, *place, title, reason) for place, phrase in found]
    return sorted(broken, key=lambda reference: (reference.line, reference.column))[:MAX_BROKEN]


@dataclass(frozen=True)
class InsertSource:
    """The source of the content that readers see in inserts. Implements `marginalia.markup.inserts.base.Site`.

    Each process caches the lists of nodes and photos that inserts request.

    Attributes:
        photos: The photos to which the text refers, keyed by id.
        files: The files to which the text refers, keyed by id.
    """

    photos: Mapping[str, Photo]
    files: Mapping[str, File] = field(default_factory=dict)

    def photo(self, photo_id: ObjectId) -> Photo | None:
        """Return the photo with this id if the text refers to it, otherwise None."""
        return self.photos.get(str(photo_id))

    def file(self, file_id: ObjectId) -> File | None:
        """Return the file with this id if the text refers to it, otherwise None."""
        return self.files.get(str(file_id))

    def node(self, node_id: ObjectId) -> BaseNode | None:
        """Return a page, post, section or photo with all its fields, or None if readers can't see it.

        Each call runs a query.
        """
        note_texts()
        return stored_nodes.live_by_id(tree.current(), node_id, now())

    def photos_of(self, gallery_id: ObjectId, most: int) -> Sequence[Any]:
        """Return up to `most` of a gallery's newest photos, or an empty list if the gallery isn't live."""
        moment = now()

        def read() -> tuple[Sequence[Any], datetime | None]:
            is_live = tree.current().is_live(gallery_id, moment)
            photos = stored_nodes.photos_of(gallery_id, moment, size=most).nodes if is_live else ()
            return photos, due.next_due(moment)

        return version_cache.get_or_set(("inserted photos", gallery_id, most), moment, read)

    def tagged(self, tag: str, most: int) -> Sequence[Any]:
        """Return up to `most` of the newest posts and photos with `tag`, or of the newest posts if `tag` is empty."""
        moment = now()
        normalized = tags.normalized(tag)

        def read() -> tuple[Sequence[Any], datetime | None]:
            sections = tree.current()
            if normalized:
                listing = stored_nodes.tagged(sections, normalized, moment, size=most)
            else:
                listing = stored_nodes.newest_entries(sections, moment, size=most)
            return listing.nodes, due.next_due(moment)

        return version_cache.get_or_set(("inserted posts", normalized, most), moment, read)


def _resolve(html: str, targets: Targets) -> str:
    def image(ref: ImageRef) -> str | None:
        photo = targets.photos.get(ref.slug)
        return None if photo is None else _picture(ref, photo, targets.marks.get(ref.slug, ""))

    def link(ref: LinkRef) -> tuple[str, str]:
        url = _url(ref, targets)
        mark = targets.marks.get(ref.name)
        if mark:
            return '<span class="broken-link">', format_html(" <small>({})</small></span>", mark)
        return ref.to(url) if url else NO_TAGS

    return references.resolve_references(html, image, link)


def _url(ref: LinkRef, targets: Targets) -> str:
    if ref.scheme == references.NODE:
        return targets.nodes.get(ref.name, "")
    photo = targets.photos.get(ref.name)
    return photo.get_absolute_url() if photo else ""


def _picture(ref: ImageRef, photo: Photo, mark: str) -> str:
    picture = addresses.picture(photo, alt=ref.alt or photo.metadata.detail.alt)
    if not ref.linked:
        picture = format_html('<a href="{}">{}</a>', photo.get_absolute_url(), picture)
    note = format_html(' <small class="not-public">({})</small>', mark) if mark else ""
    if not ref.block:
        return format_html("{}{}", picture, note)
    caption = format_html("<figcaption>{}{}</figcaption>", ref.title, note) if ref.title or note else ""
    return format_html('<figure class="photo">{}{}</figure>', picture, caption)

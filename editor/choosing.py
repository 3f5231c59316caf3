"""The chooser, where editors search for pages, sections, photos and tags to use in links and fields."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup.html import references
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import NodePermission
from nodes.collections import ASSET_FILES
from nodes.content import FILE, PHOTO, registry
from nodes.links import origin
from nodes.models import Node, Photo, stored_site, tree
from nodes.selectors import picking, stored_assets, stored_nodes, stored_photos
from nodes.selectors.listing import is_public
from nodes.selectors.lists import ANY
from nodes.selectors.references import State, states, titles
from photos import addresses, texts

# Maximum numbers of choices offered at a time. A chooser for pages or photos offers up to OFFERED choices. A chooser
# for links offers up to PAGES pages, ASSETS photos and files, and TAGS tags.
OFFERED = 12
PAGES = 8
ASSETS = 4
TAGS = 4
LONGEST = 2_000
MAX_TARGETS = 50


@dataclass(frozen=True)
class Choice:
    """A choice that the chooser offers.

    Attributes:
        ref: The reference to insert into text, such as "node:ID".
        address: The value to insert into a field. This is the path if readers can see the target, and `ref` otherwise.
    """

    ref: str
    address: str
    title: str
    kind: str
    path: str = ""
    # The reason why readers can't see the target, or "" if they can see it.
    note: str = ""
    thumbnail: str = ""

    @property
    def details(self) -> str:
        """Return the choice's kind, path and note, which are shown next to its title."""
        return " · ".join(filter(None, (self.kind, self.path, self.note)))


@require_safe
def choose(request: HttpRequest) -> JsonResponse:
    """Return {"choices": […]} for the ?q= parameter, which contains words, or a path, URL or reference.

    If no title contains the words, pages and photos with the words in other places are offered.

    The ?for= parameter is "node", "photo", "file" or "link". Choices for a link include tags.
    """
    user = request.user
    if not access.may_write(user):
        raise PermissionDenied
    typed = request.GET.get("q", "")[:LONGEST].strip()
    purpose = request.GET.get("for", "link")
    pages, assets, tags = {"node": (OFFERED, 0, 0), PHOTO: (0, OFFERED, 0), FILE: (0, OFFERED, 0)}.get(
        purpose, (PAGES, ASSETS, TAGS)
    )
    # Links can lead to photos and to files.
    type = purpose if purpose in registry.uploaded() else ""
    if _is_address(request, typed):
        target = resolve_typed(request, typed)
        is_wanted = target and (assets if target.content_type.is_file else pages)
        is_of_type = target and type in ("", target.metadata.type)
        return JsonResponse({"choices": [asdict(make_choice(target))] if target and is_wanted and is_of_type else []})
    author = ANY if access.sees_all(user) else user.pk

    def found_by(find: Callable[..., list[Any]]) -> list[Any]:
        nodes = find(typed, pages, among=access.seen_by(user), author=author) if pages else []
        if assets and access.may_see_photos(user):
            nodes += find(typed, assets, collection=ASSET_FILES, type=type)
        return nodes

    # Pages with the words only in their text would look unrelated next to pages with the words in their titles.
    nodes = found_by(picking.by_title) or found_by(picking.by_words)
    choices = [make_choice(node) for node in nodes if may_choose(user, node)]
    if tags and typed:
        choices += [_tag_choice(tag) for tag in picking.tags(typed, stored_site.current().version, author)[:tags]]
    return JsonResponse({"choices": [asdict(choice) for choice in choices]})


@require_safe
def list_targets(request: HttpRequest) -> JsonResponse:
    """Return {"targets": {reference: target}} for the references in ?refs=, which are separated by spaces.

    A reference is `node:ID`, `photo:NAME` or a path. Targets that don't exist or that the user can't see are left out. A
    photo's target includes a picture and the alternative text.
    """
    user = request.user
    if not access.may_write(user):
        raise PermissionDenied
    refs = request.GET.get("refs", "").split(" ")[:MAX_TARGETS]
    pairs = [(ref, *ref.partition(":")[::2]) for ref in refs if len(ref) <= LONGEST]
    photos = stored_photos.by_references([name for _ref, scheme, name in pairs if scheme == references.PHOTO])
    nodes = _nodes_by_id([name for _ref, scheme, name in pairs if scheme == references.NODE])
    found = {ref: (photos if scheme == references.PHOTO else nodes).get(name) for ref, scheme, name in pairs}
    found |= {ref: resolve_typed(request, ref) for ref, _scheme, _name in pairs if ref.startswith("/")}
    targets = {ref: _target(node) for ref, node in found.items() if node and may_choose(user, node)}
    return JsonResponse({"targets": targets})


def _nodes_by_id(names: list[str]) -> dict[str, Node]:
    ids = [ObjectId(name) for name in names if ObjectId.is_valid(name)]
    return {str(node.pk): node for node in stored_nodes.whole_by_ids(ids, now(), as_stored=True)}


def _target(node: Node | Photo) -> dict[str, Any]:
    target: dict[str, Any] = asdict(make_choice(node))
    if isinstance(node, Photo):
        path, width, height = addresses.editor_copy(node)
        target |= {"picture": {"path": path, "width": width, "height": height}, "alt": node.metadata.detail.alt}
    return target


def may_choose(user: Any, node: Node | Photo) -> bool:
    """Return whether a node or photo is public or visible to the user, so that the user can choose it."""
    return access.allowed(user, node, NodePermission.VIEW) or is_public(node, tree.current(), now())


def make_choice(node: Node | Photo) -> Choice:
    """Return the choice for a node or photo that the user can choose."""
    is_photo = isinstance(node, Photo)
    path = node.get_absolute_url()
    is_live = is_public(node, tree.current(), now())
    ref = f"{references.PHOTO if is_photo else references.NODE}:{node.pk}"
    return Choice(
        ref=ref,
        address=path if is_live else ref,
        title=node.metadata.title,
        kind=str(node.type_label),
        path=path,
        note="" if is_live else str(texts.REASONS[State.HIDDEN]),
        thumbnail=addresses.smallest_path(node) if isinstance(node, Photo) else "",
    )


def make_hidden_choice(node_id: ObjectId, ref: str, *, sees_all: bool, sees_photos: bool) -> Choice:
    """Return the choice for a node or photo that readers can't see.

    Args:
        node_id: The id of the node or photo.
        ref: The reference as it is written in the text or field.
        sees_all: Whether to include the title and the reason why the target is hidden.
        sees_photos: Whether to include the title even if the target is a photo. This requires `sees_all`, too.
    """
    state = states(tree.current(), [node_id], now())[node_id] if sees_all else State.HIDDEN
    title = titles([node_id], of_photos=sees_photos).get(node_id, "") if sees_all else ""
    return Choice(ref, ref, title, kind="", note=str(texts.REASONS.get(state, "")))


def resolve_typed(request: HttpRequest, typed: str) -> Node | Photo | None:
    """Return the target that a path, `node:ID` or `photo:ID` refers to, or None if the user can't choose it."""
    scheme, _colon, name = typed.partition("#")[0].partition(":")
    if scheme in (references.NODE, references.PHOTO):
        if not ObjectId.is_valid(name):
            return None
        key = ObjectId(name)
        node = stored_photos.get(key) if scheme == references.PHOTO else stored_nodes.get(key) or stored_assets.get(key)
        return node if node and may_choose(request.user, node) else None
    return stored_nodes.resolve_address(typed)


def _is_address(request: HttpRequest, typed: str) -> bool:
    site_urls = (f"{origin(request)}/", f"{request.scheme}://{request.get_host()}/")
    is_path = typed.startswith("/") and not typed.startswith("//")
    return is_path or typed.startswith((*site_urls, f"{references.NODE}:", f"{references.PHOTO}:"))


def _tag_choice(tag: str) -> Choice:
    address = reverse("tag", args=[tag])
    return Choice(ref=address, address=address, title=tag, kind=_("Tag"), path=unquote(address))

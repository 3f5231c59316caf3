"""Choosing by title what a text or a field refers to: pages, posts, sections, photos, tags."""

from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup.html import references
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import Action
from nodes.collections import ASSET_FILES
from nodes.links import origin
from nodes.models import Node, Photo, stored_site, tree
from nodes.selectors import picking, stored_nodes, stored_photos
from nodes.selectors.listing import is_public
from nodes.selectors.lists import ANY
from nodes.selectors.references import State, states, titles
from photos import addresses, texts

# What is offered at once of pages, posts and sections, and of photos; of a link's targets there are some of each kind.
OFFERED = 12
PAGES = 8
PHOTOS = 4
TAGS = 4
LONGEST = 2_000


@dataclass(frozen=True)
class Choice:
    """Something to choose. `ref`: how a text names it; `address`: how a field does, its path where readers see it."""

    ref: str
    address: str
    title: str
    kind: str
    path: str = ""
    # Why readers do not see it, "" if they do.
    note: str = ""
    thumbnail: str = ""

    @property
    def said(self) -> str:
        """What is told beside the title."""
        return " · ".join(filter(None, (self.kind, self.path, self.note)))


@require_safe
def choose(request: HttpRequest) -> JsonResponse:
    """Answer {"choices": […]} for ?q=, words of titles or one address; ?for= is "node", "photo" or, with tags, "link"."""
    user = request.user
    if not access.may_write(user):
        raise PermissionDenied
    typed = request.GET.get("q", "")[:LONGEST].strip()
    wanted = request.GET.get("for", "link")
    pages, pictures, tags = {"node": (OFFERED, 0, 0), "photo": (0, OFFERED, 0)}.get(wanted, (PAGES, PHOTOS, TAGS))
    if _is_address(request, typed):
        one = addressed(request, typed)
        found = [] if one is None or not (pictures if isinstance(one, Photo) else pages) else [one]
        return JsonResponse({"choices": [asdict(choice(node)) for node in found]})
    author = ANY if access.sees_all(user) else user.pk
    found = picking.by_title(typed, pages, among=access.seen_by(user), author=author) if pages else []
    if pictures and access.may_see_photos(user):
        found += picking.by_title(typed, pictures, collection=ASSET_FILES)
    choices = [choice(node) for node in found if may_choose(user, node)]
    if tags and typed:
        choices += [_tag(tag) for tag in picking.tags(typed, stored_site.current().version, author)[:tags]]
    return JsonResponse({"choices": [asdict(one) for one in choices]})


def may_choose(user: Any, node: Node | Photo) -> bool:
    """Return whether a user may know of a node or photo: one that is public, or the user's to see."""
    return access.allowed(user, node, Action.VIEW) or is_public(node, tree.current(), now())


def choice(node: Node | Photo) -> Choice:
    """Return how a node or photo is offered."""
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
        thumbnail=addresses.square_path(node, 160) if isinstance(node, Photo) else "",
    )


def unseen(node_id: ObjectId, ref: str, *, sees_all: bool, sees_photos: bool) -> Choice:
    """Return how a field shows what readers do not see; `sees_all`: with its title, of a photo if `sees_photos`, and why."""
    state = states(tree.current(), [node_id], now())[node_id] if sees_all else State.HIDDEN
    title = titles([node_id], of_photos=sees_photos).get(node_id, "") if sees_all else ""
    return Choice(ref, ref, title, kind="", note=str(texts.REASONS.get(state, "")))


def addressed(request: HttpRequest, typed: str) -> Node | Photo | None:
    """Return what an address of this site leads to, or what `node:ID` or `photo:ID` names, if the user may know of it."""
    scheme, _colon, name = typed.partition("#")[0].partition(":")
    if scheme in (references.NODE, references.PHOTO):
        key = ObjectId(name) if ObjectId.is_valid(name) else None
        found = None if key is None else stored_photos.get(key) if scheme == references.PHOTO else stored_nodes.get(key)
        return found if found and may_choose(request.user, found) else None
    return at(typed)


def at(address: str) -> Node | Photo | None:
    """Return the public page or photo at a path of this site, or where it was once; None if there is none."""
    try:
        path = unquote(urlsplit(address).path).strip("/")
    except ValueError:
        return None
    sections = tree.current()
    moment = now()
    return stored_nodes.resolve(sections, path, moment) if path else stored_nodes.front_page(sections, moment)


def _is_address(request: HttpRequest, typed: str) -> bool:
    here = (f"{origin(request)}/", f"{request.scheme}://{request.get_host()}/")
    is_path = typed.startswith("/") and not typed.startswith("//")
    return is_path or typed.startswith((*here, f"{references.NODE}:", f"{references.PHOTO}:"))


def _tag(tag: str) -> Choice:
    address = reverse("tag", args=[tag])
    return Choice(ref=address, address=address, title=tag, kind=_("Tag"), path=unquote(address))

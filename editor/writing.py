"""What the form asks for while an editor writes: the page as readers will see it, photos to put into it, tags in use."""

import secrets
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST, require_safe

from editor import choosing
from editor.forms import FIELDS, form_of
from editor.site import actor
from marginalia.markup.characters import normalize_newlines
from marginalia.markup.markdown import limits
from marginalia.mongo import rate_limit
from marginalia.mongo.clock import now
from nodes import access, content, rendering
from nodes.access import Action
from nodes.models import Node, stored_site, tree
from nodes.selectors import editable_nodes, picking, slugs
from nodes.selectors.listing import is_public
from nodes.selectors.lists import ANY
from nodes.services.write import NOT_DRAFTED
from photos import addresses, texts
from reader.views import previews

# In so many seconds one account may ask for so many previews of texts with more than so many marks: each takes some 10 µs,
# all together 20 seconds of a processor at most. The editor asks when its writer pauses.
SECONDS = 60
PREVIEWS = {0: 120, 5_000: 20, 20_000: 4}


@require_POST
def show_typed(request: HttpRequest) -> JsonResponse:
    """Answer {"html": …, "broken": …}: the page as readers would see it if the form were saved and published now, with what
    they do not see of its text marked; and the list of that. Saves nothing."""
    if not access.may_write(request.user):
        raise PermissionDenied
    type = request.POST.get("type", "")
    node = request.POST.get("_node", "")
    if not content.get(type).is_installed or content.get(type).is_file:
        return JsonResponse({}, status=400)
    node_id = ObjectId(node) if ObjectId.is_valid(node) else None
    access.check_may_type(request.user, type, node_id)
    sent = normalize_newlines("\n".join(request.POST.values()))
    if not _may_preview(request.user, sent):
        return JsonResponse({}, status=429, headers={"Retry-After": str(SECONDS)})
    shown = _typed(request, type, node_id)
    sees_photos = access.may_see_photos(request.user)
    sees_all = access.sees_all(request.user)
    page = previews.show(request, shown, texts.render_for_editor(shown, sees_photos=sees_photos, sees_all=sees_all))
    text = getattr(shown.metadata.detail, "text", "")
    nonce = shown.metadata.nonce
    broken = texts.find_broken(
        text,
        lambda: rendering.saved(nonce, text, shown.metadata.detail.format),
        sees_photos=sees_photos,
        sees_all=sees_all,
    )
    listed = render_to_string("editor/_broken.html", {"broken": broken})
    return JsonResponse({"html": page.content.decode(), "broken": listed})


def _typed(request: HttpRequest, type: str, node_id: ObjectId | None) -> Node:
    """Return the node as its form says it; what is wrong with the form is as it is stored."""
    found = editable_nodes.load(node_id) if node_id else None
    if found and (found.node.metadata.type != type or not access.allowed(request.user, found.node, Action.VIEW)):
        found = None
    drafting = request.POST.get("version") == "draft"
    stored = ((drafting and found.draft) or found.live) if found else None
    form = form_of(type)(request.POST, user=request.user, type=type, seen=stored)
    for path in NOT_DRAFTED if drafting else ():
        form.fields.pop(FIELDS[path])
    form.is_valid()
    mine = form.mine()
    if "detail.text" in mine:
        mine["detail.text"] = mine["detail.text"][: settings.TEXT_MAX_BYTES]
    mine["author"] = mine.get("author") or (stored.fields["author"] if stored else actor(request).as_document())
    return editable_nodes.unsaved_node(
        type, mine, form.cleaned_data.get("tags", ()), found.node.pk if found else ObjectId(), stored
    )


@require_safe
def complete_tags(request: HttpRequest) -> JsonResponse:
    """Answer {"tags": […]}: those in use that ?q= may become."""
    if not (access.may_write(request.user) or access.may_see_photos(request.user)):
        raise PermissionDenied
    author = ANY if access.sees_all(request.user) else request.user.pk
    return JsonResponse({"tags": picking.tags(request.GET.get("q", "")[:100], stored_site.current().version, author)})


@require_safe
def pick_photos(request: HttpRequest) -> JsonResponse:
    """Answer {"photos": […]}: the newest, or those with the words of ?q=, each with what a text shows it by."""
    if not access.may_see_photos(request.user):
        raise PermissionDenied
    found = picking.photos(request.GET.get("q", "")[:200])
    return JsonResponse({"photos": [_choice(photo) for photo in found]})


@require_safe
def link_to(request: HttpRequest) -> JsonResponse:
    """Answer {"ref": "node:…" or "photo:…", "title": …} of the public page at ?address=, or {} where there is none."""
    if not access.may_write(request.user):
        raise PermissionDenied
    found = choosing.at(request.GET.get("address", "")[: choosing.LONGEST])
    if found is None:
        return JsonResponse({})
    chosen = choosing.choice(found)
    return JsonResponse({"ref": chosen.ref, "title": chosen.title})


@require_safe
def propose_slug(request: HttpRequest) -> JsonResponse:
    """Answer {"slug": …}: one made from ?title= that nothing in ?section= has that the asker sees."""
    given = request.GET.get("section", "")
    section = ObjectId(given) if ObjectId.is_valid(given) else None
    if not request.user.has_perm("nodes.add_node") or not access.may_place(request.user, section):
        raise PermissionDenied
    title = request.GET.get("title", "")[:300]
    among = access.seen_by(request.user)
    return JsonResponse({"slug": slugs.find_free(title, section, among=among) if title.strip() else ""})


def _choice(photo: Any) -> dict[str, Any]:
    return {
        "id": str(photo.pk),
        "title": photo.metadata.title,
        "alt": photo.metadata.detail.alt,
        "public": is_public(photo, tree.current(), now()),
        "thumbnail": addresses.square_path(photo, 160),
        "markdown": addresses.markdown(photo),
    }


def _may_preview(user: Any, text: str) -> bool:
    """Return whether an account may see one more preview now, and count it."""
    marks = limits.count_marks(text)
    return all(
        rate_limit.allow(f"nodes.preview.{more}:{user.pk}", limit=most, seconds=SECONDS, token=secrets.token_hex(8))
        for more, most in PREVIEWS.items()
        if marks >= more
    )

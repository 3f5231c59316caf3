"""The JSON views that the edit form calls while an editor writes: preview, photos, tags, links and slugs."""

import secrets
from functools import partial
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from editor import choosing, conflict, text_warnings
from editor.forms import FIELDS, form_class
from editor.site import get_actor
from marginalia.markup.characters import normalize_newlines
from marginalia.markup.markdown import limits
from marginalia.mongo import rate_limit
from marginalia.mongo.clock import now
from nodes import access, content, rendering
from nodes.access import TOP, NodePermission, chosen_section
from nodes.content import MARKDOWN
from nodes.models import Node, stored_site, tree
from nodes.selectors import editable_nodes, picking, slugs, stored_nodes
from nodes.selectors.listing import is_public
from nodes.selectors.lists import ANY
from nodes.services.rules import NOT_DRAFTED
from photos import addresses, texts
from reader.views import previews

# How many previews an account can request within SECONDS, keyed by the minimum number of markup characters in the text.
# Rendering takes about 10 µs per markup character, so an account can use at most 20 seconds of CPU time. The script
# requests a preview whenever the editor pauses.
SECONDS = 60
PREVIEWS = {0: 120, 5_000: 20, 20_000: 4}


@require_POST
def show_typed(request: HttpRequest) -> JsonResponse:
    """Return {"html": …, "warnings": …} for a form with unsaved changes, without saving it.

    "html" is the page as readers would see it. References are marked if readers can't see their targets. "warnings" is
    the list of warnings about the text as HTML.
    """
    if not access.may_write(request.user):
        raise PermissionDenied
    type = request.POST.get("type", "")
    node_id_text = request.POST.get("_node", "")
    if not content.get(type).is_installed or content.get(type).is_file:
        return JsonResponse({}, status=400)
    node_id = ObjectId(node_id_text) if ObjectId.is_valid(node_id_text) else None
    access.check_may_type(request.user, type, node_id)
    sent = normalize_newlines("\n".join(request.POST.values()))
    if not _may_preview(request.user, sent):
        return JsonResponse({}, status=429, headers={"Retry-After": str(SECONDS)})
    node = _typed_node(request, type, node_id)
    sees_photos = access.may_see_photos(request.user)
    sees_all = access.sees_all(request.user)
    page = previews.show(request, node, texts.render_for_editor(node, sees_photos=sees_photos, sees_all=sees_all))
    text = getattr(node.metadata.detail, "text", "")
    nonce = node.metadata.nonce
    render = partial(rendering.saved, nonce, text, getattr(node.metadata.detail, "format", MARKDOWN))
    warnings = text_warnings.find_rendered(text, render, request.user)
    warnings_html = render_to_string("editor/_text_warnings.html", {"warnings": warnings})
    return JsonResponse({"html": page.content.decode(), "warnings": warnings_html})


def _typed_node(request: HttpRequest, type: str, node_id: ObjectId | None) -> Node:
    """Return the node with the values in the form. If a field is invalid, use the stored value."""
    editable = editable_nodes.load(node_id) if node_id else None
    if editable and (
        editable.node.metadata.type != type or not access.allowed(request.user, editable.node, NodePermission.VIEW)
    ):
        editable = None
    drafting = request.POST.get("version") == "draft"
    stored = ((drafting and editable.draft) or editable.live) if editable else None
    data = conflict.read_decisions(request.POST, form_class(type)).data
    form = form_class(type)(data, user=request.user, type=type, seen=stored)
    for path in NOT_DRAFTED if drafting else ():
        form.fields.pop(FIELDS[path])
    form.is_valid()
    mine = form.mine()
    if "detail.text" in mine:
        mine["detail.text"] = mine["detail.text"][: settings.TEXT_MAX_BYTES]
    mine["author"] = mine.get("author") or (stored.fields["author"] if stored else get_actor(request).as_document())
    return editable_nodes.unsaved_node(
        type, mine, form.cleaned_data.get("tags", ()), editable.node.pk if editable else ObjectId(), stored
    )


@require_safe
def complete_tags(request: HttpRequest) -> JsonResponse:
    """Return {"tags": […]}, the existing tags that complete the text in ?q=."""
    if not (access.may_write(request.user) or access.may_see_photos(request.user)):
        raise PermissionDenied
    author = ANY if access.sees_all(request.user) else request.user.pk
    return JsonResponse({"tags": picking.tags(request.GET.get("q", "")[:100], stored_site.current().version, author)})


@require_safe
def pick_photos(request: HttpRequest) -> JsonResponse:
    """Return {"photos": […], "more": …}: the newest photos in ?section=, or those that match ?q=.

    Each photo includes the Markdown for embedding it. The value of `more` is the ?from= of the next page, or "".
    """
    if not access.may_see_photos(request.user):
        raise PermissionDenied
    place = request.GET.get("section", "")
    if place not in ("", TOP) and not ObjectId.is_valid(place):
        raise Http404(_("This section doesn't exist."))
    section = chosen_section(place) if place else ANY
    try:
        photos, more = picking.photos(request.GET.get("q", "")[:200], section, request.GET.get("from", ""))
    except ValueError as error:
        raise Http404(_("This page of the list doesn't exist.")) from error
    return JsonResponse({"photos": [_photo_choice(photo) for photo in photos], "more": more})


@require_safe
def link_to(request: HttpRequest) -> JsonResponse:
    """Return {"ref": …, "title": …} for the public page or photo at ?address=, or {} if there is none."""
    if not access.may_write(request.user):
        raise PermissionDenied
    target = stored_nodes.resolve_address(request.GET.get("address", "")[: choosing.LONGEST])
    if target is None:
        return JsonResponse({})
    choice = choosing.make_choice(target)
    return JsonResponse({"ref": choice.ref, "title": choice.title})


@require_safe
def propose_slug(request: HttpRequest) -> JsonResponse:
    """Return {"slug": …}, a slug for ?title= that is free in ?section=.

    Pages that the user can't see don't affect the result.
    """
    section_id = request.GET.get("section", "")
    section = ObjectId(section_id) if ObjectId.is_valid(section_id) else None
    if not request.user.has_perm("nodes.add_node") or not access.may_place(request.user, section):
        raise PermissionDenied
    title = request.GET.get("title", "")[:300]
    visible = access.seen_by(request.user)
    return JsonResponse({"slug": slugs.find_free(title, section, among=visible) if title.strip() else ""})


def _photo_choice(photo: Any) -> dict[str, Any]:
    return {
        "id": str(photo.pk),
        "title": photo.metadata.title,
        "alt": photo.metadata.detail.alt,
        "public": is_public(photo, tree.current(), now()),
        "thumbnail": addresses.square_path(photo, 160),
        "markdown": addresses.markdown(photo),
    }


def _may_preview(user: Any, text: str) -> bool:
    """Count a preview, and return whether the account is still within its limits."""
    marks = limits.count_marks(text)
    return all(
        rate_limit.allow(f"nodes.preview.{least}:{user.pk}", limit=limit, seconds=SECONDS, token=secrets.token_hex(8))
        for least, limit in PREVIEWS.items()
        if marks >= least
    )

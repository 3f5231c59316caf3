"""What the form asks for while an editor writes: the text as readers will see it, photos to put into it, tags in use."""

import secrets
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST, require_safe

from markup.characters import newlines
from markup.markdown import limits
from mongo import rate_limit
from nodes import access
from nodes.admin import choosing
from nodes.content import HTML, MARKDOWN
from nodes.models import site
from nodes.photos import links as photo_links
from nodes.photos import texts as photo_texts
from nodes.selectors import picking, slugs
from nodes.selectors.lists import ANY
from nodes.texts import rendering

# In so many seconds one account may ask for so many previews of texts with more than so many marks: each takes some 10 µs,
# all together 20 seconds of a processor at most. The editor asks when its writer pauses.
SECONDS = 60
PREVIEWS = {0: 120, 5_000: 20, 20_000: 4}


@require_POST
def show_text(request: HttpRequest) -> JsonResponse:
    """Answer {"html": …, "broken": …}: a text as readers will see it, with photos that they do not see yet and links marked
    that lead nowhere; and the list of these. Saves nothing."""
    if not access.may_write(request.user):
        raise PermissionDenied
    text = newlines(request.POST.get("text", "")[: settings.TEXT_MAX_BYTES])
    if not _may_preview(request.user, text):
        return JsonResponse({}, status=429, headers={"Retry-After": str(SECONDS)})
    text_format = HTML if request.POST.get("format") == HTML else MARKDOWN
    html = rendering.to_html(text, text_format)
    sees_photos, sees_all = access.may_see_photos(request.user), access.sees_all(request.user)
    shown = photo_texts.previewed(html, sees_photos=sees_photos, sees_all=sees_all)
    broken = photo_texts.broken(text, lambda: html, sees_photos=sees_photos, sees_all=sees_all)
    return JsonResponse({"html": shown, "broken": render_to_string("nodes/admin/_broken.html", {"broken": broken})})


@require_safe
def complete_tags(request: HttpRequest) -> JsonResponse:
    """Answer {"tags": […]}: those in use that ?q= may become."""
    if not (access.may_write(request.user) or access.may_see_photos(request.user)):
        raise PermissionDenied
    author = ANY if access.sees_all(request.user) else request.user.pk
    return JsonResponse({"tags": picking.tags(request.GET.get("q", "")[:100], site.current().version, author)})


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
    title, among = request.GET.get("title", "")[:300], access.seen_by(request.user)
    return JsonResponse({"slug": slugs.free(title, section, among=among) if title.strip() else ""})


def _choice(photo: Any) -> dict[str, Any]:
    return {
        "id": str(photo.pk),
        "title": photo.metadata.title,
        "alt": photo.metadata.detail.alt,
        "public": photo.metadata.published is not None,
        "thumbnail": photo_links.square(photo, 160),
        "markdown": photo_links.markdown(photo),
    }


def _may_preview(user: Any, text: str) -> bool:
    """Return whether an account may see one more preview now, and count it."""
    marks = limits.marks(text)
    return all(
        rate_limit.take(f"nodes.preview.{more}:{user.pk}", limit=most, seconds=SECONDS, token=secrets.token_hex(8))
        for more, most in PREVIEWS.items()
        if marks >= more
    )

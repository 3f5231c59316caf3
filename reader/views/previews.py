"""A page before it is public: for editors through the admin, for others by a signed link. Never kept, never indexed.

A link is bound to one version of one node, and expires.
"""

from dataclasses import dataclass

from bson import ObjectId
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.mongo.clock import now
from nodes.models import Node, tree
from nodes.selectors import editable_nodes
from nodes.selectors.listing import is_public
from reader.views import pages

# Binds a signature to this purpose: nothing else that this site signs opens a preview.
SALT = "nodes.preview.version"
DAYS = 7


@dataclass(frozen=True)
class Preview:
    """What a link shows: what a node, or its draft, says under a nonce, and nothing that is saved later."""

    node_id: ObjectId
    nonce: ObjectId


def link(preview: Preview) -> str:
    """Return the path of a link that shows `preview` for DAYS days."""
    token = signing.dumps([str(preview.node_id), str(preview.nonce)], salt=SALT)
    return reverse("preview", args=[token])


def read(token: str) -> Preview | None:
    """Return what a link shows; None for one that is forged, meant for something else, or too old."""
    try:
        node_id, nonce = signing.loads(token, salt=SALT, max_age=DAYS * 86_400)
    except signing.BadSignature:
        return None
    return Preview(ObjectId(node_id), ObjectId(nonce))


@require_safe
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show what a signed link names."""
    preview = read(token)
    found = editable_nodes.load(preview.node_id) if preview else None
    if preview is None or found is None:
        raise Http404(_("This preview link is not valid any more."))
    if found.draft is None and is_public(found.node, tree.current(), now()):
        # Published or discarded: readers' page is all there is to see.
        return HttpResponseRedirect(found.node.get_absolute_url())
    if found.draft and found.draft.nonce == preview.nonce:
        return show(request, found.drafted())
    if found.live.nonce == preview.nonce:
        return show(request, found.node)
    return _private(render(request, "nodes/preview-gone.html", status=410))


def show(request: HttpRequest, node: Node, body: SafeString | None = None) -> HttpResponse:
    """Answer a page as readers would see it if it were published now, or with `body` for its text. Its address must not leak to
    what it links to."""
    node.metadata.published = node.metadata.published or now()
    return _private(pages.show(request, node, body, is_preview=True))


def home(request: HttpRequest) -> HttpResponse:
    """Answer the front page with the settings that the request was given (editor.settings)."""
    return _private(pages.front(request, is_preview=True))


def _private(response: HttpResponse) -> HttpResponse:
    add_never_cache_headers(response)
    response["X-Robots-Tag"] = "noindex"
    response["Referrer-Policy"] = "no-referrer"
    return response

"""Previews of pages that aren't public yet. Editors see them in the admin. Other people can use a signed link.

A link is valid only for one version of a node, and only for a limited time. Previews are never cached or indexed.
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

# The salt restricts signatures to previews, so that nothing else that this site signs is valid as a preview link.
SALT = "nodes.preview.version"
DAYS = 7


@dataclass(frozen=True)
class Preview:
    """The version that a preview link shows: the node or draft with this nonce. Later saves invalidate the link."""

    node_id: ObjectId
    nonce: ObjectId


def link(preview: Preview) -> str:
    """Return the URL path of a link to `preview`. The link is valid for DAYS days."""
    token = signing.dumps([str(preview.node_id), str(preview.nonce)], salt=SALT)
    return reverse("preview", args=[token])


def read_token(token: str) -> Preview | None:
    """Return the preview to which a link's token refers, or None if the token is invalid or has expired."""
    try:
        node_id, nonce = signing.loads(token, salt=SALT, max_age=DAYS * 86_400)
    except signing.BadSignature:
        return None
    return Preview(ObjectId(node_id), ObjectId(nonce))


@require_safe
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show the version to which a signed link refers."""
    preview = read_token(token)
    editable = editable_nodes.load(preview.node_id) if preview else None
    if preview is None or editable is None:
        raise Http404(_("This preview link has expired."))
    if editable.draft is None and is_public(editable.node, tree.current(), now()):
        # The draft was published or discarded, so redirect to the public page.
        return HttpResponseRedirect(editable.node.get_absolute_url())
    if editable.draft and editable.draft.nonce == preview.nonce:
        return show(request, editable.drafted())
    if editable.live.nonce == preview.nonce:
        return show(request, editable.node)
    return _make_private(render(request, "nodes/preview-gone.html", status=410))


def show(request: HttpRequest, node: Node, body: SafeString | None = None) -> HttpResponse:
    """Return a page as readers would see it if it were published now.

    The response's headers keep the preview's URL secret from sites to which the page links.

    Args:
        request: The request.
        node: The node. If it has no publication date, the date is set to the current time.
        body: The body text to show, or None for the node's own text.
    """
    node.metadata.published = node.metadata.published or now()
    return _make_private(pages.show(request, node, body, is_preview=True))


def front_page(request: HttpRequest) -> HttpResponse:
    """Return a preview of the front page with the settings that editor.settings has set for this request."""
    return _make_private(pages.front_page(request, is_preview=True))


def _make_private(response: HttpResponse) -> HttpResponse:
    add_never_cache_headers(response)
    response["X-Robots-Tag"] = "noindex"
    response["Referrer-Policy"] = "no-referrer"
    return response

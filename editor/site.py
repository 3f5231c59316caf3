"""Functions shared by the views of the content admin."""

from typing import Any

from bson import ObjectId
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from nodes.models import Node
from nodes.types import Actor


def parse_id(text: str) -> ObjectId:
    """Return the id or nonce in a request. If it isn't valid, raise Http404, because the admin didn't send it."""
    if not ObjectId.is_valid(text):
        raise Http404
    return ObjectId(text)


def render_page(request: HttpRequest, template: str, title: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """Return an admin page rendered from `editor/TEMPLATE.html`, with `context` and the shared admin context."""
    shared = {**admin.site.each_context(request), "opts": Node._meta, "title": title}
    return render(request, f"editor/{template}.html", {**shared, **context}, status=status)


def admin_url(name: str, *args: Any, **query: str) -> str:
    """Return the path of a page in the content admin. `name` is the page's name, such as "history"."""
    return reverse(f"admin:nodes_node_{name}", args=args, query=query or None)


def get_actor(request: HttpRequest) -> Actor:
    """Return the user of a request as an Actor, which services need."""
    return Actor.of(request.user)


def title_link(node_id: ObjectId, title: str) -> SafeString:
    """Return a link to a node's edit page."""
    return format_html("<a href='{}'>{}</a>", admin_url("change", node_id), title)

"""Functions shared by the admin's photo views."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from nodes.content import FILE, PHOTO
from nodes.models import File, Photo


def render_page(
    request: HttpRequest, template: str, title: str, *, type: str = PHOTO, status: int = 200, **context: Any
) -> HttpResponse:
    """Return an admin page rendered from `editor/TEMPLATE.html`, with `context` and the shared admin context.

    `type` is PHOTO or FILE.
    """
    model = File if type == FILE else Photo
    shared = {
        **admin.site.each_context(request),
        "opts": model._meta,
        "is_file": type == FILE,
        "title": title,
    }
    return render(request, f"editor/{template}.html", {**shared, **context}, status=status)

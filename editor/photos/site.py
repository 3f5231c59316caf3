"""Functions shared by the admin's photo views."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from nodes.models import Photo


def render_page(request: HttpRequest, template: str, title: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """Return an admin page rendered from `editor/TEMPLATE.html`, with `context` and the shared admin context."""
    shared = {**admin.site.each_context(request), "opts": Photo._meta, "title": title}
    return render(request, f"editor/{template}.html", {**shared, **context}, status=status)

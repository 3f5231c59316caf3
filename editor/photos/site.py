"""What every page about photos in the admin shares, and where these pages stand."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from nodes.models import Photo


def page(request: HttpRequest, template: str, title: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """Answer with a page of the admin; `editor/TEMPLATE.html` gets `context` beside what every page has."""
    shared = {**admin.site.each_context(request), "opts": Photo._meta, "title": title, "is_nav_sidebar_enabled": True}
    return render(request, f"editor/{template}.html", {**shared, **context}, status=status)

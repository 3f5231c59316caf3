"""Where the pages about photos stand in the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, path

from editor.photos import describing, editing, library, stalled, uploads
from nodes import (
    access,
    converters,  # noqa: F401 - registers <objectid:…>
)


class PhotoAdmin(admin.ModelAdmin):
    """Photos in the admin's index and navigation; every page is a view of ours."""

    def get_urls(self) -> list[URLPattern]:
        views = (
            ("", library.library, "changelist"),
            ("describe/", describing.describe, "describe"),
            ("stalled/", stalled.stalled, "stalled"),
            ("upload/<objectid:gallery_id>/", uploads.upload, "upload"),
            ("<objectid:photo_id>/replace/", uploads.replace, "replace"),
            ("<objectid:photo_id>/go-back/", editing.go_back, "go_back"),
            ("<objectid:photo_id>/trash/", editing.throw_away, "trash"),
            ("<objectid:photo_id>/history/", editing.history, "history"),
            ("<objectid:photo_id>/change/", editing.change, "change"),
        )
        named = [(route, view, f"nodes_photo_{name}") for route, view, name in views]
        return [path(route, self.admin_site.admin_view(view), name=name) for route, view, name in named]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return access.may_see_photos(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return access.may_see_photos(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        # New photos are dropped on the list: there is no page for adding one.
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return access.may_change_photos(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

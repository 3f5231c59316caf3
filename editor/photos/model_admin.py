"""The URLs of the admin's photo views."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, path

from editor.photos import describing, editing, library, stalled, uploads
from nodes import (
    access,
    converters,  # noqa: F401 - registers <objectid:…>
)
from nodes.access import TOP


class PhotoAdmin(admin.ModelAdmin):
    """The admin registration for photos. Its views are functions defined in this app."""

    def get_urls(self) -> list[URLPattern]:
        views = (
            ("", library.library, "changelist"),
            ("describe/", describing.describe, "describe"),
            ("stalled/", stalled.stalled, "stalled"),
            (f"upload/{TOP}/", uploads.upload, "upload"),
            ("upload/<objectid:gallery_id>/", uploads.upload, "upload"),
            ("<objectid:photo_id>/replace/", uploads.replace_file, "replace"),
            ("<objectid:photo_id>/go-back/", editing.go_back, "go_back"),
            ("<objectid:photo_id>/trash/", editing.move_to_trash, "trash"),
            ("<objectid:photo_id>/history/", editing.history, "history"),
            ("<objectid:photo_id>/change/", editing.change, "change"),
        )
        admin_view = self.admin_site.admin_view
        return [path(route, admin_view(view), name=f"nodes_photo_{name}") for route, view, name in views]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return access.may_see_photos(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return access.may_see_photos(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        # There is no page for adding a photo, because editors drop new photos onto the library.
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return access.may_change_photos(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

"""The URLs of the admin's views for photos and files."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, path

from editor.photos import describing, editing, library, stalled, uploads
from nodes import (
    access,
    converters,  # noqa: F401 - registers <objectid:…>
)
from nodes.access import TOP
from nodes.content import FILE, PHOTO


class FileAdmin(admin.ModelAdmin):
    """The admin registration for files. Its views are functions that photos also use."""

    type: ClassVar[str] = FILE
    views: ClassVar[Any] = (
        ("", library.library, "changelist"),
        (f"upload/{TOP}/", uploads.upload, "upload"),
        ("upload/<objectid:gallery_id>/", uploads.upload, "upload"),
        ("<objectid:photo_id>/replace/", uploads.replace_file, "replace"),
        ("<objectid:photo_id>/go-back/", editing.go_back, "go_back"),
        ("<objectid:photo_id>/trash/", editing.move_to_trash, "trash"),
        ("<objectid:photo_id>/history/", editing.history, "history"),
        ("<objectid:photo_id>/change/", editing.change, "change"),
    )

    def get_urls(self) -> list[URLPattern]:
        admin_view = self.admin_site.admin_view
        return [
            path(route, admin_view(view), {"type": self.type}, name=f"nodes_{self.type}_{name}")
            for route, view, name in self.views
        ]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return access.may_see_photos(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return access.may_see_photos(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        # There is no page for adding a photo or file, because editors drop them onto the list.
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return access.may_change_photos(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class PhotoAdmin(FileAdmin):
    """The admin registration for photos."""

    type = PHOTO

    def get_urls(self) -> list[URLPattern]:
        views = (
            ("describe/", describing.describe, "describe"),
            ("stalled/", stalled.stalled, "stalled"),
        )
        admin_view = self.admin_site.admin_view
        own = [path(route, admin_view(view), name=f"nodes_photo_{name}") for route, view, name in views]
        return [*own, *super().get_urls()]

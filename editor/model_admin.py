"""The URLs of the content admin. The names of these URLs follow the pattern of Django's own admin pages."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, path

from editor import (
    choosing,
    drafts,
    editing,
    history,
    links,
    lists,
    operations,
    ordering,
    page_tree,
    presence,
    saved_filters,
    undo,
    working_copies,
    writing,
)
from nodes import converters  # noqa: F401 - registers <objectid:…>

PERMISSIONS = ("nodes.view_node", "nodes.add_node", "nodes.change_node", "nodes.publish_node")


class NodeAdmin(admin.ModelAdmin):
    """The admin registration for pages and posts. Its views are functions defined in this app."""

    def get_urls(self) -> list[URLPattern]:
        views = (
            ("", lists.changelist, "changelist"),
            ("tree/", page_tree.page_tree, "tree"),
            ("add/", editing.add, "add"),
            ("propose-slug/", writing.propose_slug, "propose_slug"),
            ("undo/", undo.undo, "undo"),
            ("show-typed/", writing.show_typed, "show_typed"),
            ("tags/", writing.complete_tags, "tags"),
            ("photos/", writing.pick_photos, "pick_photos"),
            ("keep-typed/", working_copies.keep_typed, "keep_typed"),
            ("choose/", choosing.choose, "choose"),
            ("targets/", choosing.list_targets, "targets"),
            ("typed/<objectid:copy_id>/", working_copies.show, "typed"),
            ("typed/<objectid:copy_id>/discard/", working_copies.discard, "discard_typed"),
            ("link-to/", writing.link_to, "link_to"),
            ("trash/", operations.trash_list, "trash"),
            ("filters/", saved_filters.saved, "filters"),
            ("broken-links/", links.broken_links, "broken_links"),
            ("<objectid:node_id>/change/", editing.change, "change"),
            ("<objectid:node_id>/move/", operations.move, "move"),
            ("<objectid:node_id>/order/", ordering.order, "order"),
            ("<objectid:node_id>/unpublish/", operations.unpublish, "unpublish"),
            ("<objectid:node_id>/duplicate/", operations.duplicate, "duplicate"),
            ("<objectid:node_id>/delete/", operations.move_to_trash, "delete"),
            ("<objectid:node_id>/restore/", operations.restore, "restore"),
            ("<objectid:node_id>/delete-for-good/", operations.delete, "delete_for_good"),
            ("<objectid:node_id>/history/", history.index, "history"),
            ("<objectid:node_id>/compare/", history.compare, "compare"),
            ("<objectid:node_id>/history/<objectid:nonce>/", history.restore, "restore_version"),
            ("<objectid:node_id>/publish/", drafts.publish, "publish"),
            ("<objectid:node_id>/discard/", drafts.discard, "discard"),
            ("<objectid:node_id>/schedule/", drafts.schedule, "schedule"),
            ("<objectid:node_id>/unschedule/", drafts.unschedule, "unschedule"),
            ("<objectid:node_id>/preview-frame/", drafts.preview_frame, "preview_frame"),
            ("<objectid:node_id>/preview/", drafts.preview, "preview"),
            ("<objectid:node_id>/preview-link/", drafts.preview_link, "preview_link"),
            ("<objectid:node_id>/presence/", presence.show, "presence"),
        )
        admin_view = self.admin_site.admin_view
        return [path(route, admin_view(view), name=f"nodes_node_{name}") for route, view, name in views]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return any(request.user.has_perm(permission) for permission in PERMISSIONS)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("nodes.change_node")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

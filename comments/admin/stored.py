"""Admin pages that show stored documents and convert discussions."""

from collections import Counter
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from marginalia.comments import targets
from marginalia.comments.admin.lists import CheckedList, CheckedLists
from marginalia.comments.backends import layout_classes
from marginalia.comments.errors import CommentError
from marginalia.comments.models.stored import StoredBucket, StoredComment, StoredDiscussion
from marginalia.comments.moderators import is_moderator
from marginalia.comments.operations import converting
from marginalia.comments.types import Order, Target


class Pages(Paginator):
    """A paginator that counts the rows of filtered lists, and estimates the number of rows of other lists."""

    @cached_property
    def count(self) -> int:
        """Return the number of rows, or MongoDB's estimate of this number if the list isn't filtered."""
        rows = self.object_list
        return int(rows.count() if rows.query.where else rows.estimated_total())


class StoredAdmin(CheckedLists, admin.ModelAdmin):
    """A read-only admin. Users need the view permission, which moderators don't have by default."""

    list_per_page = 50
    show_full_result_count = False
    paginator = Pages

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(self.has_view_permission(request))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Discussions(CheckedList):
    """A list of discussions that also looks up the discussed objects, with one query per model."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the rows of the current page.

        Set the `about` attribute of each row to the discussed object, or leave it None if readers can't see the object.
        """
        super().get_results(request)
        rows: list[StoredDiscussion] = self.result_list
        objects = targets.resolve_many(row.target for row in rows)
        for row in rows:
            row.about = objects.get(row.target)


@admin.register(StoredDiscussion)
class DiscussionAdmin(StoredAdmin):
    """A read-only admin list of discussions."""

    list_display = ("about", "layout", "order", "conversion", "state", "count", "newest")
    list_filter = ("layout", "order", "state")
    search_fields = ("id__exact",)
    search_help_text = gettext_lazy("Enter a discussion as app.model:key.")
    ordering = ("-newest",)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Find one discussion (app.model:key), or all discussions about objects of a model (app.model)."""
        term = search_term.strip()
        if not term:
            return queryset, False
        return queryset.filter(**({"id": Target.parse(term).id} if ":" in term else {"label": term})), False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the `ChangeList` class that also looks up the discussed objects."""
        return Discussions

    @admin.display(description=gettext_lazy("discussed object"), ordering="id")
    def about(self, row: StoredDiscussion) -> str:
        """Return the key of the discussed object, preceded by its title if readers can see the object."""
        key = format_html("<small>{}</small>", row.target)
        return format_html("{}<br>{}", row.about, key) if row.about else key

    @admin.display(description=gettext_lazy("conversion"), empty_value="")
    def conversion(self, row: StoredDiscussion) -> str | None:
        """Return a progress bar, or None if no conversion is in progress.

        A script in the admin updates the progress bar.
        """
        if row.moving is None:
            return None
        # `done` can exceed the count, because tombstones are also copied, but aren't counted.
        done = min(row.moving.done or 0, row.count)
        total = row.count
        text = _("to %(layout)s: %(done)d of %(total)d") % {"layout": row.moving.to, "done": done, "total": total}
        bar = '<span id="conversion-{}" data-live><progress value="{}" max="{}" aria-label="{}"></progress> {}</span>'
        return format_html(bar, row.pk, done, max(total, 1), text, text)

    @property
    def actions(self) -> list[Any]:
        """Return one conversion action for each combination of layout and order."""
        orders = (Order.OLDEST, Order.THREADED)
        return [_conversion_action(layout, order) for layout in layout_classes() for order in orders]

    def has_convert_permission(self, request: HttpRequest) -> bool:
        return is_moderator(request.user)


def _conversion_action(layout: str, order: Order) -> Any:
    """Return the admin action that converts the selected discussions."""

    @admin.action(
        permissions=["convert"],
        description=_("Convert to %(layout)s, %(order)s") % {"layout": layout, "order": order},
    )
    def convert(modeladmin: DiscussionAdmin, request: HttpRequest, queryset: QuerySet) -> None:
        counts: Counter[bool | None] = Counter()
        for row in queryset:
            try:
                counts[converting.convert(row.target, layout, order)] += 1
            except CommentError as error:
                modeladmin.message_user(request, str(error), messages.ERROR)
        if counts[True] or counts[None]:
            message = _("%(n)d discussions were converted. The others already had this layout and order.") % {
                "n": counts[True]
            }
            modeladmin.message_user(request, message, messages.SUCCESS)
        if counts[False]:
            message = ngettext(
                "%(n)d discussion is long. Its conversion continues in the background. The list shows its progress.",
                "%(n)d discussions are long. Their conversion continues in the background. The list "
                "shows their progress.",
                counts[False],
            )
            modeladmin.message_user(request, message % {"n": counts[False]})

    convert.__name__ = f"convert_to_{layout}_{order}"
    return convert


class InDiscussion(StoredAdmin):
    """An admin for documents that belong to discussions. Users can search for the documents of one discussion."""

    search_fields = ("discussion_id__exact",)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Find the documents of the discussion that the user entered as app.model:key."""
        term = search_term.strip()
        return queryset.filter(discussion_id=Target.parse(term).id) if term else queryset, False

    @admin.display(description=gettext_lazy("discussion"))
    def discussed(self, row: StoredComment | StoredBucket) -> str:
        return str(Target.from_id(row.discussion_id))


@admin.register(StoredComment)
class CommentAdmin(InDiscussion):
    """A read-only admin list of the comments that are stored in the documents layout."""

    list_display = ("slug", "discussed", "number", "written_by", "posted", "state", "rev", "epoch")
    search_help_text = gettext_lazy("Enter a discussion as app.model:key, or an author's key.")
    ordering = ("-id",)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Find comments by discussion or author, using an index.

        Django's own search can't use an index, because it converts each stored author key to text before comparing it.
        """
        term = search_term.strip()
        if not term or ":" in term:
            return super().get_search_results(request, queryset, term)
        return queryset.filter(author__key=term), False

    @admin.display(description=gettext_lazy("author"))
    def written_by(self, row: StoredComment) -> str:
        return row.author.name if row.author else ""


@admin.register(StoredBucket)
class BucketAdmin(InDiscussion):
    """A read-only admin list of the buckets in the buckets layout."""

    list_display = ("id", "discussed", "page", "count", "epoch")
    search_help_text = gettext_lazy("Enter a discussion as app.model:key.")
    ordering = ("-id",)

"""The stored documents in Django's admin: to look at, and to convert a discussion."""

from collections import Counter
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from marginalia.comments import targets
from marginalia.comments.admin.lists import CheckedList, CheckedLists
from marginalia.comments.backends import layout_classes
from marginalia.comments.errors import CommentError
from marginalia.comments.models.stored import StoredBucket, StoredComment, StoredDiscussion
from marginalia.comments.operations import converting
from marginalia.comments.posting.policy import is_moderator
from marginalia.comments.types import Order, Target


class Pages(Paginator):
    """Pages of a list that counts what a search or filter finds, and nothing else."""

    @cached_property
    def count(self) -> int:
        """How many rows there are; of a whole collection, what MongoDB estimates."""
        rows = self.object_list
        return int(rows.count() if rows.query.where else rows.estimated_total())


class StoredAdmin(CheckedLists, admin.ModelAdmin):
    """Who has the right to view it looks at it, which moderators need not; no form changes it."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list under the name of what is listed."""
        titled = {"title": capfirst(str(self.opts.verbose_name_plural)), **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, titled)
        return answer

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
    """A page of discussions with the objects that they are about, looked up together."""

    def get_results(self, request: HttpRequest) -> None:
        """Read the page; `about` of a row stays None where readers do not see the object."""
        super().get_results(request)
        rows: list[StoredDiscussion] = self.result_list
        objects = targets.resolve_many(row.target for row in rows)
        for row in rows:
            row.about = objects.get(row.target)


@admin.register(StoredDiscussion)
class DiscussionAdmin(StoredAdmin):
    list_display = ("about", "layout", "order", "conversion", "state", "count", "newest")
    list_filter = ("layout", "order", "state")
    search_fields = ("id__exact",)
    search_help_text = gettext_lazy("app.model:key of a discussion")
    ordering = ("-newest",)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Find one discussion by the name of what is discussed, or all of a label by that."""
        wanted = search_term.strip()
        if not wanted:
            return queryset, False
        return queryset.filter(**({"id": Target.parse(wanted).id} if ":" in wanted else {"label": wanted})), False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the list that knows what is discussed."""
        return Discussions

    @admin.display(description=gettext_lazy("discussed"), ordering="id")
    def about(self, row: StoredDiscussion) -> str:
        """What is discussed, by name where readers may see it, and by its key."""
        key = format_html("<small>{}</small>", row.target)
        return format_html("{}<br>{}", row.about, key) if row.about else key

    @admin.display(description=gettext_lazy("conversion"), empty_value="")
    def conversion(self, row: StoredDiscussion) -> str | None:
        """How far a conversion is that goes on; the admin's script fetches it anew."""
        if row.moving is None:
            return None
        # Tombstones are copied too, and not counted.
        done = min(row.moving.done or 0, row.count)
        total = row.count
        text = _("to %(layout)s: %(done)d of %(total)d") % {"layout": row.moving.to, "done": done, "total": total}
        bar = '<span id="conversion-{}" data-live><progress value="{}" max="{}" aria-label="{}"></progress> {}</span>'
        return format_html(bar, row.pk, done, max(total, 1), text, text)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """One action a layout and order, for those of them who moderate."""
        if not is_moderator(request.user):
            return {}
        return {
            f"convert_to_{layout}_{order}": (
                _converting(layout, order),
                f"convert_to_{layout}_{order}",
                _("Convert to %(layout)s, %(order)s") % {"layout": layout, "order": order},
            )
            for layout in layout_classes()
            for order in (Order.OLDEST, Order.THREADED)
        }


def _converting(layout: str, order: Order) -> Any:
    """Return the admin action that converts the chosen discussions."""

    def convert(modeladmin: DiscussionAdmin, request: HttpRequest, queryset: QuerySet) -> None:
        counted: Counter[bool | None] = Counter()
        for row in queryset:
            try:
                counted[converting.convert(row.target, layout, order)] += 1
            except CommentError as error:
                modeladmin.message_user(request, str(error), messages.ERROR)
        if counted[True] or counted[None]:
            told = _("%(n)d discussions were converted; the others were so already.") % {"n": counted[True]}
            modeladmin.message_user(request, told, messages.SUCCESS)
        if counted[False]:
            told = ngettext(
                "%(n)d is long, and goes on by itself: the list says how far it is.",
                "%(n)d are long, and go on by themselves: the list says how far they are.",
                counted[False],
            )
            modeladmin.message_user(request, told % {"n": counted[False]})

    return convert


class InDiscussion(StoredAdmin):
    """What lies in a discussion, by which it is found."""

    search_fields = ("discussion_id__exact",)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Find what lies in the discussion of a name, app.model:key."""
        wanted = search_term.strip()
        return queryset.filter(discussion_id=Target.parse(wanted).id) if wanted else queryset, False

    @admin.display(description=gettext_lazy("discussion"))
    def discussed(self, row: StoredComment | StoredBucket) -> str:
        return str(Target.of_id(row.discussion_id))


@admin.register(StoredComment)
class CommentAdmin(InDiscussion):
    list_display = ("slug", "discussed", "number", "written_by", "posted", "state", "rev", "epoch")
    search_help_text = gettext_lazy("app.model:key of a discussion, or the key of an author")
    ordering = ("-id",)

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        """Find a discussion's or an author's, each by its index: Django's own search would convert each author's key."""
        wanted = search_term.strip()
        if not wanted or ":" in wanted:
            return super().get_search_results(request, queryset, wanted)
        return queryset.filter(author__key=wanted), False

    @admin.display(description=gettext_lazy("author"))
    def written_by(self, row: StoredComment) -> str:
        return row.author.name if row.author else ""


@admin.register(StoredBucket)
class BucketAdmin(InDiscussion):
    list_display = ("id", "discussed", "page", "count", "epoch")
    search_help_text = gettext_lazy("app.model:key of a discussion")
    ordering = ("-id",)

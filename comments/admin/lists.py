"""Admin lists that can handle invalid filters and searches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bson.errors import BSONError
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst

from marginalia.comments.errors import CommentError
from marginalia.mongo.servers import is_outage

# Errors that are raised for invalid filters, such as invalid patterns, invalid ids, and numbers or dates that are out
# of range.
REFUSED = (DatabaseError, BSONError, CommentError, OverflowError, ValidationError, ValueError, TypeError)


class CheckedList(ChangeList):
    """A list that is shown without filters if MongoDB rejects a filter in its URL.

    Django itself handles invalid filters only if its fields reject them. Other invalid filters aren't detected until
    MongoDB reads the rows.
    """

    def get_queryset(self, request: HttpRequest, **kwargs: Any) -> QuerySet:
        """Return the matching rows.

        Raises:
            IncorrectLookupParameters: MongoDB rejects a filter. The admin then shows the whole list.
        """
        with self._checked():
            return super().get_queryset(request, **kwargs)

    def get_results(self, request: HttpRequest) -> None:
        """Read the rows of the current page.

        Raises:
            IncorrectLookupParameters: MongoDB rejects a filter.
        """
        with self._checked():
            super().get_results(request)
            # Read the rows now. If they were read later, while the template is rendered, an error couldn't be handled.
            self.result_list = list(self.result_list)  # type: ignore[has-type]

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except REFUSED as error:
            # If the URL contains no filters, something else caused the error.
            if is_outage(error) or not self.filter_params:
                raise
            raise IncorrectLookupParameters(str(error)) from error


class CheckedLists:
    """A mixin for admins whose list is a CheckedList, and has the name of the model as its title."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the list."""
        title = capfirst(str(self.opts.verbose_name_plural))  # type: ignore[attr-defined]
        context = {"title": title, **(extra_context or {})}
        return super().changelist_view(request, context)  # type: ignore[misc]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return CheckedList as the class of the list."""
        return CheckedList

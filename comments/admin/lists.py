"""Lists of the admin that handle filters and searches that the database refuses."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bson.errors import BSONError
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest

from marginalia.comments.errors import CommentError
from marginalia.mongo.servers import is_outage

# Raised by the database backend, BSON and the server for invalid patterns, wrong ids, and numbers or dates out of
# range.
REFUSED = (DatabaseError, BSONError, CommentError, OverflowError, ValidationError, ValueError, TypeError)


class CheckedList(ChangeList):
    """A list that is shown unfiltered if its URL has a filter that MongoDB refuses.

    Django only checks what its fields refuse. MongoDB refuses other filters when rows are read.
    """

    def get_queryset(self, request: HttpRequest, **kwargs: Any) -> QuerySet:
        """Return the matching rows. Raises IncorrectLookupParameters, after which the admin shows the whole list."""
        with self._checked():
            return super().get_queryset(request, **kwargs)

    def get_results(self, request: HttpRequest) -> None:
        """Read the page. Raises IncorrectLookupParameters, as get_queryset does."""
        with self._checked():
            super().get_results(request)
            # Read the rows now, because errors in a template could not be handled.
            self.result_list = list(self.result_list)  # type: ignore[has-type]

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except REFUSED as error:
            # Without a filter, the error has another cause.
            if is_outage(error) or not self.filter_params:
                raise
            raise IncorrectLookupParameters(str(error)) from error


class CheckedLists:
    """An admin whose list is a CheckedList."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the class of the list."""
        return CheckedList

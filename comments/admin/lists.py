"""Lists of the admin that survive filters and searches that the database refuses."""

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

# Raised by the backend, BSON and the server for broken patterns, wrong ids, and numbers or dates out of range.
REFUSED = (DatabaseError, BSONError, CommentError, OverflowError, ValidationError, ValueError, TypeError)


class CheckedList(ChangeList):
    """A list that is shown whole if its URL has a filter that MongoDB refuses.

    Django checks only what its fields refuse. MongoDB refuses the rest when rows are read.
    """

    def get_queryset(self, request: HttpRequest, **kwargs: Any) -> QuerySet:
        """Return the rows that are asked for. Raises IncorrectLookupParameters, after which the admin shows the whole list."""
        with self._checked():
            return super().get_queryset(request, **kwargs)

    def get_results(self, request: HttpRequest) -> None:
        """Read the page. Raises IncorrectLookupParameters, as get_queryset."""
        with self._checked():
            super().get_results(request)
            # Later, a template would read them.
            self.result_list = list(self.result_list)  # type: ignore[has-type]

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except REFUSED as error:
            # Without a filter the fault is another one: raise it.
            if is_outage(error) or not self.filter_params:
                raise
            raise IncorrectLookupParameters(str(error)) from error


class CheckedLists:
    """An admin whose list is a CheckedList."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """Return the class of the list."""
        return CheckedList

"""Models that the ORM and the admin read, and that only services write."""

from typing import Any, NoReturn

from django.db import models

from marginalia.mongo.connection import database


class WrittenByServices(TypeError):
    """A document was to be written through the ORM, past the rules that the services keep."""


class ReadOnlyQuerySet(models.QuerySet):
    """A queryset that reads; every method that would write refuses."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise WrittenByServices(f"{self.model.__name__} is written by services, never through the ORM.")

    create = get_or_create = update_or_create = bulk_create = bulk_update = update = delete = _refuse
    acreate = aget_or_create = aupdate_or_create = abulk_create = abulk_update = aupdate = adelete = _refuse

    def estimated_total(self) -> int:
        """Return how many documents the whole collection has, as MongoDB keeps the figure: a count reads each of them."""
        return database(self.db)[self.model._meta.db_table].estimated_document_count()


class ReadOnlyModel(models.Model):
    """Base of models written by services alone: a save would undo what a concurrent writer has changed."""

    objects = ReadOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise WrittenByServices(f"{type(self).__name__} is written by services, never by save().")

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise WrittenByServices(f"{type(self).__name__} is deleted by services, never by delete().")

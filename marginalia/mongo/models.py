"""Models that the ORM and the admin can read, but that only services can write."""

from typing import Any, NoReturn

from django.core.checks import CheckMessage
from django.db import models
from django_mongodb_backend.models import EmbeddedModel

from marginalia.mongo.connection import database


class WrittenByServices(TypeError):
    """Code tried to write a document through the ORM, which would bypass the services' rules."""


class ReadOnlyQuerySet(models.QuerySet):
    """A read-only queryset. Its methods for writing raise WrittenByServices."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise WrittenByServices(f"{self.model.__name__} is written by services, never through the ORM.")

    create = get_or_create = update_or_create = bulk_create = bulk_update = update = delete = _refuse
    acreate = aget_or_create = aupdate_or_create = abulk_create = abulk_update = aupdate = adelete = _refuse

    def estimated_total(self) -> int:
        """Return MongoDB's estimate of the number of documents. An exact count would read every document."""
        return database(self.db)[self.model._meta.db_table].estimated_document_count()


class ReadOnlyModel(models.Model):
    """Base class for models that only services write. Saving through the ORM would undo concurrent changes."""

    objects = ReadOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise WrittenByServices(f"{type(self).__name__} is written by services, never by save().")

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise WrittenByServices(f"{type(self).__name__} is deleted by services, never by delete().")


class KeyedEmbeddedModel(EmbeddedModel):
    """Base class for embedded models that declare a primary key, so that Django doesn't add another key."""

    class Meta:
        abstract = True

    @classmethod
    def check(cls, **kwargs: Any) -> list[CheckMessage]:
        """Return the messages of the checks, without the warning that embedded primary keys have no unique index."""
        # django-mongodb-backend has reported this warning since 6.1. Leave it out, because the values of these keys
        # don't have to be unique.
        return [found for found in super().check(**kwargs) if found.id != "mongodb.fields.embedded_model.W005"]

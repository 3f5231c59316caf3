"""Read-only Django models of the stored documents, for the ORM and the admin.

Queries also return comments in old copies of a discussion, and in copies that a conversion hasn't finished yet. Each
copy has a different `epoch`.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import EmbeddedModelField, ObjectIdAutoField
from django_mongodb_backend.managers import EmbeddedModelManager

from marginalia.comments import conf
from marginalia.comments.backends import layout_classes
from marginalia.comments.types import Kind, Order, State, Target
from marginalia.mongo.models import KeyedEmbeddedModel, ReadOnlyModel, ReadOnlyQuerySet


class StoredManager(models.Manager.from_queryset(ReadOnlyQuerySet)):  # type: ignore[misc]
    """A manager whose queries use the database COMMENTS["DATABASE"]."""

    def get_queryset(self) -> models.QuerySet:
        queryset: models.QuerySet = super().get_queryset().using(conf.database_alias())
        return queryset


class Stored(ReadOnlyModel):
    """Abstract base of the read-only models of stored comments."""

    objects = StoredManager()

    class Meta:
        abstract = True


class StoredAuthor(KeyedEmbeddedModel):
    """The author of a stored comment. The model has no field for the email address."""

    # The account, or None for authors without an account. This field is the primary key only so that Django doesn't add
    # another field as the key.
    key = models.CharField(primary_key=True, max_length=200, db_column="id")
    name = models.CharField(max_length=200)
    url = models.CharField(max_length=2_000, blank=True)

    objects = EmbeddedModelManager()

    class Meta:
        managed = False

    def __str__(self) -> str:
        return self.name


class StoredMoving(KeyedEmbeddedModel):
    """A conversion in progress: the new layout and the number of comments copied so far."""

    # This field is the primary key only so that Django doesn't add another field as the key.
    to = models.CharField(primary_key=True, max_length=20)
    done = models.BigIntegerField(null=True)

    objects = EmbeddedModelManager()

    class Meta:
        managed = False

    def __str__(self) -> str:
        return self.to


def _layouts() -> list[tuple[str, str]]:
    return [(name, name) for name in layout_classes()]


class StoredDiscussion(Stored):
    """A stored discussion: its layout, order and counts."""

    id = models.CharField(primary_key=True, max_length=300, db_column="_id")
    label = models.CharField(max_length=200)
    # In stored documents, the layout is called "schema", as in MongoDB's case study on storing comments.
    layout = models.CharField(_("layout"), max_length=20, choices=_layouts, db_column="schema")
    order = models.CharField(_("order"), max_length=20, choices=[(order.value, order.value) for order in Order])
    state = models.CharField(_("state"), max_length=20, choices=[("open", _("open")), ("closed", _("closed"))])
    count = models.BigIntegerField(_("comments"))
    last_number = models.BigIntegerField(_("last number"))
    newest = models.DateTimeField(_("newest comment"))
    epoch = models.BigIntegerField(_("epoch"))
    moving = EmbeddedModelField(StoredMoving, null=True)
    # The discussed object, once the admin list has looked it up.
    about: models.Model | None = None

    class Meta:
        managed = False
        db_table = "discussions"
        default_permissions = ("view",)
        verbose_name = _("discussion")
        verbose_name_plural = _("discussions")

    def __str__(self) -> str:
        return str(self.target)

    @property
    def target(self) -> Target:
        """Return the target of the discussion."""
        return Target.from_id(self.pk)


class StoredComment(Stored):
    """A comment that is stored in a document of its own (the documents layout)."""

    id = ObjectIdAutoField(primary_key=True, db_column="_id")
    discussion_id = models.CharField(_("discussion"), max_length=300)
    slug = models.CharField(max_length=200)
    number = models.BigIntegerField(_("number"))
    posted = models.DateTimeField(_("posted"))
    author = EmbeddedModelField(StoredAuthor)
    source = models.TextField(_("text"))
    kind = models.CharField(_("kind"), max_length=20, choices=[(kind.value, kind.value) for kind in Kind])
    state = models.CharField(_("state"), max_length=20, choices=[(state.value, state.value) for state in State])
    rev = models.IntegerField(_("revision"))
    edited = models.DateTimeField(_("edited"), null=True)
    epoch = models.BigIntegerField(_("epoch"))

    class Meta:
        managed = False
        db_table = "comments"
        default_permissions = ("view",)
        verbose_name = _("comment (one document each)")
        verbose_name_plural = _("comments (one document each)")

    def __str__(self) -> str:
        return self.slug


class StoredBucket(Stored):
    """A bucket, without its comments."""

    id = ObjectIdAutoField(primary_key=True, db_column="_id")
    discussion_id = models.CharField(_("discussion"), max_length=300)
    # In chronological buckets, the number of the bucket. In threaded buckets, the lowest full slug that the bucket can
    # contain.
    page = models.JSONField(_("page"))
    count = models.IntegerField(_("comments"))
    epoch = models.BigIntegerField(_("epoch"))

    class Meta:
        managed = False
        db_table = "comment_pages"
        default_permissions = ("view",)
        verbose_name = _("bucket")
        verbose_name_plural = _("buckets")

    def __str__(self) -> str:
        return f"{Target.from_id(self.discussion_id)} {self.page}"

"""The models that Django needs: the permission of moderators. Comments are values (see `types`), not models."""

from django.db import models
from django.utils.translation import gettext_lazy as _

# Django looks for models here.
from marginalia.comments.models.stored import StoredAuthor, StoredBucket, StoredComment, StoredDiscussion

__all__ = ["Moderation", "StoredAuthor", "StoredBucket", "StoredComment", "StoredDiscussion"]


class Moderation(models.Model):
    """The moderation queue in the admin. It is never read or written through the ORM."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = [("can_moderate", "Can moderate comments")]
        verbose_name = _("comment")
        verbose_name_plural = _("comments")

    def __str__(self) -> str:
        return str(self.pk)

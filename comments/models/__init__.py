"""The Django models of the app: a model for the moderators' permission, and read-only models of stored documents."""

from django.db import models
from django.utils.translation import gettext_lazy as _

# Import the models here, because Django looks for models in this module.
from marginalia.comments.models.stored import StoredAuthor, StoredBucket, StoredComment, StoredDiscussion

__all__ = ["Moderation", "StoredAuthor", "StoredBucket", "StoredComment", "StoredDiscussion"]


class Moderation(models.Model):
    """A model that represents the moderation queue in the admin. It has no table, and is never queried."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = [("can_moderate", "Can moderate comments")]
        verbose_name = _("comment")
        verbose_name_plural = _("comments")

    def __str__(self) -> str:
        return str(self.pk)

"""What happens on this site when something happens in an app."""

from typing import Any

from bson import ObjectId
from django.dispatch import receiver

from comments.posting import services
from comments.types import Target
from nodes.kinds import PHOTO
from nodes.models import Node, Photo
from nodes.signals import node_deleted


@receiver(node_deleted)
def forget_discussion(*, node_id: ObjectId, type: str, **kwargs: Any) -> None:
    """Delete the discussion of a node or photo of this type that was deleted for good."""
    model = Photo if type == PHOTO else Node
    services.forget(Target(model._meta.label_lower, str(node_id)))

"""What goes with a photo that is deleted for good."""

from typing import Any

from bson import ObjectId
from django.dispatch import receiver

from nodes.content import PHOTO
from nodes.signals import node_deleted
from photos.assets import contents


@receiver(node_deleted)
def delete_contents(node_id: ObjectId, type: str, **kwargs: Any) -> None:
    """Delete the bytes and copies of a photo. One that stops half-way stays in the trash, and is deleted again from there."""
    if type == PHOTO:
        contents.delete_all(node_id)

"""Deletion of a photo's files when the photo is deleted permanently."""

from typing import Any

from bson import ObjectId
from django.dispatch import receiver

from nodes.content import PHOTO
from nodes.signals import node_deleted
from photos.assets import contents


@receiver(node_deleted)
def delete_contents(node_id: ObjectId, type: str, **kwargs: Any) -> None:
    """Delete a photo's files and copies. If this fails, the photo remains in the trash, and deletion can be retried."""
    if type == PHOTO:
        contents.delete_all(node_id)

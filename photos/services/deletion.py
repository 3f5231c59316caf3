"""Deletion of a photo's files when the photo is deleted permanently."""

from typing import Any

from bson import ObjectId
from django.dispatch import receiver

from nodes import content
from nodes.signals import node_deleted
from photos.assets import contents


@receiver(node_deleted)
def delete_contents(node_id: ObjectId, type: str, **kwargs: Any) -> None:
    """Delete the bytes of a photo or file, and its copies. If this fails, it remains in the trash for another attempt."""
    if content.get(type).is_file:
        contents.delete_all(node_id)

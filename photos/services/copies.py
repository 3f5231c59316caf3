"""The job that makes a photo's usual copies after the upload, so that the first readers don't have to wait."""

from typing import Any

from bson import ObjectId
from django.dispatch import receiver

from marginalia.tasks import Postponed, task
from nodes.errors import TooBusy
from nodes.selectors import stored_photos
from nodes.signals import node_saved
from photos import addresses
from photos.assets import contents, reader, renditions
from photos.assets.errors import BadPicture
from photos.assets.framing import WHOLE, Cut

COPIES = "photos.copies"
# The photo fields that determine which part of the file is visible.
CUT_FIELDS = frozenset({"detail.crop", "detail.rotation"})


def enqueue(photo_id: ObjectId, content_id: ObjectId, cut: Cut = WHOLE) -> None:
    """Queue the job that makes the copies of a file with this crop and rotation.

    If the job doesn't run, each copy is made on the first request for it.
    """
    make_copies.using(key=f"{COPIES}:{content_id}{cut}").enqueue(photo=str(photo_id), content=str(content_id))


@receiver(node_saved)
def enqueue_after_save(node_id: ObjectId, changed: frozenset[str], **_kwargs: Any) -> None:
    """If the crop or rotation of a photo was changed, queue the job that makes its copies."""
    photo = stored_photos.get(node_id) if CUT_FIELDS & changed else None
    if photo:
        enqueue(node_id, photo.metadata.content_id, addresses.cut(photo))


@task(stored_as=COPIES)
def make_copies(photo: str, content: str) -> None:
    """Make the missing copies that pages use.

    If the photo no longer uses the file with the id `content`, do nothing.
    """
    stored = stored_photos.get(ObjectId(photo))
    content_id = ObjectId(content)
    if stored is None or stored.metadata.content_id != content_id:
        return
    source = contents.find(stored.pk, content_id, stored.parent_id)
    detail = stored.metadata.detail
    if source is None:
        return
    for spec in renditions.usual_specs(detail.resolution, addresses.focal(stored), addresses.cut(stored)):
        try:
            renditions.get_or_make(source, detail.content_type, spec)
        except TooBusy as error:
            raise Postponed("waiting for other photos") from error
        except (BadPicture, reader.MissingChunk):
            # The file has since been replaced or damaged. The doctor reports damaged files.
            return

"""The job that makes the usual sizes of a photo after its upload, so that its first readers need not wait for them."""

from bson import ObjectId

from marginalia.mongo import jobs
from marginalia.mongo.jobs import Job
from nodes.errors import TooBusy
from nodes.selectors import stored_photos
from photos import addresses
from photos.assets import contents, reader, renditions
from photos.assets.errors import BadPicture
from photos.assets.framing import WHOLE, Cut

COPIES = "photos.copies"


def put(photo_id: ObjectId, content_id: ObjectId, cut: Cut = WHOLE) -> None:
    """Have the worker make the copies of what is shown of a content. Without it they are made when first asked for."""
    jobs.put(COPIES, {"photo": photo_id, "content": content_id}, key=f"{COPIES}:{content_id}{cut}")


@jobs.handler(COPIES)
def make(job: Job) -> None:
    """Make the copies that pages show, those that are made already passed over; none of what is not shown any more."""
    photo = stored_photos.get(job.payload["photo"])
    content_id = job.payload["content"]
    if photo is None or photo.metadata.content_id != content_id:
        return
    source = contents.find(photo.pk, content_id, photo.parent_id)
    detail = photo.metadata.detail
    if source is None:
        return
    for spec in renditions.usual(detail.resolution, addresses.focal(photo), addresses.cut(photo)):
        try:
            renditions.get(source, detail.content_type, spec)
        except TooBusy as error:
            raise jobs.Postponed("other pictures take long") from error
        except (BadPicture, reader.Missing):
            # Replaced or damaged since; the doctor finds what is damaged.
            return
        if not jobs.keep(job):
            return

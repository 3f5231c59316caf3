"""The job that makes the usual copies of a photo after its upload, so that the first readers don't have to wait."""

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


def enqueue(photo_id: ObjectId, content_id: ObjectId, cut: Cut = WHOLE) -> None:
    """Queue the job that makes the copies of a content with this cut. Without the job, the first request makes each copy."""
    jobs.put(COPIES, {"photo": photo_id, "content": content_id}, key=f"{COPIES}:{content_id}{cut}")


@jobs.handler(COPIES)
def make_copies(job: Job) -> None:
    """Make the missing copies that pages use. Make none if the photo no longer shows the content."""
    photo = stored_photos.get(job.payload["photo"])
    content_id = job.payload["content"]
    if photo is None or photo.metadata.content_id != content_id:
        return
    source = contents.find(photo.pk, content_id, photo.parent_id)
    detail = photo.metadata.detail
    if source is None:
        return
    for spec in renditions.usual_specs(detail.resolution, addresses.focal(photo), addresses.cut(photo)):
        try:
            renditions.get_or_make(source, detail.content_type, spec)
        except TooBusy as error:
            raise jobs.Postponed("other pictures take long") from error
        except (BadPicture, reader.MissingChunk):
            # The content was replaced or damaged since. The doctor reports damaged files.
            return
        if not jobs.keep(job):
            return

"""Create photos for tests, with the same services that editors use."""

import io
from typing import Any

from bson import ObjectId
from PIL import Image

from cms.testing.build import EDITOR, PAST
from photos.services import photos


def jpeg(width: int = 640, height: int = 480) -> bytes:
    """Return a JPEG file with a colour gradient. Width and height are in pixels."""
    target = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).convert("RGB").save(target, "JPEG")
    return target.getvalue()


def upload(
    parent: ObjectId, data: bytes | None = None, name: str = "lake.jpg", step: int = 50_000, **options: Any
) -> ObjectId:
    """Upload a photo to a section, such as a gallery, in chunks of `step` bytes. Return the photo's id.

    By default, the photo is a small JPEG that was published long ago.
    """
    fields = {"published": PAST, "detail.alt": "A lake", **options.pop("fields", {})}
    photo_upload = photos.Upload(EDITOR, parent, name, fields=fields, **options)
    send(photo_upload, data or jpeg(), step)
    return photo_upload.finish().id


def send(photo_upload: Any, data: bytes, step: int = 50_000) -> None:
    """Feed data to an upload or a replacement, in chunks of `step` bytes."""
    for start in range(0, len(data), step):
        photo_upload.feed(data[start : start + step])

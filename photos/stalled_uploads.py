"""The list of stalled uploads, for the editors who have to upload the files again."""

from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES
from nodes.selectors.lists import COUNTED
from photos.assets.locks import stale_filter


@dataclass(frozen=True)
class StalledUpload:
    """An upload whose process died or whose connection was lost."""

    filename: str
    gallery_id: ObjectId | None
    locked: datetime


def list_stalled(moment: datetime) -> list[StalledUpload]:
    """Return up to COUNTED uploads that had stalled at `moment`, oldest first."""
    fields = {"filename": 1, "metadata.parent_id": 1, "metadata.locked": 1}
    documents = database()[ASSET_FILES].find(stale_filter(moment), fields).sort("metadata.locked", 1).limit(COUNTED)
    return [
        StalledUpload(document["filename"], document["metadata"]["parent_id"], document["metadata"]["locked"])
        for document in documents
    ]

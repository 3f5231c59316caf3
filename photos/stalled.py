"""Uploads that stopped, for editors: what is to be sent again."""

from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES
from nodes.selectors.lists import COUNTED
from photos.assets.locks import stale


@dataclass(frozen=True)
class Stalled:
    """An upload that stopped: whose process died, or whose connection was cut."""

    filename: str
    gallery_id: ObjectId | None
    locked: datetime


def stalled(moment: datetime) -> list[Stalled]:
    """Return the uploads of photos that stopped, the oldest first; at most COUNTED."""
    fields = {"filename": 1, "metadata.parent_id": 1, "metadata.locked": 1}
    found = database()[ASSET_FILES].find(stale(moment), fields).sort("metadata.locked", 1).limit(COUNTED)
    return [Stalled(d["filename"], d["metadata"]["parent_id"], d["metadata"]["locked"]) for d in found]

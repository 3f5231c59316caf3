"""The change stream of MongoDB, as the API's list of changes and the CDN's purger read it."""

from marginalia.comments.backends import VERSIONS
from marginalia.mongo.connection import Document
from nodes.collections import ASSET_FILES, NODES, SITE, TRASH
from nodes.selectors.falling_due import SHOWN_BY

DISCUSSIONS = VERSIONS[0]
_WATCHED = (NODES, ASSET_FILES, TRASH, SITE, DISCUSSIONS)
# After these a collection is not what it was, whatever was told of it.
ENDS = ("drop", "rename", "dropDatabase", "invalidate")
_UPDATED = {"$ifNull": ["$updateDescription.updatedFields", {}]}
_UPDATED_NONCE = {"$getField": {"field": {"$literal": "metadata.nonce"}, "input": _UPDATED}}
# Never a text: an event is as small as what it tells.
PIPELINE: list[Document] = [
    {"$match": {"$or": [{"ns.coll": {"$in": list(_WATCHED)}}, {"operationType": {"$in": list(ENDS)}}]}},
    {
        "$project": {
            "operationType": 1,
            "ns.coll": 1,
            "documentKey._id": 1,
            "fields": {
                "$concatArrays": [
                    {"$map": {"input": {"$objectToArray": _UPDATED}, "in": "$$this.k"}},
                    {"$ifNull": ["$updateDescription.removedFields", []]},
                ]
            },
            "nonce": {"$ifNull": ["$fullDocument.metadata.nonce", _UPDATED_NONCE]},
            "metadata": {name: f"$fullDocument.metadata.{name}" for name in SHOWN_BY},
            "due": "$updateDescription.updatedFields.draft.due",
        }
    },
]
# InvalidResumeToken, ChangeStreamFatalError, ChangeStreamHistoryLost: src/mongo/base/error_codes.yml
LOST = frozenset({260, 280, 286})

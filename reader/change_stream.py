"""The change stream of MongoDB that the API's list of changes and the purger of the CDN read."""

from marginalia.comments.backends import VERSIONS
from marginalia.mongo.connection import Document
from nodes.collections import ASSET_FILES, NODES, SITE, TRASH
from nodes.selectors.falling_due import SHOWN_BY

DISCUSSIONS = VERSIONS[0]
_WATCHED = (NODES, ASSET_FILES, TRASH, SITE, DISCUSSIONS)
# Operations that end a collection, so that earlier events no longer describe it.
ENDING_OPERATIONS = ("drop", "rename", "dropDatabase", "invalidate")
_UPDATED = {"$ifNull": ["$updateDescription.updatedFields", {}]}
_UPDATED_NONCE = {"$getField": {"field": {"$literal": "metadata.nonce"}, "input": _UPDATED}}
# Events contain no texts, so they stay small.
PIPELINE: list[Document] = [
    {"$match": {"$or": [{"ns.coll": {"$in": list(_WATCHED)}}, {"operationType": {"$in": list(ENDING_OPERATIONS)}}]}},
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
# Error codes that mean that the stream cannot resume: InvalidResumeToken, ChangeStreamFatalError and ChangeStreamHistoryLost
# (src/mongo/base/error_codes.yml).
CANNOT_RESUME = frozenset({260, 280, 286})

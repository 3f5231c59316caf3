"""The API's MongoDB collections: tokens, stored responses, changes, resumable uploads, and embedded pages."""

from django.conf import settings

from marginalia.mongo.collections import Collection, Index, ShardKey, least_id
from marginalia.mongo.schemas import BOOLEAN, BYTES, DATE, ID, INTEGER, TEXT, array_of, document, optional

TOKENS = "api.tokens"
RESPONSES = "api.answers"
CHANGES = "cms.changes"
EMBEDDED_PAGES = "api.embedded_pages"
DAY = 24 * 60 * 60
# Responses are stored for two days. If a client repeats a request with the same key within one day, it gets the stored
# response. The second day allows for differences between clocks.
RESPONSE_LIFETIME_SECONDS = 2 * DAY
UPLOADS, PARTS = "api.uploads", "api.upload_parts"
# An unfinished upload can be resumed for a day. MongoDB deletes the upload an hour later, so that running requests
# don't lose parts.
_EXPIRY = Index("kept_for_a_day", (("begun", 1),), expire_after_seconds=DAY + 60 * 60)

STATIC = (
    Collection(
        TOKENS,
        (
            Index("by_hash", (("hash", 1),), unique=True),
            Index("by_owner", (("owner_id", 1), ("created", -1), ("_id", -1))),
            Index("by_time", (("created", -1), ("_id", -1))),
        ),
        validator=document(
            {
                **dict.fromkeys(("hash", "name", "owner"), TEXT),
                "owner_id": ID,
                "scopes": array_of(TEXT),
                "created": DATE,
                **dict.fromkeys(("expires", "used", "revoked"), optional(DATE)),
            }
        ),
        unsharded_because="Small: a few per account.",
    ),
    Collection(
        RESPONSES,
        (Index("kept_for_two_days", (("created", 1),), expire_after_seconds=RESPONSE_LIFETIME_SECONDS),),
        validator=document({"_id": ID, "asked": TEXT, "created": DATE}),
        unsharded_because="Small and short-lived: responses to writing clients.",
    ),
    Collection(
        UPLOADS,
        (Index("by_slot", (("owner_id", 1), ("slot", 1)), unique=True), _EXPIRY),
        validator=document({"owner_id": ID, "slot": INTEGER, "length": INTEGER, "said": document({}), "begun": DATE}),
        unsharded_because="Small and short-lived: a few per account.",
    ),
    Collection(
        PARTS,
        (Index("by_upload", (("upload_id", 1), ("n", 1)), unique=True), _EXPIRY),
        shard_key=ShardKey(
            (("upload_id", 1), ("n", 1)), unique=True, reason="An upload is read in order.", least=least_id
        ),
        validator=document({"upload_id": ID, "n": INTEGER, "data": BYTES, "begun": DATE}),
    ),
    Collection(
        EMBEDDED_PAGES,
        validator=document({"_id": TEXT, "address": TEXT, "title": TEXT, "created": DATE}),
        unsharded_because="Small: one document for each page of another site with comments.",
    ),
)


def collections() -> tuple[Collection, ...]:
    """Return the declarations of the API's collections. Changes are stored for API["CHANGES_DAYS"] days."""
    changes = Collection(
        CHANGES,
        (
            Index("by_key", (("key", 1),), unique=True),
            Index("public_by_shown", (("public", 1), ("shown", 1))),
            # MongoDB deletes the entries whose `marked` time is too old. While the relay is running, it updates this
            # time in the last entry, so the last entry is never deleted.
            Index("horizon", (("marked", 1),), expire_after_seconds=settings.API["CHANGES_DAYS"] * DAY),
        ),
        validator=document(
            {
                **dict.fromkeys(("_id", "shown"), INTEGER),
                **dict.fromkeys(("key", "kind", "id"), TEXT),
                "resume": optional(document({})),
                "nonce": optional(ID),
                "public": BOOLEAN,
                **dict.fromkeys(("until", "at", "marked"), DATE),
            }
        ),
        unsharded_because="Ordered: each entry has the next number.",
    )
    return (*STATIC, changes)

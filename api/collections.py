"""What the API keeps: its tokens, and what was answered under an Idempotency-Key."""

from mongo.collections import Collection, Index
from mongo.schemas import DATE, ID, TEXT, document, listed, optional

TOKENS, ANSWERS = "api.tokens", "api.answers"
# A request that is sent again with its key within a day gets what it got; a day more for clocks that differ.
ANSWERS_KEPT_SECONDS = 2 * 24 * 60 * 60

COLLECTIONS = (
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
                "scopes": listed(TEXT),
                "created": DATE,
                **dict.fromkeys(("expires", "used", "revoked"), optional(DATE)),
            }
        ),
        unsharded_because="Small: a few for each account.",
    ),
    Collection(
        ANSWERS,
        (Index("kept_for_two_days", (("created", 1),), expire_after_seconds=ANSWERS_KEPT_SECONDS),),
        validator=document({"_id": ID, "asked": TEXT, "created": DATE}),
        unsharded_because="Small, and short-lived: what programs that write were answered.",
    ),
)

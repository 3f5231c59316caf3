"""What the API keeps: its tokens."""

from mongo.collections import Collection, Index
from mongo.schemas import DATE, ID, TEXT, document, listed, optional

TOKENS = "api.tokens"

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
)

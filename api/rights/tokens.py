"""API tokens. They are created in the admin, and are shown only once.

Only a hash of each token is stored, so people who can read the database can't use the tokens.
"""

import hashlib
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from bson import ObjectId

from api.collections import TOKENS
from api.rights.scopes import Scope
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.mongo.reading import Malformed, read_document, read_documents

# The prefix of all tokens, which lets code scanners recognize them.
PREFIX = "mrg_"
# Number of random bytes per token. Because tokens can't be guessed, a fast hash is sufficient.
RANDOM_BYTES = 32
MAX_LENGTH = 200
# Precision of the stored time of a token's last use.
USE_PRECISION = timedelta(hours=1)
# Maximum number of expired and revoked tokens in a list.
MAX_ENDED = 200


@dataclass(frozen=True)
class Token:
    """A stored token.

    Attributes:
        used: The time of the last use, with a precision of one hour.
    """

    id: ObjectId
    name: str
    owner_id: ObjectId
    owner: str
    scopes: tuple[str, ...]
    created: datetime
    expires: datetime | None = None
    used: datetime | None = None
    revoked: datetime | None = None

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the token stored in `document`.

        Raises:
            Malformed: A value has the wrong type.
        """
        names = ("name", "owner_id", "owner", "created", "expires", "used", "revoked")
        values: dict[str, Any] = {name: document[name] for name in names}
        if not all(isinstance(values[name], datetime | None) for name in ("created", "expires", "used", "revoked")):
            raise Malformed("a time has another type")
        if not (isinstance(values["name"], str) and isinstance(values["owner"], str)):
            raise Malformed("name or owner has another type")
        return cls(id=document["_id"], scopes=tuple(document["scopes"]), **values)

    def is_valid(self, moment: datetime) -> bool:
        """Return whether the token is neither revoked nor expired at `moment`."""
        return self.revoked is None and (self.expires is None or moment < self.expires)


def create(user: Any, name: str, scopes: Collection[Scope], expires: datetime | None = None) -> tuple[Token, str]:
    """Store a new token for a user. Return the token and its secret, which can't be read again."""
    secret = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
    document = {
        "_id": ObjectId(),
        "hash": _hash(secret),
        "name": name,
        "owner_id": user.pk,
        "owner": user.get_username(),
        "scopes": sorted(scopes),
        "created": now(),
        "expires": expires,
        "used": None,
        "revoked": None,
    }
    database()[TOKENS].insert_one(document)
    return Token.from_document(document), secret


def find(secret: str, moment: datetime) -> Token | None:
    """Return the token that has this secret, or None if there is no such token or it isn't valid at `moment`."""
    if not secret.startswith(PREFIX) or len(secret) > MAX_LENGTH:
        return None
    document = database()[TOKENS].find_one({"hash": _hash(secret)}, {"hash": 0})
    token = read_document(TOKENS, document, Token.from_document)
    return token if token and token.is_valid(moment) else None


def record_use(token: Token, moment: datetime) -> None:
    """Record that a token was used, at most once per USE_PRECISION."""
    if token.used is None or moment - token.used >= USE_PRECISION:
        database()[TOKENS].update_one({"_id": token.id, "used": token.used}, {"$set": {"used": moment}})


def list_for(owner_id: ObjectId | None) -> list[Token]:
    """Return an account's tokens, or the tokens of all accounts if `owner_id` is None.

    All valid tokens come first, followed by up to MAX_ENDED expired and revoked tokens. Each group begins with the
    newest tokens.
    """
    owner = {} if owner_id is None else {"owner_id": owner_id}
    valid = {"revoked": None, "$or": [{"expires": None}, {"expires": {"$gt": now()}}]}
    # All valid tokens must be listed, so that users can revoke them. The number of other tokens is limited, because
    # these tokens are never deleted. MongoDB interprets a limit of 0 as no limit.
    documents = (
        document
        for query, limit in (({**owner, **valid}, 0), ({**owner, "$nor": [valid]}, MAX_ENDED))
        for document in database()[TOKENS].find(query, {"hash": 0}).sort([("created", -1), ("_id", -1)]).limit(limit)
    )
    return list(read_documents(TOKENS, documents, Token.from_document))


def revoke(token_id: ObjectId, owner_id: ObjectId | None) -> bool:
    """Revoke a token of the account `owner_id`, or of any account if `owner_id` is None.

    Return whether a token was revoked.
    """
    query = {"_id": token_id, "revoked": None} | ({} if owner_id is None else {"owner_id": owner_id})
    return bool(database()[TOKENS].update_one(query, {"$set": {"revoked": now()}}).modified_count)


def revoke_all(owner_id: ObjectId) -> int:
    """Revoke all of an account's tokens. Return the number of revoked tokens."""
    query = {"owner_id": owner_id, "revoked": None}
    return int(database()[TOKENS].update_many(query, {"$set": {"revoked": now()}}).modified_count)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

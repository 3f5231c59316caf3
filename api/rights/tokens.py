"""Tokens: made in the admin, shown once. What is stored is a hash, so that the database lets no reader of it in."""

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

# What a token begins with, so that scanners of code know one.
PREFIX = "mrg_"
# Of random bytes: what cannot be guessed needs no slow hash.
BYTES = 32
LONGEST = 200
# How exactly it is known when a token was last used.
USED_EVERY = timedelta(hours=1)
# Tokens of one list that have ended.
MOST = 200


@dataclass(frozen=True)
class Token:
    """A token as it is stored. `used`: when it was last used, within an hour."""

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
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the token that a stored document stands for."""
        names = ("name", "owner_id", "owner", "created", "expires", "used", "revoked")
        said: dict[str, Any] = {name: document[name] for name in names}
        if not all(isinstance(said[name], datetime | None) for name in ("created", "expires", "used", "revoked")):
            raise Malformed("a time has another type")
        if not (isinstance(said["name"], str) and isinstance(said["owner"], str)):
            raise Malformed("name or owner has another type")
        return cls(id=document["_id"], scopes=tuple(document["scopes"]), **said)

    def is_valid(self, moment: datetime) -> bool:
        """Return whether it opens anything at a moment."""
        return self.revoked is None and (self.expires is None or moment < self.expires)


def make(user: Any, name: str, scopes: Collection[Scope], expires: datetime | None = None) -> tuple[Token, str]:
    """Store a new token of a user; return it, and the secret that is shown now and never again."""
    secret = PREFIX + secrets.token_urlsafe(BYTES)
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
    return Token.of(document), secret


def find(secret: str, moment: datetime) -> Token | None:
    """Return the token with a secret; None if there is none that is valid at a moment."""
    if not secret.startswith(PREFIX) or len(secret) > LONGEST:
        return None
    document = database()[TOKENS].find_one({"hash": _hash(secret)}, {"hash": 0})
    token = read_document(TOKENS, document, Token.of)
    return token if token and token.is_valid(moment) else None


def note_use(token: Token, moment: datetime) -> None:
    """Store that a token was used, once in USED_EVERY."""
    if token.used is None or moment - token.used >= USED_EVERY:
        database()[TOKENS].update_one({"_id": token.id, "used": token.used}, {"$set": {"used": moment}})


def of_owner(owner_id: ObjectId | None) -> list[Token]:
    """Return the tokens of an account: all that are valid, then the newest MOST that are not, either the newest first; of all
    accounts for None."""
    wanted = {} if owner_id is None else {"owner_id": owner_id}
    valid = {"revoked": None, "$or": [{"expires": None}, {"expires": {"$gt": now()}}]}
    # What opens something is always there to be revoked; of the others no one removes any. A limit of 0 is none.
    found = (
        document
        for those, most in (({**wanted, **valid}, 0), ({**wanted, "$nor": [valid]}, MOST))
        for document in database()[TOKENS].find(those, {"hash": 0}).sort([("created", -1), ("_id", -1)]).limit(most)
    )
    return list(read_documents(TOKENS, found, Token.of))


def revoke(token_id: ObjectId, owner_id: ObjectId | None) -> bool:
    """End a token of an account, of any for None; return whether there was one to end."""
    wanted = {"_id": token_id, "revoked": None} | ({} if owner_id is None else {"owner_id": owner_id})
    return bool(database()[TOKENS].update_one(wanted, {"$set": {"revoked": now()}}).modified_count)


def revoke_all(owner_id: ObjectId) -> int:
    """End all tokens of an account; return how many."""
    wanted = {"owner_id": owner_id, "revoked": None}
    return int(database()[TOKENS].update_many(wanted, {"$set": {"revoked": now()}}).modified_count)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

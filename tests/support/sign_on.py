"""Tokens with which other sites log their readers in to embedded discussions."""

import time
from typing import Any

import jwt

SECRET = "a secret that both sites know, and no one else"


def token(key: Any = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    """Return a token for Bea. A claim that is None is left out."""
    known = {"aud": "marginalia", "exp": time.time() + 600, "sub": "7", "name": "Bea", **claims}
    return jwt.encode({name: value for name, value in known.items() if value is not None}, key, algorithm)

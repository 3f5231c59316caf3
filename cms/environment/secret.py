"""Secrets that the site generates itself."""

import contextlib
import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def load_or_create_secret(path: Path, *, size: int = 50) -> str:
    """Return the secret stored in `path`. The first call generates it from `size` random bytes, readable only by the owner.

    Raises ImproperlyConfigured if the file is empty.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(size))
        with contextlib.suppress(FileExistsError):  # another process was first, so its secret is used
            os.link(draft, path)
        draft.unlink()
    secret = path.read_text().strip()
    if not secret:
        raise ImproperlyConfigured(f"{path} is empty: delete it, and a new one is made.")
    return secret

"""Secrets that the site makes for itself."""

import contextlib
import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def kept_secret(path: Path, *, size: int = 50) -> str:
    """Return the secret kept in `path`, made of `size` random bytes at the first call, readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(size))
        with contextlib.suppress(FileExistsError):  # another process was first: its key holds
            os.link(draft, path)
        draft.unlink()
    secret = path.read_text().strip()
    if not secret:
        raise ImproperlyConfigured(f"{path} is empty: delete it, and a new one is made.")
    return secret

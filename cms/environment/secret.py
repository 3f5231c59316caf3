"""Secrets that the site generates itself."""

import contextlib
import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def load_or_create_secret(path: Path, *, size: int = 50) -> str:
    """Return the secret stored at `path`. If there is no file, create one that only its owner can read.

    Args:
        path: The file that contains the secret.
        size: The number of random bytes in a new secret.

    Raises:
        ImproperlyConfigured: The file is empty.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(size))
        with contextlib.suppress(FileExistsError):  # another process has created the file, so use its secret
            os.link(draft, path)
        draft.unlink()
    secret = path.read_text().strip()
    if not secret:
        raise ImproperlyConfigured(f"{path} is empty. Delete it, and a new key is generated.")
    return secret

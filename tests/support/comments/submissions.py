"""A submission, as spam rules receive it."""

from typing import Any

from marginalia.comments.posting.spam import Submission
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.types import Target

TARGET = Target("nodes.node", "0" * 24)


def submission(text: str = "Hello", **fields: Any) -> Submission:
    """Return a submission by a guest. `parent` and `nonce` belong to its token."""
    values = {
        "token": FormToken(TARGET.id, fields.pop("parent", ""), fields.pop("nonce", "n1"), 0),
        "name": "Ann",
        "email": "",
        "user": "",
        "source": text,
        "ip_hash": "a",
    }
    return Submission(**values | fields)

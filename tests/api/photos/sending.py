"""Requests that send pictures, and readers of their responses."""

import json
from typing import Any

from bson import ObjectId

from tests.support.nodes import pictures

# As the file is stored: without the location.
OTHER = pictures.encoded("PNG", pictures.image(seed=5), compress_level=0)


def send(asker: Any, method: str, path: str, data: bytes, kind: str = "image/png", **headers: str) -> Any:
    """Return the response to a request with a picture as its body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return asker.client.generic(method, f"/api/v1{path}", data, kind, headers=named)


def post(asker: Any, gallery: ObjectId, data: bytes = OTHER, more: str = "", **headers: str) -> Any:
    return send(asker, "POST", f"/photos?gallery={gallery}&filename=lake.png{more}", data, **headers)


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def problem(answer: Any) -> tuple[int, str]:
    """Return the status and the type of a problem."""
    said = json.loads(answer.content)
    assert (said["status"], answer["Content-Type"]) == (answer.status_code, "application/problem+json")
    return answer.status_code, said["type"].rpartition("#")[2]


def field(answer: Any) -> str:
    """Return the only field that a problem names."""
    [named] = json.loads(answer.content)["errors"]
    return named["field"]

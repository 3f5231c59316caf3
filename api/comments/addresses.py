"""Where discussions stand: the router, what their addresses and headers hold, and what is discussed there."""

from typing import Annotated

from django.db.models import Model
from django.http import HttpRequest
from django.utils.http import parse_etags
from ninja import Header, Path

import marginalia.comments.converters  # noqa: F401 the addresses name one of its converters
from api.comments.shapes import Slug
from api.http.once import HEADER
from api.http.routing import Router
from api.problems import Problem
from api.schemas.shapes import Id
from marginalia.comments import targets
from marginalia.comments.posting import forms
from marginalia.comments.types import Target
from nodes.models import Node, Photo

router = Router(tags=["Comments"])

ALL = "/nodes/{node_id}/comments"
ONE = ALL + "/{commentslug:slug}"
LABELS = tuple(model._meta.label_lower for model in (Node, Photo))

NodeId = Annotated[Id, Path()]
CommentSlug = Annotated[Slug, Path()]
Key = Annotated[
    str,
    Header(
        alias=HEADER,
        pattern="^[!-~]{1,255}$",
        examples=["0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b60"],
        description="Names what is meant: sent again with the same text, it posts nothing again. Of visitors: 16 characters.",
    ),
]
IfMatch = Annotated[
    str, Header(alias="If-Match", max_length=200, description="The ETag of the comment that was read, or its `rev`.")
]


def discussed(node_id: str) -> tuple[Target, Model]:
    """Return the target of a discussion and what it is about. Raises Problem (404) unless readers see that."""
    found = targets.resolve_many(Target(label, node_id) for label in LABELS)
    for target, obj in found.items():
        return target, obj
    raise Problem("not-found")


def seen_rev(request: HttpRequest) -> int:
    """Return the `rev` that If-Match names: what a change was made on.

    Raises Problem: 428 without the header, and for "*", which would overwrite what was not read; 412 for what names none.
    """
    header = request.headers.get("If-Match", "").strip()
    if not header or header == "*":
        raise Problem("if-match-needed")
    tags = parse_etags(header) or [header]
    rev = forms.revision(tags[0].removeprefix("W/").strip('"').partition(".")[0]) if len(tags) == 1 else 0
    if not rev:
        raise Problem("stale", "If-Match names no version of this.")
    return rev

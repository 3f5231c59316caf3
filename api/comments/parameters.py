"""Parts that the comment endpoints share: the router, parameters, and a function that loads the discussed node."""

from typing import Annotated

from django.db.models import Model
from django.http import HttpRequest
from django.utils.http import parse_etags
from ninja import Header, Path

import marginalia.comments.converters  # noqa: F401 registers the converter `commentslug`
from api.comments.shapes import Slug
from api.http.idempotency import HEADER
from api.http.routing import Router
from api.problems import Problem
from api.schemas.shapes import Id
from marginalia.comments import targets
from marginalia.comments.posting import forms
from marginalia.comments.types import Target
from nodes.models import Node, Photo

router = Router(tags=["Comments"])

COMMENTS_PATH = "/nodes/{node_id}/comments"
COMMENT_PATH = COMMENTS_PATH + "/{commentslug:slug}"
LABELS = tuple(model._meta.label_lower for model in (Node, Photo))

NodeId = Annotated[Id, Path()]
CommentSlug = Annotated[Slug, Path()]
Key = Annotated[
    str,
    Header(
        alias=HEADER,
        pattern="^[!-~]{1,255}$",
        examples=["0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b60"],
        description="Identifies the comment. Sending the same key and text again posts nothing. "
        "Required for visitors, at least 16 characters.",
    ),
]
IfMatch = Annotated[
    str, Header(alias="If-Match", max_length=200, description="The ETag of the comment that you read, or its `rev`.")
]


def load_target(node_id: str) -> tuple[Target, Model]:
    """Return the target of a discussion and the object that it refers to.

    Raises:
        Problem: 404 if readers can't see the object.
    """
    objects = targets.resolve_many(Target(label, node_id) for label in LABELS)
    for target, obj in objects.items():
        return target, obj
    raise Problem("not-found")


def if_match_rev(request: HttpRequest) -> int:
    """Return the `rev` in the If-Match header, which identifies the version that a change is based on.

    Raises:
        Problem: 428 if the header is missing or "*", because "*" would overwrite changes that the client has not read,
            412 if the header contains no `rev`.
    """
    header = request.headers.get("If-Match", "").strip()
    if not header or header == "*":
        raise Problem("if-match-needed")
    tags = parse_etags(header) or [header]
    rev = forms.parse_revision(tags[0].removeprefix("W/").strip('"').partition(".")[0]) if len(tags) == 1 else 0
    if not rev:
        raise Problem("stale", "If-Match doesn't match any version of this comment. Send its ETag or `rev`.")
    return rev

"""Parts that the comment endpoints share: the router, parameters, and a function that loads the discussed node."""

from typing import Annotated

from django.db.models import Model
from ninja import Header, Path

import marginalia.comments.converters  # noqa: F401 registers the converter `commentslug`
from api.http.routing import Router
from api.problems import Problem
from api.schemas.shapes import Id
from marginalia.comments import targets
from marginalia.comments.api.rejections import KEY_HEADER, KEY_PATTERN
from marginalia.comments.api.shapes import Slug
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
        alias=KEY_HEADER,
        pattern=KEY_PATTERN,
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

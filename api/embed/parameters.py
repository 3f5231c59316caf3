"""Parts that the endpoints share: the router, parameters, and functions that find the page and the sender."""

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query
from pydantic import Field

from api.comments.posting import sender_of
from api.embed import pages
from api.embed.pages import InvalidAddress, PageAddress
from api.http.routing import Router
from api.problems import Problem
from api.rights import principals
from api.rights.principals import SAFE_METHODS, Principal, Visitor
from api.schemas.shapes import Shape
from marginalia.comments.posting import tokens
from marginalia.comments.posting.services import Sender

OWN_HEADER = "Comments-Own"
# Longer lists aren't signed by this site, because a list contains at most MAX_SENT comments.
MAX_OWN = 4_000

Address = Annotated[str, Query(max_length=pages.MAX_ADDRESS, description="The page's URL, with its id as fragment.")]


class EmbedVisitor(Visitor):
    """Authentication that accepts visitors of registered sites, and ignores cookies."""

    def __call__(self, request: HttpRequest) -> Principal:
        if request.method not in SAFE_METHODS and not pages.is_registered(request.headers.get("Origin", "")):
            raise Problem("forbidden", "This site can't embed comments. Add its origin to EMBED_ORIGINS.")
        return super().__call__(request)


# Don't add this site's sessions, because scripts on other sites must not act with them.
EMBED_AUTH: list[Any] = [EmbedVisitor()]
OPTIONS: dict[str, Any] = {"auth": EMBED_AUTH, "include_in_schema": False}

router = Router(tags=["Embedded discussions"])


class PageShape(Shape):
    """A body with the address of the page."""

    page: str = Field(max_length=pages.MAX_ADDRESS)


def parse_address(text: str, field: str = "query.page") -> PageAddress:
    """Return the address of a page.

    Raises:
        Problem: 422 if the address is invalid, or its site isn't registered.
    """
    try:
        return PageAddress.parse(text)
    except InvalidAddress as error:
        raise Problem("invalid", errors=[(field, str(error))]) from error


def embed_sender(request: HttpRequest) -> Sender:
    """Return the sender of a request, with the comments in its header Comments-Own."""
    own = request.headers.get(OWN_HEADER, "")
    sender = sender_of(request, principals.current(request))
    return Sender(sender.request, tokens.read_sent(own) if len(own) <= MAX_OWN else ())

"""Parts that the endpoints share: the router, parameters, and functions that find the page and the sender."""

from typing import Annotated, Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query
from ninja.security import HttpBearer
from pydantic import Field

from api.comments.posting import sender_of
from api.embed import pages, sign_on
from api.embed.pages import InvalidAddress, PageAddress
from api.embed.sign_on import InvalidToken
from api.http.routing import Router
from api.problems import Problem
from api.rights import limits, principals
from api.rights.principals import SAFE_METHODS, Principal, Visitor
from api.schemas.shapes import Shape
from marginalia.comments.api import writing
from marginalia.comments.posting.services import Sender

Address = Annotated[str, Query(max_length=pages.MAX_ADDRESS, description="The page's URL, with its id as fragment.")]


def _check_origin(request: HttpRequest) -> None:
    """Raise a problem if a page of an unregistered site tries to change something.

    Raises:
        Problem: 403 if the site isn't registered.
    """
    if request.method not in SAFE_METHODS and not pages.is_registered(request.headers.get("Origin", "")):
        raise Problem("forbidden", "This site can't embed comments. Add its origin to EMBED_ORIGINS.")


class SignOn(HttpBearer):
    """Authentication with a token that another site has signed for its reader."""

    def authenticate(self, request: HttpRequest, token: str) -> Principal:
        """Return the principal of the reader whom the token identifies.

        Raises:
            Problem: 401 if the token is not valid, 403 if the site isn't registered, 429 if the reader exceeds the
                rate limit.
        """
        _check_origin(request)
        try:
            user = sign_on.read(token)
        except InvalidToken as error:
            message = _("Your login has expired. Log in again, then reload the page. Your text is still here.")
            raise Problem("unauthorized", message) from error
        is_reading = request.method in SAFE_METHODS
        if not is_reading:
            limits.count(request, f"account:{user.pk}", is_reading=False)
        return Principal(user, is_reading=is_reading)


class EmbedVisitor(Visitor):
    """Authentication that accepts visitors of registered sites, and ignores cookies."""

    def __call__(self, request: HttpRequest) -> Principal:
        _check_origin(request)
        return super().__call__(request)


# Don't add this site's sessions, because scripts on other sites must not act with them.
EMBED_AUTH: list[Any] = [SignOn(), EmbedVisitor()]
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
    sender = sender_of(request, principals.current(request))
    return Sender(sender.request, writing.sent_comments(request))

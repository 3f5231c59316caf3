"""The signed cookies of a browser: the comments that were sent from it, and the id of its reader, who is a guest.

Browsers send these cookies only to URLs of comment views, so other pages can be cached for all readers.
"""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from marginalia.comments.posting import tokens
from marginalia.comments.posting.tokens import SentComment


def sent_comments(request: HttpRequest) -> tuple[SentComment, ...]:
    """Return the comments that the browser's cookie lists."""
    return tokens.read_sent(request.COOKIES.get(tokens.OWN_COOKIE, ""))


def remember(request: HttpRequest, response: HttpResponse, sent: SentComment) -> None:
    """Add a comment to the cookie that lists the comments that were sent."""
    entries = [sent, *(own for own in sent_comments(request) if own != sent)]
    _set(request, response, tokens.OWN_COOKIE, tokens.sign_sent(entries))


def guest(request: HttpRequest) -> str:
    """Return the signed id of the guest, or "" if the browser has none."""
    return request.COOKIES.get(tokens.GUEST_COOKIE, "")


def remember_guest(request: HttpRequest, response: HttpResponse, signed: str) -> None:
    """Store the signed id of a guest in the browser."""
    _set(request, response, tokens.GUEST_COOKIE, signed)


def _set(request: HttpRequest, response: HttpResponse, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        max_age=tokens.OWN_SECONDS,
        path=cookie_path(),
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def cookie_path() -> str:
    """Return the path prefix that the URLs of all comment views share."""
    return reverse("comments-post-comment").removesuffix("post")

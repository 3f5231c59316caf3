"""The cookie by which a browser knows the comments again that were sent from it."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from marginalia.comments.posting import tokens
from marginalia.comments.posting.tokens import Own


def own_of(request: HttpRequest) -> tuple[Own, ...]:
    """Return the comments that the browser says it sent."""
    return tokens.read_own(request.COOKIES.get(tokens.OWN_COOKIE, ""))


def remember(request: HttpRequest, response: HttpResponse, sent: Own) -> None:
    """Have the browser remember a comment as its own, in a cookie that goes to the URLs of comments alone."""
    response.set_cookie(
        tokens.OWN_COOKIE,
        tokens.signed_own([sent, *(own for own in own_of(request) if own != sent)]),
        max_age=tokens.OWN_SECONDS,
        path=cookie_path(),
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def cookie_path() -> str:
    """Return the path that all URLs of comments share."""
    return reverse("comments-post-comment").removesuffix("post")

"""The signed cookie that lists the comments that were sent from a browser."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from marginalia.comments.posting import tokens
from marginalia.comments.posting.tokens import SentComment


def sent_comments(request: HttpRequest) -> tuple[SentComment, ...]:
    """Return the comments that the browser's cookie lists."""
    return tokens.read_sent(request.COOKIES.get(tokens.OWN_COOKIE, ""))


def remember(request: HttpRequest, response: HttpResponse, sent: SentComment) -> None:
    """Add a comment to the cookie. Browsers send the cookie only to URLs of comment views."""
    response.set_cookie(
        tokens.OWN_COOKIE,
        tokens.sign_sent([sent, *(own for own in sent_comments(request) if own != sent)]),
        max_age=tokens.OWN_SECONDS,
        path=cookie_path(),
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def cookie_path() -> str:
    """Return the path prefix that the URLs of all comment views share."""
    return reverse("comments-post-comment").removesuffix("post")

"""The signed cookie that identifies the comments that were sent from a browser."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from marginalia.comments.posting import tokens
from marginalia.comments.posting.tokens import SentComment


def sent_comments(request: HttpRequest) -> tuple[SentComment, ...]:
    """Return the comments that the browser's cookie lists."""
    return tokens.read_sent(request.COOKIES.get(tokens.OWN_COOKIE, ""))


def remember(request: HttpRequest, response: HttpResponse, sent: SentComment) -> None:
    """Add a comment to the cookie, which browsers send only to comment URLs."""
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
    """Return the common path prefix of all comment URLs."""
    return reverse("comments-post-comment").removesuffix("post")

"""A spam rule that asks a service with Akismet's interface (https://akismet.com/developers/detailed-docs/).

To use it, add "marginalia.comments.posting.spam_service.SpamService" to COMMENTS["RULES"] and set
COMMENTS["SPAM_SERVICE"]. The service receives the text, name, email address and network address of each comment.
"""

import logging
from http.client import HTTPException
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

from django.utils.translation import get_language

from marginalia.comments import conf
from marginalia.comments.posting.spam import SpamHit, SpamRule, Submission
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, Target, Verdict
from marginalia.tasks import RETRIES_FOR_A_DAY, task

# How long a comment waits for the service, in seconds.
TIMEOUT = 2.0
# The answers to these requests are a few bytes.
_MAX_ANSWER = 1_000

# The service is called without a proxy, even if the environment configures one.
_opener = build_opener(ProxyHandler({}))

logger = logging.getLogger(__name__)


class ServiceFailed(Exception):
    """The service could not be reached, or didn't answer as expected."""


class SpamService(SpamRule):
    """The rule that holds comments that the service considers spam, and all comments while the service is down."""

    def check(self, submission: Submission) -> SpamHit | None:
        """Ask the service about a comment. It never refuses a comment."""
        try:
            answer = _send(
                "comment-check",
                user_ip=submission.address,
                user_agent=submission.user_agent,
                comment_author=submission.name,
                comment_author_email=submission.email,
                comment_content=submission.source,
            )
        except ServiceFailed as error:
            logger.warning("The spam service failed, so the comment is held: %s", error)
            return SpamHit("service: unavailable")
        return SpamHit("service: spam") if answer == "true" else None

    def learn(self, comment: Comment | HeldComment, verdict: Verdict) -> None:
        """Report an approved comment or spam to the service with a background task."""
        if verdict in (Verdict.APPROVED, Verdict.SPAM):
            key = f"spam-service:{comment.target}/{comment.slug}:{verdict}"
            report.using(key=key, backend=conf.get("TASKS")).enqueue(
                discussion=str(comment.target), slug=comment.slug, is_spam=verdict is Verdict.SPAM
            )


@task(stored_as="comments.report", retries=RETRIES_FOR_A_DAY)
def report(discussion: str, slug: str, is_spam: bool) -> None:
    """Report a moderator's decision about a queued comment to the service."""
    held = selectors.find_held(Target.parse(discussion), slug, verdict=None)
    if held is not None:
        _send(
            "submit-spam" if is_spam else "submit-ham",
            comment_author=held.author.name,
            comment_author_email=held.email,
            comment_content=held.source,
        )


def _send(action: str, **fields: str) -> str:
    """Send a request to the service, and return its answer.

    Raises:
        ServiceFailed: The service could not be reached, or didn't answer as expected.
    """
    options = {**conf.DEFAULTS["SPAM_SERVICE"], **conf.get("SPAM_SERVICE")}
    common = {"api_key": options["KEY"], "blog": options["SITE"], "comment_type": "comment"}
    data = urlencode({**common, "blog_lang": get_language() or "", **fields}).encode()
    request = Request(f"{options['URL'].rstrip('/')}/{action}", data, method="POST")  # noqa: S310 - set by the operator
    try:
        with _opener.open(request, timeout=TIMEOUT) as response:
            answer = str(response.read(_MAX_ANSWER).decode("utf-8", "replace").strip())
    except (OSError, HTTPException) as error:
        raise ServiceFailed(f"{action}: {error}") from error
    if action == "comment-check" and answer not in ("true", "false"):
        raise ServiceFailed(f"{action}: {answer[:100]!r}")
    return answer

"""Trust in writers, which decides whether their comments wait in discussions with the mode HOLD_FIRST.

A writer is identified by an account, or by the comments that were sent from the same browser before. Names and email
addresses prove nothing, because visitors can enter any name or address.
"""

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.posting import ip_hash
from marginalia.comments.posting.tokens import SentComment
from marginalia.comments.reading import selectors
from marginalia.mongo.clock import now

# How long a comment is remembered as spam, like the decisions in the queue and the keys of browsers.
SPAM_MEMORY = timedelta(days=30)


@dataclass(frozen=True)
class Trust:
    """The facts that decide whether a writer is trusted.

    Attributes:
        public: The number of public comments, counted up to `needed`.
        needed: The number of public comments after which writers are trusted.
        had_spam: Whether moderators have recently marked a comment by the writer as spam.
    """

    public: int
    needed: int
    had_spam: bool = False

    @property
    def is_trusted(self) -> bool:
        """Return whether comments by the writer appear immediately."""
        return self.public >= self.needed and not self.had_spam

    @property
    def reason(self) -> str:
        """The reason why a comment by the writer waits (comments.notices.reasons)."""
        return "policy: had-spam" if self.had_spam else f"policy: hold-first {self.public}/{self.needed}"


def trust_in(user_id: str, browser: str, sent: tuple[SentComment, ...], needed: int) -> Trust:
    """Return the trust in a writer, who is trusted after `needed` public comments.

    Spam takes the trust away for SPAM_MEMORY. The spam of a browser is found even if the browser sends an older cookie.

    Args:
        user_id: The primary key of the account, or "".
        browser: The key of the browser (`tokens.browser_key`).
        sent: The comments that were sent from the browser before, newest first.
        needed: The number of public comments after which writers are trusted. If it is 0, every writer is trusted.
    """
    if needed < 1:
        return Trust(0, needed)
    if user_id:
        public = len(selectors.by_author(user_id, limit=needed))
        had_spam = backend().has_spam_by(user_id, now() - SPAM_MEMORY)
        if public or had_spam:
            return Trust(public, needed, had_spam)
    public = sum(1 for _entry in islice(filter(_is_public, sent), needed))
    had_spam = bool(sent) and backend().has_spam_among(ip_hash.sent_from(browser))
    return Trust(public, needed, had_spam)


def _is_public(entry: SentComment) -> bool:
    try:
        return not selectors.get(entry.target, entry.slug).removed
    except CommentNotFound:
        return False

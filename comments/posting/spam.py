"""Spam rules, which check a comment before it is stored, or before its author changes it.

A rule can hold the comment, in which case moderators see the name of the rule. A rule can also refuse the comment, with
a friendly message for the author. A refused comment is not stored, but the form is shown again with its text.
COMMENTS["RULES"] lists the import paths of the rules. Rules that are fast should come first. A rule is a function, or a
class derived from SpamRule. Projects can add their own rules.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils.crypto import salted_hmac
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from marginalia.comments import conf, terms
from marginalia.comments.notices import reasons
from marginalia.comments.posting import bans, preparation
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.types import Comment, HeldComment, TermKind, Verdict
from marginalia.mongo import rate_limit

REPEAT_SECONDS = 24 * 60 * 60
# How many previews and likes are allowed for each comment that the rate limit allows.
PREVIEWS = LIKES = 10
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Submission:
    """The data about a comment that spam rules check.

    Attributes:
        user: The primary key of the account, or "".
        ip_hash: A keyed hash of the sender's network.
        trap: The content of the honeypot field.
        notify: The email address to which emails about replies are sent, or "".
        edited: The comment that is changed, or None for a new comment.
        address: The sender's IP address, which is never stored.
        user_agent: The name of the sender's browser, which is never stored.
        networks: Keyed hashes of the sender's networks that can be banned.
        own_email: The email address of the account, or the entered one, which is stored with an edited comment.
        extra: The values of the fields that a project's form adds.
    """

    token: FormToken
    name: str
    email: str
    user: str
    source: str
    ip_hash: str
    trap: str = ""
    notify: str = ""
    edited: Comment | HeldComment | None = None
    address: str = ""
    user_agent: str = ""
    networks: tuple[str, ...] = ()
    own_email: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @cached_property
    def html(self) -> str:
        """Return the text as HTML. It is rendered only if a rule needs it, and only once."""
        return preparation.render(self.source)

    @cached_property
    def terms(self) -> list[str]:
        """Return the terms that can be banned: those of the comment, and its networks."""
        networks = map(TermKind.NETWORK.term, self.networks)
        own = terms.of_comment(
            name=self.name, account=self.user, email=self.own_email, source=self.source, html=self.html, are_all=True
        )
        return [*networks, *own]

    @property
    def author_key(self) -> str:
        """Return a key that identifies the author: the account if there is one, and otherwise the entered name."""
        return f"user:{self.user}" if self.user else f"name:{self.name.casefold()}"


@dataclass(frozen=True)
class SpamHit:
    """The objection of a rule to a comment.

    Attributes:
        rule: The name of the rule.
        sentence: The message for the author if the comment is refused. If it is "", the comment is held.
    """

    rule: str
    sentence: str | Promise = ""

    @property
    def refuses(self) -> bool:
        """Return whether the comment is refused. Otherwise, it is held."""
        return bool(self.sentence)


class SpamRule:
    """Base class for rules that also learn from the decisions of moderators. Such a rule has a single instance."""

    def check(self, submission: Submission) -> SpamHit | None:
        """Return the rule's objection to a comment, or None."""
        raise NotImplementedError

    def learn(self, comment: Comment | HeldComment, verdict: Verdict) -> None:
        """React to a decision about a comment: APPROVED, SPAM or REJECTED, or WAITING if a decision was undone.

        A background task calls this method. If the task is repeated, it can receive the same decision again.
        """

    def learn_many(self, comments: Sequence[Comment | HeldComment], verdict: Verdict) -> None:
        """React to the same decision about several comments."""
        for comment in comments:
            self.learn(comment, verdict)

    def __call__(self, submission: Submission) -> SpamHit | None:
        return self.check(submission)


@dataclass
class Judgement:
    """The result of all rules: the objection that refuses the comment, or the names of the rules that hold it."""

    refused: SpamHit | None = None
    held_by: tuple[str, ...] = ()


def judge(submission: Submission) -> Judgement:
    """Apply the rules in order until one of them refuses the comment."""
    held: list[str] = []
    for hit in _hits(submission):
        if hit.refuses:
            return Judgement(refused=hit)
        held.append(hit.rule)
    return Judgement(held_by=tuple(held))


def learning_rules() -> list[SpamRule]:
    """Return the rules that learn from the decisions of moderators."""
    return [rule for rule in conf.load_all("RULES") if isinstance(rule, SpamRule)]


def _hits(submission: Submission) -> Iterator[SpamHit]:
    rules = (banned, *conf.load_all("RULES"))
    if submission.edited:
        # Changes always count toward the rate limit, whether or not `rate` is among the configured rules. The rules
        # `trap`, `speed` and `repeat` don't apply to changes, because they need data that edit forms don't contain.
        rules = (rate, *(rule for rule in rules if rule not in (trap, speed, rate, repeat)))
    for rule in rules:
        if hit := rule(submission):
            yield hit


def banned(submission: Submission) -> SpamHit | None:
    """Refuse a comment that a moderator has banned. This rule always applies, whether or not RULES contains it."""
    ban = bans.find(submission.terms)
    if ban is None:
        return None
    if ban.kind in bans.OF_CONTENT:
        return SpamHit("banned", _("This comment contains a link or words that aren't accepted here."))
    return SpamHit("banned", _("Comments from you aren't accepted here at the moment."))


def trap(submission: Submission) -> SpamHit | None:
    """Refuse a comment if the honeypot field is filled in."""
    if submission.trap:
        return SpamHit("trap", _("Leave the last field empty, then send your comment again."))
    return None


def speed(submission: Submission) -> SpamHit | None:
    """Refuse a comment that was sent faster than a person can type.

    The time is measured from when the form was first rendered for this comment.
    """
    if submission.token.age() < conf.get("MIN_SECONDS"):
        return SpamHit("speed", _("That was quick! Please check your comment, then send it again."))
    return None


def links(submission: Submission) -> SpamHit | None:
    """Hold a comment with more than MAX_LINKS links."""
    has_many = reasons.links_in(submission.html) > conf.get("MAX_LINKS")
    return SpamHit("links") if has_many else None


def words(submission: Submission) -> SpamHit | None:
    """Hold a comment if its text or its author's name contains one of the configured words, as a whole word."""
    listed = "|".join(re.escape(terms.fold(word)) for word in conf.get("WORDS") if terms.fold(word).strip())
    text = terms.fold(f"{submission.name}\n{submission.source}")
    matches = sorted(set(re.findall(rf"(?<!\w)(?:{listed})(?!\w)", text))) if listed else []
    return SpamHit(f"words: {', '.join(matches)}") if matches else None


def rate(submission: Submission) -> SpamHit | None:
    """Refuse a comment or a change if its network or its account has reached the rate limit."""
    if _count(_keys("rate", submission.ip_hash, submission.user), submission.token.nonce):
        return None
    return SpamHit(
        "rate",
        _(
            "You have sent or edited many comments in a short time. Please wait a few minutes, then send your "
            "comment again."
        ),
    )


def may_preview(*, ip_hash: str, user: str) -> bool:
    """Count a preview, and return whether the network and the account are within the limit.

    Previews have a limit of their own, because a form can request any number of previews before the comment is sent.

    Args:
        ip_hash: A keyed hash of the network.
        user: The primary key of the account, or "".
    """
    return _count(_keys("preview", ip_hash, user), preparation.new_token(), PREVIEWS)


def may_flag(*, ip_hash: str, user: str) -> bool:
    """Count a flag, and return whether the network and the account are within the limit.

    The arguments are the same as for `may_preview`.
    """
    return _count(_keys("flag", ip_hash, user), preparation.new_token())


def may_like(*, ip_hash: str, user: str) -> bool:
    """Count a like, and return whether the network and the account are within the limit.

    The arguments are the same as for `may_preview`.
    """
    return _count(_keys("like", ip_hash, user), preparation.new_token(), LIKES)


def count_slowly(submission: Submission, seconds: int) -> bool:
    """Count a comment in a slow discussion, and return whether the writer has waited `seconds` since the last one.

    If `seconds` is 0, nothing is counted.
    """
    return not seconds or rate_limit.allow(
        _slow_key(submission), limit=1, seconds=seconds, token=submission.token.nonce, alias=conf.database_alias()
    )


def repeat(submission: Submission) -> SpamHit | None:
    """Refuse text that the author has already posted in the same place.

    The author can post the same text in another discussion, or in reply to another comment.
    """
    if rate_limit.allow(
        _repeat_key(submission),
        limit=1,
        seconds=REPEAT_SECONDS,
        token=submission.token.nonce,
        alias=conf.database_alias(),
    ):
        return None
    return SpamHit("repeat", _("You have already posted this comment here."))


def uncount(submission: Submission, *, rate: bool = True, slow: bool = False) -> None:
    """Undo the counts for a comment or a change that was not stored, so that the author can send it again.

    Args:
        submission: The submitted data.
        rate: Whether to undo the count for the rate limit too. Use False if another comment has already been stored
            with the form, because the two comments were counted only once.
        slow: Whether the comment was counted in a slow discussion.
    """
    rates = _keys("rate", submission.ip_hash, submission.user) if rate else []
    waits = [_slow_key(submission)] if slow else []
    for key in (*rates, *waits, _repeat_key(submission)):
        rate_limit.refund(key, token=submission.token.nonce, alias=conf.database_alias())


def erase_counts(*, ip_hash: str = "", user: str = "") -> int:
    """Delete the rate-limit counts for a network (identified by its IP hash) or for an account.

    Return how many counts were deleted.
    """
    keys = [key for kind in ("rate", "preview", "flag", "like") for key in _keys(kind, ip_hash, user)]
    return sum(rate_limit.reset(key, alias=conf.database_alias()) for key in keys)


def _count(keys: list[str], token: str, times: int = 1) -> bool:
    limit, seconds = conf.get("RATE")
    alias = conf.database_alias()
    return all(rate_limit.allow(key, limit=limit * times, seconds=seconds, token=token, alias=alias) for key in keys)


def _keys(kind: str, ip_hash: str, user: str) -> list[str]:
    return [f"comments.{kind}:{owner}:{value}" for owner, value in (("ip_hash", ip_hash), ("user", user)) if value]


def _slow_key(submission: Submission) -> str:
    writer = f"user:{submission.user}" if submission.user else f"ip_hash:{submission.ip_hash}"
    return f"comments.slow:{submission.token.discussion}:{writer}"


def _repeat_key(submission: Submission) -> str:
    text = _SPACE.sub(" ", submission.source).strip().casefold()
    parts = (submission.token.discussion, submission.token.parent, submission.author_key, text)
    return "comments.repeat:" + salted_hmac("comments.repeat", "\x00".join(parts), algorithm="sha256").hexdigest()[:40]

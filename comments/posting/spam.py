"""Spam rules. Each looks at a comment before it is stored, or before its author changes it.

A rule can hold the comment, with a name for moderators, or refuse it, with a friendly sentence for the author. A
refused comment takes no place in the discussion, and the form is shown again with the text.
COMMENTS["RULES"] lists the rules by import path, the cheap ones first. A project can add its own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from django.utils.crypto import salted_hmac
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from marginalia.comments import conf
from marginalia.comments.notices import reasons
from marginalia.comments.posting import preparation
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.types import Comment, HeldComment
from marginalia.markup.characters import scrub
from marginalia.mongo import rate_limit

REPEAT_SECONDS = 24 * 60 * 60
# Previews allowed in the time of one comment, because authors use the preview often.
PREVIEWS = 10
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Submission:
    """What rules know about a comment.

    `ip_hash` is a keyed hash of the network. `trap` is the content of the field that people do not see. `notify` is
    the email address for notices of replies. `edited` is the comment to be changed, None for a new one.
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

    @cached_property
    def html(self) -> str:
        """Return the text as it would be stored. Rendered for the first rule that needs it."""
        return preparation.render(self.source)

    @property
    def author_key(self) -> str:
        """Return the key under which the author is counted: the account, or else the typed name."""
        return f"user:{self.user}" if self.user else f"name:{self.name.casefold()}"


@dataclass(frozen=True)
class SpamHit:
    """The objection of a rule.

    With a `sentence` for the author, the comment is refused. Without one, it waits for moderators.
    """

    rule: str
    sentence: str | Promise = ""

    @property
    def refuses(self) -> bool:
        """Return whether the comment is refused instead of held."""
        return bool(self.sentence)


@dataclass
class Judgement:
    """The result of all rules: the hit that refuses the comment, or the names of the rules that hold it."""

    refused: SpamHit | None = None
    held_by: tuple[str, ...] = ()


def judge(submission: Submission) -> Judgement:
    """Apply the rules in their order until one refuses the comment."""
    held: list[str] = []
    for hit in _hits(submission):
        if hit.refuses:
            return Judgement(refused=hit)
        held.append(hit.rule)
    return Judgement(held_by=tuple(held))


def _hits(submission: Submission) -> Iterator[SpamHit]:
    rules = conf.load_all("RULES")
    if submission.edited:
        # Changes always count toward the rate. The other rules left out here need data that the form of a change does
        # not have.
        rules = (rate, *(rule for rule in rules if rule not in (trap, speed, rate, repeat)))
    for rule in rules:
        if hit := rule(submission):
            yield hit


def trap(submission: Submission) -> SpamHit | None:
    """Refuse senders that fill in the field that people do not see."""
    if submission.trap:
        return SpamHit("trap", _("Please leave the last field empty, and send your comment again."))
    return None


def speed(submission: Submission) -> SpamHit | None:
    """Refuse a comment that was sent faster than people type. A second attempt counts from the first form."""
    if submission.token.age() < conf.get("MIN_SECONDS"):
        return SpamHit("speed", _("That was quick! Please read it through once more, then send it again."))
    return None


def links(submission: Submission) -> SpamHit | None:
    """Hold a comment with many links."""
    has_many = reasons.links_in(submission.html) > conf.get("MAX_LINKS")
    return SpamHit("links") if has_many else None


def words(submission: Submission) -> SpamHit | None:
    """Hold a comment that contains a listed word, as a whole word, in its text or name."""
    listed = "|".join(re.escape(word.casefold()) for word in conf.get("WORDS") if word.strip())
    text = scrub(f"{submission.name}\n{submission.source}").casefold()  # as readers will see it
    matches = sorted(set(re.findall(rf"(?<!\w)(?:{listed})(?!\w)", text))) if listed else []
    return SpamHit(f"words: {', '.join(matches)}") if matches else None


def rate(submission: Submission) -> SpamHit | None:
    """Refuse more comments and changes from one network or account than COMMENTS["RATE"] allows."""
    if _count(_keys("rate", submission.ip_hash, submission.user), submission.token.nonce):
        return None
    return SpamHit("rate", _("You have sent or changed many comments in a short time. Please wait a few minutes."))


def may_preview(*, ip_hash: str, user: str) -> bool:
    """Count a preview. Return whether the network (by its hash) and the account, or "", are within the limit.

    Each preview counts separately, because one form can request any number of previews.
    """
    return _count(_keys("preview", ip_hash, user), preparation.new_token(), PREVIEWS)


def may_flag(*, ip_hash: str, user: str) -> bool:
    """Count a flag. Return whether the network (by its hash) and the account, or "", are within the limit."""
    return _count(_keys("flag", ip_hash, user), preparation.new_token())


def repeat(submission: Submission) -> SpamHit | None:
    """Refuse the same text by the same author in reply to the same comment. Elsewhere it can be repeated."""
    if rate_limit.allow(
        _repeat_key(submission),
        limit=1,
        seconds=REPEAT_SECONDS,
        token=submission.token.nonce,
        alias=conf.database_alias(),
    ):
        return None
    return SpamHit("repeat", _("You have already said exactly this here."))


def uncount(submission: Submission, *, rate: bool = True) -> None:
    """Undo the counting of a comment or a change that was not stored and will be sent again.

    Without `rate`, keep the count of the rate: the form has stored another comment, which shares it.
    """
    rates = _keys("rate", submission.ip_hash, submission.user) if rate else []
    for key in (*rates, _repeat_key(submission)):
        rate_limit.refund(key, token=submission.token.nonce, alias=conf.database_alias())


def erase_counts(*, ip_hash: str = "", user: str = "") -> int:
    """Delete the counts of a network (by its hash) or an account. Return the number of deleted counts."""
    keys = [key for kind in ("rate", "preview", "flag") for key in _keys(kind, ip_hash, user)]
    return sum(rate_limit.reset(key, alias=conf.database_alias()) for key in keys)


def _count(keys: list[str], token: str, times: int = 1) -> bool:
    limit, seconds = conf.get("RATE")
    alias = conf.database_alias()
    return all(rate_limit.allow(key, limit=limit * times, seconds=seconds, token=token, alias=alias) for key in keys)


def _keys(kind: str, ip_hash: str, user: str) -> list[str]:
    return [f"comments.{kind}:{owner}:{value}" for owner, value in (("ip_hash", ip_hash), ("user", user)) if value]


def _repeat_key(submission: Submission) -> str:
    text = _SPACE.sub(" ", submission.source).strip().casefold()
    parts = (submission.token.discussion, submission.token.parent, submission.author_key, text)
    return "comments.repeat:" + salted_hmac("comments.repeat", "\x00".join(parts), algorithm="sha256").hexdigest()[:40]

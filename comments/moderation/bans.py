"""Actions on bans, used by the admin and the API: ban, lift a ban, and list bans.

`marginalia/comments/posting/bans.py` compares new comments with the bans.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.validators import DomainNameValidator, validate_email
from django.utils.translation import gettext as _

from marginalia.comments import accounts, terms
from marginalia.comments.backends import backend
from marginalia.comments.errors import InvalidBan
from marginalia.comments.posting import bans, forms, ip_hash, policy, preparation
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import Ban, Comment, HeldComment, TermKind
from marginalia.mongo.clock import now

# Every pattern is compared with every new comment, so their number is limited.
MAX_PATTERNS = 200
MAX_REASON = 500
# Later times can't be converted to other time zones.
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
# A comment can contain hundreds of links. At most this many terms are suggested, because their comments are counted.
MAX_SUGGESTED = 12
# A pattern needs a word with at least this many characters, because shorter words are in most comments.
MIN_WORD = 3
_check_domain = DomainNameValidator()


@dataclass(frozen=True)
class Term:
    """A kind of term and a checked value, for a ban or a preview of a ban."""

    kind: TermKind
    value: str

    def __str__(self) -> str:
        return self.kind.term(self.value)


def ban(sender: Sender, term: Term, *, reason: str = "", expires: datetime | None = None) -> Ban:
    """Ban the comments that contain a term. If the term is banned already, change the reason and the end of the ban.

    Raises:
        PermissionDenied: The sender is not a moderator.
        InvalidBan: The account is a moderator's, there are too many patterns already, or the ban would have ended.
    """
    by = check_moderator(sender)
    if expires is not None and not now() < expires < NEVER:
        sentence = _("This time is in the past or too far in the future. Leave it empty for a permanent ban.")
        raise InvalidBan(sentence, field="expires")
    if term.kind is TermKind.ACCOUNT and policy.is_moderator_key(term.value):
        raise InvalidBan(_("You can't ban a moderator."))
    if term.kind is TermKind.PATTERN and backend().bans.count_patterns() >= MAX_PATTERNS:
        raise InvalidBan(_("There can't be more than %(n)d banned patterns. Lift one first.") % {"n": MAX_PATTERNS})
    return backend().bans.add(term.kind, term.value, reason=reason[:MAX_REASON], by=by, expires=expires)


def lift(sender: Sender, ban_id: str) -> Ban | None:
    """Delete a ban, and return it, or None if it has already been lifted.

    Raises:
        PermissionDenied: The sender is not a moderator.
    """
    check_moderator(sender)
    return backend().bans.lift(ban_id)


def find(typed: str = "", *, limit: int, after: str = "") -> list[Ban]:
    """Return bans, newest first. For the arguments, see `Bans.find`."""
    return backend().bans.find(typed, limit=limit, after=after)


def check_moderator(sender: Sender) -> str:
    """Return the primary key of the moderator.

    Raises:
        PermissionDenied: The sender is not a moderator.
    """
    if not sender.is_moderator:
        raise PermissionDenied
    return forms.user_key(sender.request.user)


def parse(kind: str, typed: str) -> Term:
    """Return the term for a value that a moderator typed or chose.

    Raises:
        InvalidBan: The value is not valid for this kind.
    """
    if kind not in bans.KINDS:
        raise InvalidBan(_("Choose what to ban."))
    typed = preparation.one_line(typed)
    if not typed:
        raise InvalidBan(_("Enter what to ban."))
    return _PARSERS[TermKind(kind)](typed)


def _parse_account(typed: str) -> Term:
    """Return the term for a user name, or for the key of an account, which can be an account of another site."""
    model = get_user_model()
    # Look for the key first, so that no one can evade a ban with a user name that equals another account's key.
    user = accounts.find(typed) or model._default_manager.filter(**{model.USERNAME_FIELD: typed}).first()
    if user is None:
        if selectors.by_author(typed, limit=1) or selectors.held(author_id=typed, verdict=None, limit=1):
            return Term(TermKind.ACCOUNT, typed)
        raise InvalidBan(_("There is no account with this name."))
    return Term(TermKind.ACCOUNT, forms.user_key(user))


def _parse_network(typed: str) -> Term:
    if len(typed) == ip_hash.HASH_LENGTH and all(character in "0123456789abcdef" for character in typed):
        return Term(TermKind.NETWORK, typed)
    try:
        return Term(TermKind.NETWORK, ip_hash.hash_network(typed))
    except ValueError as error:
        raise InvalidBan(
            _("Enter an IP address, or a network such as 203.0.113.0/24, 2001:db8::/64 or 2001:db8::/48.")
        ) from error


def _parse_email(typed: str) -> Term:
    name, _at, domain = typed.lower().rpartition("@")
    if not name:
        return Term(TermKind.EMAIL_DOMAIN, _domain(domain))
    try:
        validate_email(typed)
    except ValidationError as error:
        raise InvalidBan(_("Enter an email address such as name@example.org, or a domain.")) from error
    return Term(TermKind.EMAIL, typed.lower())


def _parse_link(typed: str) -> Term:
    try:
        host = urlsplit(typed if "//" in typed else f"//{typed}").hostname or ""
    except ValueError:
        host = ""
    return Term(TermKind.LINK_DOMAIN, _domain(host.removeprefix("www.")))


def _domain(typed: str) -> str:
    domain = terms.normalize_domain(typed)
    try:
        _check_domain(domain)
    except ValidationError as error:
        raise InvalidBan(_("Enter a domain such as example.org.")) from error
    return domain


def _parse_pattern(typed: str) -> Term:
    pattern = terms.Pattern.parse(typed)
    if pattern.longest < MIN_WORD and str(pattern).isascii():
        raise InvalidBan(_("Enter at least one word with %(n)d letters.") % {"n": MIN_WORD})
    if not pattern:
        raise InvalidBan(_("Enter at least one word."))
    return Term(TermKind.PATTERN, str(pattern))


_PARSERS = {
    TermKind.ACCOUNT: _parse_account,
    TermKind.NETWORK: _parse_network,
    TermKind.EMAIL: _parse_email,
    TermKind.EMAIL_DOMAIN: _parse_email,
    TermKind.LINK_DOMAIN: _parse_link,
    TermKind.PATTERN: _parse_pattern,
}


def suggest(comment: Comment | HeldComment) -> list[Term]:
    """Return what can be banned because of a comment: its networks, account, email address and domains."""
    email = selectors.email_of(comment)
    account = comment.author.id or ""
    found = terms.of_comment(name="", account=account, email=email, source="", html=comment.html)
    networks = (TermKind.NETWORK.term(network) for network in ip_hash.networks_of(comment.target, comment.slug))
    suggested = (term.partition(":") for term in (*networks, *found))
    bannable = [Term(TermKind(kind), value) for kind, _colon, value in suggested if kind in bans.KINDS]
    return bannable[:MAX_SUGGESTED]


def describe(ban: Ban | Term) -> str:
    """Return the name of what is banned, for moderators: for an account, its user name."""
    if ban.kind is TermKind.ACCOUNT:
        return str(accounts.find(ban.value) or ban.value)
    return ban.value[:8] if ban.kind is TermKind.NETWORK else ban.value

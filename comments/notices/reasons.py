"""Why a comment waits, in words for moderators: what is stored are the names that rules and policies give."""

import re

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from marginalia.comments.types import Held

_LINK = re.compile(r"<a\s[^>]*href=", re.IGNORECASE)


def links_in(html: str) -> int:
    """Return how many links a comment's clean HTML has."""
    return len(_LINK.findall(html))


def sentences(held: Held) -> list[str]:
    """Return why a comment waits, a sentence a reason; what a project's own rule says stays as it is."""
    return [_sentence(reason, held) for reason in held.reasons]


def _sentence(reason: str, held: Held) -> str:
    match reason.split(": ", 1):
        case ["links"]:
            count = links_in(held.html)
            return ngettext("Contains %(n)d link", "Contains %(n)d links", count) % {"n": count}
        case ["words", found]:
            return _("Contains listed words: %(words)s") % {"words": found}
        case ["policy", "hold-first"]:
            return _("First comment of this author")
        case ["policy", "hold-all"]:
            return _("Every comment waits here")
    return reason

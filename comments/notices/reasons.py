"""The reasons why a comment is waiting, as sentences for moderators.

The reasons are stored as the names of the spam rules and policies that held the comment. This module converts the names
to sentences.
"""

import re

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from marginalia.comments.types import HeldComment

_LINK = re.compile(r"<a\s[^>]*href=", re.IGNORECASE)


def links_in(html: str) -> int:
    """Return the number of links in the HTML of a comment."""
    return len(_LINK.findall(html))


def sentences(held: HeldComment) -> list[str]:
    """Return a sentence for each reason why a comment is waiting.

    The names of a project's own rules are returned unchanged.
    """
    return [_sentence(reason, held) for reason in held.reasons]


def _sentence(reason: str, held: HeldComment) -> str:
    match reason.split(": ", 1):
        case ["links"]:
            count = links_in(held.html)
            return ngettext("Contains %(n)d link", "Contains %(n)d links", count) % {"n": count}
        case ["words", found]:
            return _("Contains words that require review: %(words)s") % {"words": found}
        case ["learned", found]:
            probability, _space, words = found.partition(" ")
            if not words:
                return _("Looks like earlier spam (%(probability)s)") % {"probability": probability}
            return _("Looks like earlier spam (%(probability)s): %(words)s") % {
                "probability": probability,
                "words": words,
            }
        case ["service", "spam"]:
            return _("The spam service considers this comment spam")
        case ["service", "unavailable"]:
            return _("The spam service could not be reached")
        case ["policy", rule] if rule.startswith("hold-first"):
            public, _slash, needed = rule.removeprefix("hold-first ").partition("/")
            if needed in ("", "1"):
                return _("First comment by this author")
            return _("This author has %(public)s of %(needed)s public comments needed") % {
                "public": public,
                "needed": needed,
            }
        case ["policy", "had-spam"]:
            return _("An earlier comment by this author was spam")
        case ["discussion", "hold"]:
            return _("All comments in this discussion currently need approval")
        case ["policy", "hold-all"]:
            return _("All comments here need approval")
    return reason

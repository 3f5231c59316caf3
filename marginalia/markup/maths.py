"""Conversion of TeX to MathML when text is shown. Browsers display MathML without a script.

The output of latex2mathml is cleaned with a separate allowlist. MathML elements that authors type are never accepted.
"""

import re
from functools import lru_cache
from typing import Final
from xml.etree.ElementTree import tostring

import nh3
from latex2mathml import exceptions
from latex2mathml.converter import Converter

from marginalia.markup import tags
from marginalia.markup.characters import scrub, unescape

MAX_LENGTH: Final = 2_000  # characters per formula
_MAX_DEPTH: Final = 20  # levels of nested groups, which are parsed recursively
# Matches command definitions, which aren't allowed because they could multiply the output without limit.
_DEFINITIONS: Final = re.compile(r"\\(?:(?:re)?newcommand|providecommand|def|let)(?![a-zA-Z])")
_BRACES: Final = re.compile(r"\\.|[{}]|\\left|\\begin", re.DOTALL)
_TAGS: Final = tags.tag_set(
    "math mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow mspace msqrt mstyle msub msubsup msup"
    " mtable mtd mtext mtr munder munderover"
)
_LENGTH: Final = re.compile(
    r"-?(?:\d{0,2}(?:\.\d{1,4})?(?:em|ex|pt|px|mu)?|\d{1,2})(?: -?\d{0,2}(?:\.\d{1,4})?em){0,20}"
)
_WORD: Final = re.compile(r"[a-z-]{1,20}(?: [a-z-]{1,20}){0,50}")
_VALUES: Final = {
    **dict.fromkeys(("depth", "height", "linethickness", "lspace", "maxsize", "minsize", "rspace", "width"), _LENGTH),
    **dict.fromkeys(("columnspacing", "rowspacing", "scriptlevel", "voffset"), _LENGTH),
    **dict.fromkeys(("accent", "columnalign", "columnlines", "display", "displaystyle", "fence", "form"), _WORD),
    **dict.fromkeys(
        ("largeop", "mathvariant", "movablelimits", "rowlines", "separator", "stretchy", "symmetric"), _WORD
    ),
}
_CLEANER: Final = nh3.Cleaner(
    tags=set(_TAGS),
    attributes={"*": set(_VALUES)},
    attribute_filter=lambda _tag, name, value: value if _VALUES[name].fullmatch(value) else None,
    link_rel=None,
)
_CONVERSION_ERRORS: Final[tuple[type[Exception], ...]] = (
    *(one for one in vars(exceptions).values() if isinstance(one, type) and issubclass(one, Exception)),
    *(ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, StopIteration, TypeError, ValueError),
)


@lru_cache(maxsize=1024)
def mathml(tex: str, *, is_block: bool) -> str | None:
    """Return a formula as clean MathML, or None if it is invalid, too long or too deeply nested.

    Results are cached in this process.
    """
    if len(tex) > MAX_LENGTH or _DEFINITIONS.search(tex) or _depth(tex) > _MAX_DEPTH:
        return None
    try:
        element = Converter(display="block" if is_block else "inline").convert_to_element(scrub(tex))
    except _CONVERSION_ERRORS:
        return None
    for part in element.iter():
        # latex2mathml writes symbols as character references. Text from the author is scrubbed here, and `tostring`
        # escapes it.
        part.text = scrub(unescape(part.text)) if part.text else part.text
        part.tail = None
    return _CLEANER.clean(tostring(element, encoding="unicode")).strip()


def _depth(tex: str) -> int:
    """Return an upper bound on how deeply groups, subscripts and superscripts are nested."""
    depth = deepest = 0
    for found in _BRACES.finditer(tex):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        deepest = max(deepest, depth)
    return (
        deepest
        + max((len(run) for run in re.findall(r"(?:[_^]\s*)+|(?:\\(?:left|sqrt|frac)\W*)+", tex)), default=0) // 4
    )

"""The sanitizer, which reduces HTML to the elements and attributes that a profile allows."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Final, Literal

import nh3

from marginalia.markup import tags
from marginalia.markup.characters import scrub
from marginalia.markup.html import anchors, inserts, links
from marginalia.markup.html.balance import Balancer

Profile = Literal["article", "comment"]

_COMMENT_TAGS: Final = tags.tag_set(
    "a abbr b blockquote br cite code del em hr i ins kbd li mark ol p pre q s samp small span strong sub sup"
    " table tbody td tfoot th thead tr u ul var"
)
_ARTICLE_TAGS: Final = _COMMENT_TAGS | tags.tag_set(
    "bdi bdo caption col colgroup dd details dfn div dl dt figcaption figure h1 h2 h3 h4 h5 h6 img rp rt ruby summary"
    " time wbr"
)
_Renamed = Mapping[str, tuple[str, ...]]
_OUTDATED: Final[_Renamed] = {"acronym": ("abbr",), "strike": ("s",), "tt": ("code",)}
# The elements that replace other elements in articles. Structural elements, such as <section>, become <div>.
_RENAMED: Final[_Renamed] = {
    **_OUTDATED,
    **dict.fromkeys(
        tags.tag_set("address article aside center dir fieldset footer header hgroup main menu nav section"), ("div",)
    ),
}
# The elements that replace other elements in comments. Comments aren't part of the page's outline, so their headings
# become bold paragraphs, and structural elements become paragraphs.
_RENAMED_IN_COMMENTS: Final[_Renamed] = {
    **dict.fromkeys(_RENAMED, ("p",)),
    **dict.fromkeys(tags.tag_set("caption dd details div dl dt figcaption figure summary"), ("p",)),
    **dict.fromkeys(tags.tag_set("h1 h2 h3 h4 h5 h6"), ("p", "strong")),
    **_OUTDATED,
}
# For each heading, the heading that is one level lower. The page's title is its h1, so if an article contains an h1,
# all headings in the article are lowered by one level.
_LOWERED: Final = {f"h{level}": (f"h{min(level + 1, 6)}",) for level in range(1, 7)}
_FIRST_HEADING: Final = re.compile(r"<h1[\t\n\f\r />]", re.IGNORECASE)

_CLASSES: Final = re.compile(
    r"align(?:left|right|center|none)|wp-caption(?:-text)?|footnotes|footnote-(?:ref|back)|task|language-[\w+#.-]{1,40}"
)
_NUMBER: Final = re.compile(r"\d{1,4}")
_ANY: Final = re.compile(r"(?s).*")
_NONE: Final = re.compile(r"(?!)")
_VALUES: Final = {
    "align": re.compile("left|right|center"),
    "alt": _ANY,
    "cite": _ANY,
    "colspan": re.compile(r"\d{1,3}"),
    "data-fault": re.compile("|".join(inserts.FAULTS - {""})),
    "data-insert": _ANY,
    "data-line": re.compile(r"\d{1,7}"),
    "datetime": re.compile(r"[\w:.+ -]{1,40}"),
    "dir": re.compile("ltr|rtl|auto"),
    "height": _NUMBER,
    "href": _ANY,
    "id": _ANY,
    "lang": re.compile(r"[A-Za-z0-9-]{1,35}"),
    "loading": re.compile("lazy|eager"),
    "open": _ANY,
    # The attribute filter receives the value that nh3 itself sets (link_rel), never a value from the text.
    "rel": _ANY,
    "reversed": _ANY,
    "rowspan": re.compile(r"\d{1,3}"),
    "scope": re.compile("row|col|rowgroup|colgroup"),
    "span": re.compile(r"\d{1,3}"),
    "src": _ANY,
    "start": re.compile(r"-?\d{1,9}"),
    "title": _ANY,
    "type": re.compile("[1aAiI]"),
    "value": re.compile(r"-?\d{1,9}"),
    "width": _NUMBER,
}
_COMMENT_ATTRIBUTES: Final = {
    "*": {"dir", "lang"},
    "a": {"href", "title"},
    "abbr": {"title"},
    "blockquote": {"cite"},
    "code": {"class"},
    "li": {"value"},
    "ol": {"reversed", "start", "type"},
    "q": {"cite"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan", "scope"},
}
_ARTICLE_ATTRIBUTES: Final = _COMMENT_ATTRIBUTES | {
    "*": {"class", "dir", "id", "lang", "title"},
    "a": {"href"},
    "abbr": set[str](),
    "code": set[str](),
    "col": {"span"},
    "colgroup": {"span"},
    "del": {"cite", "datetime"},
    "details": {"open"},
    "div": {"data-fault", "data-insert", "data-line"},
    "img": {"alt", "height", "loading", "src", "width"},
    "ins": {"cite", "datetime"},
    "time": {"datetime"},
}

_LINE_AFTER_PRE: Final = re.compile(r"(<pre(?: [^<>]*)?>)\n")
_MAX_ROUNDS: Final = 6


@dataclass(frozen=True)
class _Rules:
    tags: frozenset[str]
    renamed: _Renamed
    images: bool
    cleaner: nh3.Cleaner


def _attribute_filter(schemes: frozenset[str]) -> Callable[[str, str, str], str | None]:
    """Return the filter that nh3 calls for every attribute on its allowlists.

    The filter must not raise an exception, because nh3 would only report the exception and keep the attribute.
    """

    def check(tag: str, name: str, value: str) -> str | None:
        if name == "href":
            return value if links.is_allowed(value, schemes) else None
        if name == "cite":
            return value if links.is_allowed(value, schemes & links.LINK_SCHEMES) else None
        if name == "src":
            return value if links.is_allowed(value, links.IMAGE_SCHEMES) else None
        if name == "class":
            allowed_classes = [
                word
                for word in value.split()
                if _CLASSES.fullmatch(word) and (tag == "code") == word.startswith("language-")
            ]
            return " ".join(allowed_classes) or None
        return value if _VALUES.get(name, _NONE).fullmatch(value) else None

    return check


_RULES: Final[dict[str, _Rules]] = {
    "article": _Rules(
        _ARTICLE_TAGS,
        _RENAMED,
        images=True,
        cleaner=nh3.Cleaner(
            tags=_ARTICLE_TAGS,
            attributes=_ARTICLE_ATTRIBUTES,
            attribute_filter=_attribute_filter(links.ARTICLE_SCHEMES),
            url_schemes=links.ARTICLE_SCHEMES | links.IMAGE_SCHEMES,
            link_rel=None,
        ),
    ),
    "comment": _Rules(
        _COMMENT_TAGS,
        _RENAMED_IN_COMMENTS,
        images=False,
        cleaner=nh3.Cleaner(
            tags=_COMMENT_TAGS,
            attributes=_COMMENT_ATTRIBUTES,
            attribute_filter=_attribute_filter(links.COMMENT_SCHEMES),
            url_schemes=links.COMMENT_SCHEMES,
            link_rel="ugc nofollow noopener",
        ),
    ),
}


def clean(html: str, profile: Profile = "comment") -> str:
    """Return `html` with only the elements and attributes that `profile` allows.

    "article" is for text written by editors. It allows tables, figures, images and details. Ids get a prefix, headings
    get an id, and external links get rel="noopener". If there is an h1, all headings are lowered by one level.

    "comment" is for text written by readers. It doesn't allow ids. Images become links, headings become bold
    paragraphs, and links get rel="ugc nofollow noopener".

    Neither profile allows styles, scripts, forms, frames or embedded objects. The function never raises an exception,
    and clean(clean(x)) == clean(x). All parsers interpret the result in the same way, which prevents mutation XSS.
    """
    # A round strips its result. Most HTML needs only one round if it is stripped before.
    return repeat_until_stable(html.strip(), lambda before: clean_once(before, profile))


def repeat_until_stable(html: str, step: Callable[[str], str]) -> str:
    """Apply `step` to `html` until the result no longer changes, and return it.

    If the result keeps changing, return `html` as escaped text.
    """
    before = html
    for _ in range(_MAX_ROUNDS):
        after = step(before)
        if after == before:
            return after
        before = after
    return f"<p>{escape(scrub(html), quote=False)}</p>"


def clean_once(html: str, profile: Profile) -> str:
    """Return `html` after one round of cleaning. A second round may change it again."""
    html = scrub(html)
    rules = _RULES[profile]
    renamed = rules.renamed
    if profile == "article" and _FIRST_HEADING.search(html):
        renamed = {**renamed, **_LOWERED}
    html = rules.cleaner.clean(Balancer(rules.tags, renamed, images=rules.images).balance(html)).strip()
    # Parsers drop one line break after <pre>. If the text begins with a line break, two line breaks have to be written.
    html = _LINE_AFTER_PRE.sub("\\1\n\n", html)
    return anchors.add_anchors(html) if profile == "article" else html

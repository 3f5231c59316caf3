"""Footnotes in the margin: the list that ends a clean text, set beside the lines that refer to it.

Screens show a note where it is first referred to, paper the list: the page has both, and the style sheet shows one of them. A
note within a paragraph may hold no blocks; one that does follows the block that refers to it. Nothing is made but spans and
asides around whole elements, so that what was clean and balanced stays so. Who types HTML may write the same classes: a
list that is not as `marginalia.markup.markdown` makes it, or a note that nothing refers to, leaves the text as it is.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from marginalia.markup import tags

START: Final = '<div class="footnotes">'
# As the sanitizer writes them: attributes in double quotes.
_TAG: Final = re.compile(r'<(/?)([a-z][a-z0-9]*)((?:[^">]|"[^"]*")*)>')
_LIST: Final = re.compile(rf"{START}\s*<ol>(.*)</ol>\s*</div>", re.DOTALL)
_NOTE: Final = re.compile(r'<li id="([^"]+)">(.*)</li>', re.DOTALL)
_REF: Final = re.compile(r'<sup class="footnote-ref"><a id="[^"]+" href="#([^"]+)">(\d+)</a></sup>')
_BACK: Final = re.compile(r' ?<a class="footnote-back" href="[^"]*">[^<]*(?:<sup>\d+</sup>)?</a>')
# Each attribute whole: what one says may end as another begins.
_ATTRIBUTE: Final = re.compile(r' ([a-z-]+)="[^"]*"')
_PHRASING: Final = tags.tag_set(
    "a abbr b bdi bdo br cite code del dfn em i img ins kbd mark q s samp small span strong sub sup time u var wbr"
)


class _Element(NamedTuple):
    """An element that stands in no other one, and where it begins and ends."""

    tag: str
    start: int
    end: int


def add_margin_notes(clean: str) -> str:
    """Return a clean text with each footnote at its first reference, and the list of footnotes for paper."""
    if START not in clean:
        return clean
    blocks = list(_elements(clean))
    listed = next((block for block in reversed(blocks) if clean.startswith(START, block.start)), None)
    notes = _notes(clean[listed.start : listed.end]) if listed else {}
    if not listed or not notes:
        return clean
    pieces = list[str]()
    at = 0
    for block in blocks:
        if block is listed:
            pieces += clean[at : block.start], _list_for_paper(clean[block.start : block.end])
            at = block.end
            continue
        after = ""
        for found in _REF.finditer(clean, block.start, block.end):
            said = notes.pop(found[1], None)
            if said is None:
                continue
            if block.tag == "p" and (phrase := _as_phrase(said)) is not None:
                pieces += clean[at : found.end()], _note("span", found, phrase)
                at = found.end()
            else:
                after += _note("aside", found, said)
        pieces += clean[at : block.end], after
        at = block.end
    return clean if notes else "".join(pieces) + clean[at:]


def _elements(clean: str) -> Iterator[_Element]:
    depth = start = 0
    for found in _TAG.finditer(clean):
        closes, tag, _attributes = found.groups()
        if not depth:
            start = found.start()
        depth += (-1 if closes else 1) if tag not in tags.VOID else 0
        if not depth:
            yield _Element(tag, start, found.end())


def _notes(html: str) -> dict[str, str]:
    """Return what each note of a list says, by its id; {} where it is no such list."""
    found = _LIST.fullmatch(html)
    if not found:
        return {}
    listed = found[1]
    items = [_NOTE.fullmatch(listed, item.start, item.end) for item in _elements(listed)]
    return {item[1]: item[2].strip() for item in items if item} if all(items) else {}


def _as_phrase(said: str) -> str | None:
    """Return a note that holds paragraphs alone as what may stand within a line; None for others."""
    if not {tag for _closes, tag, _attributes in _TAG.findall(said)} <= _PHRASING | {"p"}:
        return None
    paragraphs = [said[one.start : one.end] for one in _elements(said)]
    if (
        not paragraphs
        or "".join(said.split()) != "".join("".join(paragraphs).split())
        or not all(p.startswith("<p>") for p in paragraphs)
    ):
        return None
    first, *more = (paragraph.removeprefix("<p>").removesuffix("</p>") for paragraph in paragraphs)
    return first + "".join(f'<span class="margin-paragraph">{words}</span>' for words in more)


def _note(element: str, found: re.Match[str], said: str) -> str:
    number = f'<span class="margin-number">{found[2]}</span> '
    return f'<{element} class="margin-note" id="{found[1]}" role="doc-footnote">{number}{said}</{element}>'


def _list_for_paper(html: str) -> str:
    """Return the list without what it shares with the notes on screens: ids, and the ways back."""
    bare = _TAG.sub(lambda tag: _ATTRIBUTE.sub(_unless_id, tag[0]), _BACK.sub("", html))
    return bare.replace(START, '<div class="footnotes for-paper">', 1)


def _unless_id(attribute: re.Match[str]) -> str:
    return "" if attribute[1] == "id" else attribute[0]

"""Footnotes in the margin, next to the lines that refer to them.

The page contains each footnote twice: at its first reference, for screens, and in a list at the end, for print. The
style sheet shows only one of the two. A note inside a paragraph contains no block elements. A note with block elements
follows the block that refers to it. A note that only another note refers to follows that note.

This module only adds spans and asides around whole elements, so clean and balanced HTML remains clean and balanced.
Authors can also type HTML with the same classes. The text isn't changed if its footnote list differs from the form that
`marginalia.markup.markdown` writes, or if a note has no reference.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from marginalia.markup import tags

START: Final = '<div class="footnotes">'
# Matches tags as the sanitizer writes them, with attribute values in double quotes.
_TAG: Final = re.compile(r'<(/?)([a-z][a-z0-9]*)((?:[^">]|"[^"]*")*)>')
_LIST: Final = re.compile(rf"{START}\s*<ol>(.*)</ol>\s*</div>", re.DOTALL)
_NOTE: Final = re.compile(r'<li id="([^"]+)">(.*)</li>', re.DOTALL)
_REF: Final = re.compile(r'<sup class="footnote-ref"><a id="[^"]+" href="#([^"]+)">(\d+)</a></sup>')
_BACK: Final = re.compile(r' ?<a class="footnote-back" href="[^"]*">[^<]*(?:<sup>\d+</sup>)?</a>')
# The pattern matches whole attributes, because the end of a value can look like the start of an attribute.
_ATTRIBUTE: Final = re.compile(r' ([a-z-]+)="[^"]*"')
_PHRASING: Final = tags.tag_set(
    "a abbr b bdi bdo br cite code del dfn em i img ins kbd mark q s samp small span strong sub sup time u var wbr"
)


class _Element(NamedTuple):
    """A top-level element, with its start and end positions in the text."""

    tag: str
    start: int
    end: int


def add_margin_notes(clean: str) -> str:
    """Add each footnote to `clean` at its first reference, and mark the list of footnotes for print."""
    if START not in clean:
        return clean
    blocks = list(_elements(clean))
    note_list = next((block for block in reversed(blocks) if clean.startswith(START, block.start)), None)
    notes = _notes(clean[note_list.start : note_list.end]) if note_list else {}
    if not note_list or not notes:
        return clean
    pieces = list[str]()
    at = 0
    for block in blocks:
        if block is note_list:
            pieces += clean[at : block.start], _list_for_paper(clean[block.start : block.end])
            at = block.end
            continue
        after = ""
        for reference in _REF.finditer(clean, block.start, block.end):
            pieces.append(clean[at : reference.end()])
            at = reference.end()
            for own_reference, note in _take_notes(notes, reference):
                if block.tag == "p" and (phrase := _as_phrase(note)) is not None:
                    pieces.append(_note("span", own_reference, phrase))
                else:
                    after += _note("aside", own_reference, note)
        pieces += clean[at : block.end], after
        at = block.end
    return clean if notes else "".join(pieces) + clean[at:]


def _elements(clean: str) -> Iterator[_Element]:
    depth = start = 0
    for match in _TAG.finditer(clean):
        closes, tag, _attributes = match.groups()
        if not depth:
            start = match.start()
        depth += (-1 if closes else 1) if tag not in tags.VOID else 0
        if not depth:
            yield _Element(tag, start, match.end())


def _notes(html: str) -> dict[str, str]:
    """Return the HTML of each note in a footnote list, keyed by id, or {} if the list has an unexpected form."""
    match = _LIST.fullmatch(html)
    if not match:
        return {}
    content = match[1]
    items = [_NOTE.fullmatch(content, item.start, item.end) for item in _elements(content)]
    return {item[1]: item[2].strip() for item in items if item} if all(items) else {}


def _take_notes(notes: dict[str, str], reference: re.Match[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Remove the note for `reference` from `notes`, and the notes to which it refers. Yield each with its reference."""
    references = [reference]
    while references:
        first = references.pop(0)
        note = notes.pop(first[1], None)
        if note is not None:
            yield first, note
            references[:0] = _REF.finditer(note)


def _as_phrase(note: str) -> str | None:
    """Return `note` as phrasing content, or None if it contains anything other than paragraphs."""
    if not {tag for _closes, tag, _attributes in _TAG.findall(note)} <= _PHRASING | {"p"}:
        return None
    paragraphs = [note[element.start : element.end] for element in _elements(note)]
    if (
        not paragraphs
        or "".join(note.split()) != "".join("".join(paragraphs).split())
        or not all(p.startswith("<p>") for p in paragraphs)
    ):
        return None
    first, *more = (paragraph.removeprefix("<p>").removesuffix("</p>") for paragraph in paragraphs)
    return first + "".join(f'<span class="margin-paragraph">{words}</span>' for words in more)


def _note(element: str, reference: re.Match[str], note: str) -> str:
    number = f'<span class="margin-number">{reference[2]}</span> '
    return f'<{element} class="margin-note" id="{reference[1]}" role="doc-footnote">{number}{note}</{element}>'


def _list_for_paper(html: str) -> str:
    """Return the footnote list for print, without back links and ids. The notes for screens already use the ids."""
    bare = _TAG.sub(lambda tag: _ATTRIBUTE.sub(_unless_id, tag[0]), _BACK.sub("", html))
    return bare.replace(START, '<div class="footnotes for-paper">', 1)


def _unless_id(attribute: re.Match[str]) -> str:
    return "" if attribute[1] == "id" else attribute[0]

"""Mark the differences between two versions of clean HTML, as readers see them.

Blocks such as paragraphs, list items and table rows are aligned at each level. In corresponding blocks, words, photos
and formatting are compared. A word whose formatting changed counts as replaced. The result consists of the tags of the
new version, with `<del>` and `<ins>` around removed and added content. It must be sanitized before it is shown.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Final, Literal, NamedTuple, Union

from marginalia.markup import tags
from marginalia.markup.characters import unescape
from marginalia.markup.comparing import diff
from marginalia.markup.comparing.alignment import Kind, align, kind_of
from marginalia.markup.comparing.sequences import Budget, regions
from marginalia.markup.html.canonical import INLINE

_ID: Final = re.compile(r' id="[^"]*"')
# The line numbers of inserts, which change when text before them changes.
_LINE: Final = re.compile(r' data-line="\d+"')
_NAME: Final = re.compile(r"<(\w+)")

_Mark = Literal["del", "ins"]
_Node = Union["_Element", str]


@dataclass(frozen=True)
class MarkedBlock:
    """A block of the text, or two blocks if one replaces the other. `kind` is "same" if nothing in it changed."""

    kind: Kind
    html: str


@dataclass
class _Element:
    name: str
    attributes: str
    children: Sequence[_Node] = ()

    # Cached, because each level of nested elements needs them.
    @cached_property
    def html(self) -> str:
        return self.start + "".join(map(_html, self.children)) + self.end

    @cached_property
    def text(self) -> str:
        return "".join(map(_text, self.children))

    @property
    def start(self) -> str:
        return f"<{self.name}{self.attributes}>"

    @property
    def end(self) -> str:
        return "" if self.name in tags.VOID else f"</{self.name}>"

    @property
    def is_insert(self) -> bool:
        return " data-insert=" in self.attributes

    @property
    def is_formula(self) -> bool:
        return self.name == "code" and '"language-math"' in self.attributes


@dataclass(frozen=True)
class _Block:
    """A block element, or the inline content between two block elements.

    Blocks are equal if their HTML is equal. As a string, a block is its text, by which changed blocks are matched.
    """

    html: str
    nodes: Sequence[_Node] = field(compare=False)
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text

    @property
    def element(self) -> _Element | None:
        """Return the block element, or None for inline content."""
        first = self.nodes[0]
        return first if isinstance(first, _Element) and first.name not in INLINE else None


class _Token(NamedTuple):
    """A word, photo or formula, with the start tags of the inline elements around it, outermost first."""

    html: str
    around: tuple[str, ...]


class _Step(NamedTuple):
    """A run of equal tokens, and the tokens that were removed and added after it."""

    equal: list[_Token]
    removed: list[_Token]
    added: list[_Token]

    def texts(self) -> tuple[str, str, str]:
        equal, removed, added = ("".join(token.html for token in run) for run in self)
        return equal, removed, added


def mark_changes(old: str, new: str, *, removed: str, added: str, budget: Budget | None = None) -> list[MarkedBlock]:
    """Return the blocks of `new` with all changes since `old` marked. Both must be clean HTML.

    Args:
        old: The old version.
        new: The new version.
        removed: The label of removed content, which becomes the title of `<del>` elements.
        added: The label of added content, which becomes the title of `<ins>` elements.
        budget: The number of steps available for comparisons. Once it is used up, the remaining text counts as changed.
    """
    old_nodes, new_nodes = (_parse(_LINE.sub("", html)) for html in (old, new))
    marker = _Marker(budget or Budget(), removed, added)
    return list(marker.blocks(old_nodes, new_nodes))


class _Marker:
    def __init__(self, budget: Budget, removed: str, added: str) -> None:
        self._budget = budget
        self._titles: dict[_Mark, str] = {"del": removed, "ins": added}

    def blocks(self, old: Sequence[_Node], new: Sequence[_Node]) -> Iterator[MarkedBlock]:
        """Yield the marked blocks of two versions of an element's content."""
        olds = _blocks(old)
        news = _blocks(new)
        for pair in align(olds, news, self._budget, diff.match_paragraphs):
            before = None if pair.old is None else olds[pair.old]
            after = None if pair.new is None else news[pair.new]
            yield MarkedBlock(kind_of(pair, is_same=before == after), self._block(before, after))

    def _block(self, before: _Block | None, after: _Block | None) -> str:
        if before is None or after is None or before == after:
            return self._whole(before, "del") if after is None else after.html if before else self._whole(after, "ins")
        old = before.element
        new = after.element
        if old is None and new is None:
            return self._inline(before, after)
        if old and new and old.name == new.name and (old.attributes == new.attributes or not new.is_insert):
            return new.start + "".join(block.html for block in self.blocks(old.children, new.children)) + new.end
        return self._whole(before, "del") + self._whole(after, "ins")

    def _whole(self, block: _Block | None, mark: _Mark) -> str:
        """Return a block that exists in only one version."""
        if block is None:
            return ""
        element = block.element
        if element is None:
            return self._run(list(_tokens(block.nodes)), mark)
        if not block.text.strip() or element.is_insert:
            return self._marked(block.html, mark)
        inner = "".join(self._whole(child, mark) for child in _blocks(element.children))
        return _start(element.start, mark) + inner + element.end

    def _inline(self, before: _Block, after: _Block) -> str:
        """Return inline content with changed words, photos and formatting marked."""
        old = list(_tokens(before.nodes))
        new = list(_tokens(after.nodes))
        steps: list[_Step] = []
        for region, is_equal in regions(old, new, self._budget):
            removed = old[region.old_start : region.old_end]
            added = new[region.new_start : region.new_end]
            if is_equal or not steps:
                steps.append(_Step(added, [], []) if is_equal else _Step([], removed, added))
            else:
                steps[-1] = _Step(steps[-1].equal, removed, added)
        return "".join(
            self._run(step.equal) + self._run(step.removed, "del") + self._run(step.added, "ins")
            for step in _tidied(steps)
        )

    def _run(self, tokens: Sequence[_Token], mark: _Mark | None = None) -> str:
        """Return consecutive tokens as HTML, with the inline elements around them."""
        pieces = []
        for around, group in groupby(tokens, key=lambda token: token.around):
            ends = (f"</{name}>" for name in _NAME.findall("".join(reversed(around))))
            starts = (_start(start, mark) for start in around)
            pieces.append("".join((*starts, *(token.html for token in group), *ends)))
        html = "".join(pieces)
        return self._marked(html, mark) if mark and html else html

    def _marked(self, html: str, mark: _Mark) -> str:
        return f'<{mark} title="{tags.quote(self._titles[mark])}">{html}</{mark}>'


def _tidied(steps: Sequence[_Step]) -> list[_Step]:
    """Return the steps without equal tokens that merely interrupt a change, such as a space between two words."""
    tidied: list[_Step] = []
    for step in steps:
        joined = step
        while tidied and diff.is_idle(tidied[-1].texts(), joined.texts()):
            last = tidied.pop()
            joined = _Step(
                last.equal,
                [*last.removed, *joined.equal, *joined.removed],
                [*last.added, *joined.equal, *joined.added],
            )
        tidied.append(joined)
    return tidied


def _start(tag: str, mark: _Mark | None) -> str:
    """Return a start tag. Removed elements have no id, because the new version may contain the same id."""
    return _ID.sub("", tag) if mark == "del" else tag


def _parse(html: str) -> list[_Node]:
    """Return the nodes of balanced HTML. The text in them isn't decoded."""
    root: list[_Node] = []
    opened: list[tuple[_Element, list[_Node]]] = []
    for token in tags.tokens(html):
        children = opened[-1][1] if opened else root
        if not token.name:
            children.append(token.text)
        elif not token.closing and token.name in tags.VOID:
            children.append(_Element(token.name, token.text))
        elif not token.closing:
            inner: list[_Node] = []
            element = _Element(token.name, token.text, inner)
            children.append(element)
            opened.append((element, inner))
        elif opened and opened[-1][0].name == token.name:
            opened.pop()
    return root


def _blocks(nodes: Sequence[_Node]) -> list[_Block]:
    """Group nodes in blocks. White space between block elements is omitted."""
    blocks = []
    for is_inline, group in groupby(nodes, key=lambda node: isinstance(node, str) or node.name in INLINE):
        children = list(group)
        runs = [children] if is_inline else [[child] for child in children]
        blocks += [_Block("".join(map(_html, run)), run, "".join(map(_text, run))) for run in runs]
    return [block for block in blocks if block.html.strip()]


def _html(node: _Node) -> str:
    return node if isinstance(node, str) else node.html


def _text(node: _Node) -> str:
    return unescape(node) if isinstance(node, str) else node.text


def _tokens(nodes: Sequence[_Node], around: tuple[str, ...] = ()) -> Iterator[_Token]:
    for node in nodes:
        if isinstance(node, str):
            yield from (_Token(tags.quote(word), around) for word in diff.split_words(unescape(node)))
        elif node.name in tags.VOID or node.is_formula:
            yield _Token(node.html, around)
        else:
            yield from _tokens(node.children, (*around, node.start))

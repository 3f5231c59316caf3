"""Removing a guard from a function, regardless of the layout of its code."""

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

_LAYOUT = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
)


@dataclass(frozen=True)
class Mutant:
    """A guard whose removal a test must notice.

    The code is compared token by token, so line breaks and comments make no difference.

    Attributes:
        guard: The name of the guard.
        where: The function that contains the guard, as "file.py::Class.function", or only the file.
        code: The code of the guard.
        without: The code that replaces it.
        test: The test that must fail.
        marked: The marker expression with which the test runs.
    """

    guard: str
    where: str
    code: str
    without: str
    test: str
    marked: str = "not slow or slow_after"

    @property
    def file(self) -> str:
        """Return the file that contains the guard."""
        return self.where.partition("::")[0]


class Outdated(Exception):
    """The code that a mutant removes is missing, or occurs more than once."""


def taken_out(mutant: Mutant, source: str) -> str:
    """Return the source of a file without the guard.

    Raises:
        Outdated: The code of the guard is missing, or occurs more than once.
    """
    first, last = _lines(mutant, source)
    words = [token for token in _words(source) if first <= token.start[0] <= last]
    wanted = [token.string for token in _words(mutant.code)]
    found = [n for n in range(len(words) - len(wanted) + 1) if [t.string for t in words[n : n + len(wanted)]] == wanted]
    if len(found) != 1:
        raise Outdated(
            f"{mutant.where} has the code of “{mutant.guard}” {len(found)} times: adapt tests/mutants/guards/"
        )
    begin, end = words[found[0]], words[found[0] + len(wanted) - 1]
    lines = source.splitlines(keepends=True)
    start = sum(map(len, lines[: begin.start[0] - 1])) + begin.start[1]
    stop = sum(map(len, lines[: end.end[0] - 1])) + end.end[1]
    margin = begin.line[: len(begin.line) - len(begin.line.lstrip())]
    indented = textwrap.indent(mutant.without, margin).lstrip()
    return source[:start] + indented + source[stop:]


def _lines(mutant: Mutant, source: str) -> tuple[int, int]:
    """Return the first and last line of the function that the mutant names, or of the file if it names no function."""
    node: ast.AST = ast.parse(source)
    for name in filter(None, mutant.where.partition("::")[2].split(".")):
        inner = [child for child in ast.walk(node) if getattr(child, "name", "") == name and hasattr(child, "body")]
        if not inner:
            raise Outdated(f"{mutant.where} is not there: adapt “{mutant.guard}” in tests/mutants/guards/")
        node = inner[0]
    return getattr(node, "lineno", 1), getattr(node, "end_lineno", source.count("\n") + 1)


def _words(source: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from (t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type not in _LAYOUT)
    except (tokenize.TokenError, IndentationError):
        return  # a fragment can end within brackets, but a file cannot

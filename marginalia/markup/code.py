"""Syntax highlighting with Pygments, which is applied when text is shown.

Highlighting adds CSS classes, and the theme sets their colours. Pygments lexers can be slow on malicious input. For
example, the time that some lexers take is quadratic in the length of a line or of a run of spaces. The site therefore
uses only lexers that took less than 0.1 s for each of about 100 inputs within the limits below. Other code isn't
highlighted.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import Final

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

MAX_LENGTH: Final = 3_000  # characters per code block
_SLOW_TO_LEX: Final = re.compile(r"\s{50}|[^\n]{301}")
# Maps the word after ``` to the name of a Pygments lexer. Java is missing, because its lexer took up to 0.5 s per test
# input.
LANGUAGES: Final = {
    **{name: name for name in ("bash", "c", "css", "diff", "go", "html", "javascript", "json", "python", "rust")},
    **{name: name for name in ("sql", "toml", "xml", "yaml")},
    "golang": "go",
    "js": "javascript",
    "py": "python",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "svg": "xml",
    "yml": "yaml",
}
# Maps each token type to its CSS class, which is Pygments' short name for the type. Other tokens don't get a class.
_CLASSES: Final[dict[_TokenType, str]] = {
    Comment: "c",
    Keyword: "k",
    Operator.Word: "k",
    String: "s",
    Number: "m",
    Name.Attribute: "na",
    Name.Builtin: "nb",
    Name.Class: "nc",
    Name.Decorator: "nd",
    Name.Function: "nf",
    Name.Tag: "nt",
    Generic.Deleted: "gd",
    Generic.Inserted: "gi",
}


def highlight_code(code: str, language: str) -> str | None:
    """Return `code` as HTML with classes for highlighting, or None if it can't be highlighted."""
    name = LANGUAGES.get(language.lower())
    if not name or len(code) > MAX_LENGTH or _SLOW_TO_LEX.search(code):
        return None
    return "".join(_spans(code, name))


def _spans(code: str, name: str) -> Iterator[str]:
    run, kind = "", ""
    for token, text in _lexer(name).get_tokens(code):
        css_class = _css_class(token)
        if css_class != kind:
            yield _span(run, kind)
            run = ""
            kind = css_class
        run += text
    yield _span(run, kind)


def _span(text: str, kind: str) -> str:
    escaped = escape(text, quote=False)
    return f'<span class="{kind}">{escaped}</span>' if kind and escaped else escaped


@lru_cache
def _css_class(token: _TokenType) -> str:
    return next((_CLASSES[ancestor] for ancestor in reversed(token.split()) if ancestor in _CLASSES), "")


@lru_cache
def _lexer(name: str) -> Lexer:
    return get_lexer_by_name(name, stripnl=False, ensurenl=False)

"""Template loaders that remove indentation, so that templates can be indented while pages stay small.

Indentation is any white space that contains a line break. Indentation is replaced with one space where browsers would
show a space, for example between two words or links, and is removed everywhere else. Each template is processed once,
not for each request.
"""

import re
from pathlib import Path

from django import forms
from django.forms.renderers import DjangoTemplates
from django.template import Origin
from django.template.backends.django import DjangoTemplates as Backend
from django.template.loaders import app_directories, filesystem
from django.utils.functional import cached_property


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


# Block elements. Browsers don't show spaces before or after the tags of block elements.
_BLOCKS = _names(
    "!doctype address article aside base blockquote body br caption col colgroup datalist dd details dialog div dl dt fieldset "
    "figcaption figure footer h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li link main menu meta nav ol optgroup "
    "option p pre search section summary table tbody td template tfoot th thead title tr ul"
)
_VOID = _names("area base br col embed hr img input link meta source track wbr")

# Indentation is removed after the _OPENING tags and before the _CLOSING tags. The space before the end of a loop is
# kept, because it separates the items.
_OPENING = _names("block comment elif else empty extends filter for frame if load regroup with")
_CLOSING = _names("elif else endblock endfilter endframe endif endwith")
_ASSIGNMENT = re.compile(r"\sas\s+\w+\s*%}$")

_TEMPLATE_TAG = r"{%.*?%}|{{.*?}}|{#.*?#}"
_QUOTED = rf"\"(?>{_TEMPLATE_TAG}|[^\"])*+\"|'(?>{_TEMPLATE_TAG}|[^'])*+'"
_PIECE = re.compile(
    r"(?P<space>\s+)"
    # Elements and template tags in which white space is part of the text.
    r"|(?P<verbatim><(?P<element>pre|script|style|textarea)\b.*?</(?P=element)\s*>"
    r"|{%\s*(?P<block>blocktrans(?:late)?|comment|verbatim)\b.*?{%\s*end(?P=block)\b.*?%})"
    rf"|(?P<template>{_TEMPLATE_TAG})"
    rf"|(?P<html></?[a-z!](?>{_TEMPLATE_TAG}|{_QUOTED}|[^'\">])*+>)"
    r"|[^\s<{]+|.",
    re.DOTALL | re.IGNORECASE,
)
_BEFORE_CONDITIONAL_ATTRIBUTE = re.compile(
    r"\s*\n\s*({%\s*if\b[^%]*%})(?=\S(?:(?!{%\s*(?:if|el|endif)).)*{%\s*endif)", re.DOTALL
)
_IN_HTML_TAG = re.compile(r"\s*\n\s*(>?)")
_NAME = re.compile(r"(?:</?|{%\s*)([^\s>{%]+)")


class _WithoutIndentation(filesystem.Loader):
    def get_contents(self, origin: Origin) -> str:
        contents = super().get_contents(origin)
        return without_indentation(contents) if origin.name.endswith(".html") else contents


class FilesystemLoader(_WithoutIndentation):
    """A template loader for `DIRS` that removes indentation from HTML templates."""


class AppDirectoriesLoader(_WithoutIndentation, app_directories.Loader):
    """A template loader for apps that removes indentation from HTML templates."""


LOADERS = [f"{__name__}.{loader.__name__}" for loader in (FilesystemLoader, AppDirectoriesLoader)]


class FormRenderer(DjangoTemplates):
    """A renderer that renders form fields from templates without indentation."""

    @cached_property
    def engine(self) -> Backend:
        return Backend(
            {
                "NAME": "djangoforms",
                "APP_DIRS": False,
                "DIRS": [Path(forms.__file__).parent / "templates"],
                "OPTIONS": {"loaders": [("django.template.loaders.cached.Loader", LOADERS)]},
            }
        )


def without_indentation(source: str) -> str:
    """Return the source of an HTML template without its indentation."""
    pieces: list[str] = []
    # Indentation at the start of the template is removed, as if a block element came before it.
    space, is_closed = "", True
    for match in _PIECE.finditer(source.strip()):
        if match["space"]:
            space = match["space"]
            continue
        piece = match[0]
        closes_before, closes_after = _edges(match)
        if "\n" in space:
            space = "" if is_closed or closes_before else " "
        pieces += [space, _on_one_line(piece) if match["html"] else piece]
        space, is_closed = "", closes_after
    return "".join(pieces)


def _on_one_line(html_tag: str) -> str:
    # Move the space into the condition, so that there is no space if the condition is false.
    html_tag = _BEFORE_CONDITIONAL_ATTRIBUTE.sub(r"\1 ", html_tag)
    return _IN_HTML_TAG.sub(lambda found: found[1] or " ", html_tag)


def _edges(match: re.Match[str]) -> tuple[bool, bool]:
    """Return whether to remove the indentation before a piece, and whether to remove the indentation after it."""
    piece = match[0]
    if piece.startswith("{#"):
        return False, True
    name = found[1].lower() if (found := _NAME.match(piece)) else ""
    if piece.startswith("{%"):
        return name in _CLOSING, name in _OPENING or bool(_ASSIGNMENT.search(piece))
    if name in _BLOCKS:
        return True, True
    if match["html"]:
        is_end = piece.startswith("</")
        return is_end, not is_end and name not in _VOID
    # Indentation after scripts and styles is removed, because scripts and styles aren't visible.
    return False, name in ("script", "style")

"""Conversion of Markdown to clean HTML, in time linear in the length of the text."""

from marginalia.markup.markdown.rendering import render

__all__ = ["render"]

"""Markdown to clean HTML, in time that grows with the text alone."""

from marginalia.markup.markdown.rendering import render

__all__ = ["render"]

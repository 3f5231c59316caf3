"""Conversion of Markdown to clean HTML in linear time."""

from marginalia.markup.markdown.rendering import render

__all__ = ["render"]

"""Clean HTML, which is sanitized by profile and has ids, links, and photos from the site."""

from marginalia.markup.html.sanitizer import Profile, clean

__all__ = ["Profile", "clean"]

"""Clean HTML: sanitized by profile, with ids, links and photos of the site."""

from marginalia.markup.html.sanitizer import Profile, clean

__all__ = ["Profile", "clean"]

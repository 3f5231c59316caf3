"""Functions that sanitize HTML by profile, and that add ids, links, and photos from the site."""

from marginalia.markup.html.sanitizer import Profile, clean

__all__ = ["Profile", "clean"]

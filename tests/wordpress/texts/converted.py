"""Bodies of an old site, converted as tests need them."""

from collections.abc import Sequence

from wordpress.texts.content import Body, File, convert

BASE = "https://old.example/2012/03/post/"
PHOTO = "https://old.example/wp-content/uploads/2012/07/foo.jpg"


class Library:
    """An old site with one page, one missing picture and one that exists on the new site."""

    def page(self, url: str) -> str:
        return {"https://old.example/about/": "/about", "https://old.example/?p=7": "/blog/seven"}.get(url, "")

    def file(self, url: str, number: int = 0) -> File:
        if url == "https://old.example/wp-content/uploads/here.jpg":
            return File(url, "Here", "/photo/here")
        return File(url, "Foo" if "/wp-content/uploads/" in url else "")

    def gallery(self, ids: Sequence[int]) -> Sequence[File]:
        return [File(f"{PHOTO}?{number}", f"Picture {number}") for number in (ids or (1, 2)) if number < 100]

    def pattern(self, number: int) -> str | None:
        return {8: "<!-- wp:paragraph --><p>Open 9 to 5.</p><!-- /wp:paragraph -->"}.get(number)


def alone(url: str) -> str:
    """Return the conversion of a URL alone in its paragraph: an insert, or a link."""
    if "youtu" in url or "vimeo" in url:
        return f'<div data-insert="embed{{url={url}}}" data-line="0"></div>'
    return f'<p><a href="{url}">{url}</a></p>'


def body(source: str) -> Body:
    return convert(source, BASE, Library())


def html(source: str) -> str:
    return body(source).html

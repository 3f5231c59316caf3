"""A function that makes the URLs in clean HTML absolute, for feed readers, which show the text outside the site."""

import re
from html import escape, unescape
from urllib.parse import urljoin

# Matches tags as a serializer writes them. Attribute values are in double quotes and can contain ">".
_TAG = re.compile(r'<[a-z][^\s<>"]*+(?:\s++[^\s=<>"]++(?:="[^"]*+")?+)++\s*+/?>')
_ATTRIBUTE = re.compile(r'(?<=\s)(href|src|srcset|cite|poster)="([^"]*+)"')
_CANDIDATE = re.compile(r"(?:^|,)\s*(\S+?)((?:\s+[^,\s]+)?)\s*(?=,\s|$)")


def make_absolute(html: str, page: str) -> str:
    """Return the clean `html` with all URLs made absolute. `page` is the absolute URL of the page that contains it."""

    def attribute(match: re.Match[str]) -> str:
        name = match[1]
        value = unescape(match[2])
        if name == "srcset":
            value = ", ".join(_join(page, url) + size for url, size in _CANDIDATE.findall(value))
        else:
            value = _join(page, value)
        return f'{name}="{escape(value)}"'

    return _TAG.sub(lambda tag: _ATTRIBUTE.sub(attribute, tag[0]), html)


def _join(page: str, address: str) -> str:
    try:
        return urljoin(page, address.strip())
    except ValueError:  # such as "http://["
        return address

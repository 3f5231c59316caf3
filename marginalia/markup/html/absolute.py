"""Relative addresses in clean HTML made absolute: a feed's reader opens the text somewhere else."""

import re
from html import escape, unescape
from urllib.parse import urljoin

# Tags as a serializer writes them: attribute values in double quotes, which may hold ">".
_TAG = re.compile(r'<[a-z][^\s<>"]*+(?:\s++[^\s=<>"]++(?:="[^"]*+")?+)++\s*+/?>')
_ATTRIBUTE = re.compile(r'(?<=\s)(href|src|srcset|cite|poster)="([^"]*+)"')
_CANDIDATE = re.compile(r"(?:^|,)\s*(\S+?)((?:\s+[^,\s]+)?)\s*(?=,\s|$)")


def make_absolute(html: str, page: str) -> str:
    """Return the clean `html` of the page at the absolute address `page` with every address in it absolute."""

    def attribute(found: re.Match[str]) -> str:
        name = found[1]
        value = unescape(found[2])
        if name == "srcset":
            value = ", ".join(_join(page, url) + size for url, size in _CANDIDATE.findall(value))
        else:
            value = _join(page, value)
        return f'{name}="{escape(value)}"'

    return _TAG.sub(lambda tag: _ATTRIBUTE.sub(attribute, tag[0]), html)


def _join(page: str, address: str) -> str:
    try:
        return urljoin(page, address.strip())
    except ValueError:  # "http://[": no address at all
        return address

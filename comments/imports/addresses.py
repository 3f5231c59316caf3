"""Find the page to which an address of the old site leads."""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.utils.encoding import iri_to_uri

from marginalia.comments import targets
from marginalia.comments.types import Target

_TARGET = re.compile(r"[a-z_]\w*\.[a-z_]\w*:\S+")
# A rule has the form s|PATTERN|REPLACEMENT|, with any character instead of |.
_RULE = re.compile(r"s(?P<mark>[^\w\s\\])(?P<pattern>.+?)(?P=mark)(?P<replacement>.*?)(?P=mark)")


class BadRule(ValueError):
    """A rule or a line of a map can't be used."""


@dataclass(frozen=True)
class Addresses:
    """The rules that convert addresses.

    Attributes:
        rewrites: Pairs of a regular expression and its replacement. All of them are applied, in order.
        map: New addresses, by old address. It is applied first.
    """

    rewrites: tuple[tuple[re.Pattern[str], str], ...] = ()
    map: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_options(cls, rules: Iterable[str], map_file: Path | None) -> "Addresses":
        """Return the rules of the command line: rules such as s|^https://old/|/blog/|, and a CSV file.

        Raises:
            BadRule: A rule or a line of the file isn't valid.
        """
        return cls(tuple(map(_parse_rule, rules)), dict(_read_map(map_file)) if map_file else {})

    def convert(self, address: str) -> str:
        """Return the address of the new page, or "app.model:pk"."""
        if address in self.map:
            address = self.map[address]
        else:
            # The fragment leads to a comment, or to the discussion.
            address = address.partition("#")[0]
        for pattern, replacement in self.rewrites:
            address = pattern.sub(replacement, address)
        return address.strip()


def parse_name(address: str) -> Target | None:
    """Return the target if the address has the form "app.model:pk"."""
    return Target.parse(address) if _TARGET.fullmatch(address) else None


def path_of(address: str) -> str:
    """Return the path of a URL or path in a form in which two addresses of the same page are equal."""
    try:
        path = urlsplit(address.strip()).path
    except ValueError:
        return address
    return "/" + unquote(path).strip("/").removesuffix("/index.html").removesuffix("index.html")


def pages() -> Iterator[tuple[str, Target]]:
    """Yield the path and the target of each object that can have comments and has a page on this site."""
    for model in targets.registered():
        if not hasattr(model, "get_absolute_url"):
            continue
        for obj in model._default_manager.iterator(chunk_size=500):
            if (url := obj.get_absolute_url()).startswith("/"):
                yield path_of(url), targets.target_for(obj)


def foreign_url(address: str) -> str:
    """Return a URL without its query, in the form in which browsers write it, or "" if the address isn't a URL."""
    try:
        parts = urlsplit(iri_to_uri(address))
    except ValueError:
        return ""
    return parts._replace(query="").geturl() if parts.netloc else ""


def _parse_rule(rule: str) -> tuple[re.Pattern[str], str]:
    match = _RULE.fullmatch(rule)
    if match is None:
        raise BadRule(f"“{rule}” isn't a rule. Write it as 's|PATTERN|REPLACEMENT|'.")
    try:
        pattern = re.compile(match["pattern"])
        pattern.sub(match["replacement"], "")
    except (re.error, IndexError) as error:
        raise BadRule(f"“{rule}” isn't a valid rule: {error}") from error
    return pattern, match["replacement"]


def _read_map(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            for number, row in enumerate(csv.reader(file), start=1):
                if not row:
                    continue
                if len(row) != 2:
                    raise BadRule(f"{path}, line {number}: write the old address, a comma and the new address.")
                yield row[0].strip(), row[1].strip()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadRule(f"{path} can't be read: {error}") from error

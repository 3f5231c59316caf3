"""`python -m tools.rooms`: the house of the code, seen from above.

For each package: its rooms (direct modules and sub-packages, Django's conventional modules apart), the longest chain of
imports between them, and the arrows upward (imports that close a circle). With --check it ends with 1 where a bound is passed.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import grimp

PACKAGES = ("api", "cms", "comments", "comments.backends", "local", "markup", "mongo", "nodes", "wordpress")
# What every Django developer expects in an app, under these names.
CONVENTIONAL = frozenset(
    {"admin", "apps", "checks", "converters", "feeds", "forms", "locale", "management", "middleware", "migrations"}
    | {"models", "signals", "sitemaps", "static", "templates", "templatetags", "urls", "views"}
    | {"context_processors", "settings", "wsgi"}
    # This project's own, discovered by name in each app: what it keeps in MongoDB, what is examined in a running system; and
    # its settings, as in django.conf.
    | {"collections", "doctor", "conf"}
)
MOST_ROOMS, LONGEST_CHAIN = 10, 7
Arrows = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class House:
    """A package from above: how many rooms, how many of them in a row import each other, which imports close a circle."""

    package: str
    rooms: tuple[str, ...]
    chain: tuple[str, ...]
    upward: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        arrows = ", ".join(f"{one} → {other}" for one, other in self.upward) or "none"
        return f"| `{self.package}` | {len(self.rooms)} | {len(self.chain)} | {arrows} |"

    @property
    def is_within_bounds(self) -> bool:
        """Whether a newcomer can take it in at a glance."""
        return len(self.rooms) <= MOST_ROOMS and len(self.chain) <= LONGEST_CHAIN and not self.upward


def houses() -> list[House]:
    """Return every package that is there, measured by its imports."""
    roots = sorted({package.split(".")[0] for package in PACKAGES})
    there = [root for root in roots if _is_there(root)]
    graph = grimp.build_graph(*there, cache_dir=None, exclude_type_checking_imports=True)
    return [_house(graph, package) for package in PACKAGES if package in graph.modules]


def _is_there(root: str) -> bool:
    try:
        __import__(root)
    except ImportError:
        return False
    return True


def _house(graph: grimp.ImportGraph, package: str) -> House:
    children = sorted(graph.find_children(package))
    owner = {module: child for child in children for module in {child, *graph.find_descendants(child)}}
    arrows: dict[str, frozenset[str]] = {}
    for child in children:
        imported = {
            owner[name]
            for module in {child, *graph.find_descendants(child)}
            for name in graph.find_modules_directly_imported_by(module)
            if name in owner
        }
        arrows[child] = frozenset(imported - {child})
    upward = _closing(arrows)
    down = {one: frozenset(other for other in others if (one, other) not in upward) for one, others in arrows.items()}
    longest: dict[str, tuple[str, ...]] = {}
    for child in children:
        _chain(child, down, longest)
    chain = max(longest.values(), key=len, default=())
    short = {child: child.removeprefix(f"{package}.") for child in children}
    return House(
        package,
        tuple(short[child] for child in children if short[child] not in CONVENTIONAL),
        tuple(short[child] for child in chain),
        tuple(sorted((short[one], short[other]) for one, other in upward)),
    )


def _closing(arrows: Arrows) -> set[tuple[str, str]]:
    """Return the arrows that a depth-first walk finds leading back to where it came through."""
    closing, done, path = set(), set(), []

    def walk(room: str) -> None:
        path.append(room)
        for other in sorted(arrows[room]):
            if other in path:
                closing.add((room, other))
            elif other not in done:
                walk(other)
        done.add(path.pop())

    for room in sorted(arrows):
        if room not in done:
            walk(room)
    return closing


def _chain(room: str, arrows: Arrows, known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    if room not in known:
        below = (_chain(other, arrows, known) for other in sorted(arrows[room]))
        known[room] = (room, *max(below, key=len, default=()))
    return known[room]


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="end with 1 where a bound is passed")
    parser.add_argument("--chains", action="store_true", help="also print the longest chain of each package")
    options = parser.parse_args()
    measured = houses()
    sys.stdout.write("| Package | Rooms | Longest chain | Arrows upward |\n|---|---|---|---|\n")
    for house in measured:
        sys.stdout.write(f"{house}\n")
    if options.chains:
        for house in measured:
            sys.stdout.write(f"{house.package}: {' → '.join(house.chain)}\n  rooms: {', '.join(house.rooms)}\n")
    return int(options.check and not all(house.is_within_bounds for house in measured))


if __name__ == "__main__":
    sys.exit(main())

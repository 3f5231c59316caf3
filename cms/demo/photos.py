"""The demo's photos: files in `content/`, described in `photos.toml`."""

import tomllib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from bson import ObjectId

from cms.demo.content import FOLDER, identifier

AUTHOR = "Jun Watanabe"


@dataclass(frozen=True)
class DemoPhoto:
    """A photo in the demo.

    Attributes:
        path: The photo's gallery and slug, for example "plates/morning-fog".
    """

    path: PurePosixPath
    title: str
    alt: str
    summary: str
    tags: tuple[str, ...]
    # The photo's age in days when the demo is loaded.
    days: float
    # The point that stays visible in cropped copies, as fractions of the width and height.
    focal: tuple[float, float]

    @property
    def id(self) -> ObjectId:
        return identifier(str(self.path))

    @property
    def gallery_id(self) -> ObjectId:
        return identifier(str(self.path.parent))

    @property
    def file(self) -> Path:
        return FOLDER / self.path.with_suffix(".webp")

    def published(self, moment: datetime) -> datetime:
        """Return the time at which the photo counts as published in a demo loaded at `moment`."""
        return moment - timedelta(days=self.days)


@cache
def photos() -> tuple[DemoPhoto, ...]:
    """Return all photos in the demo, in the same order as in `photos.toml`."""
    described = tomllib.loads((FOLDER.parent / "photos.toml").read_text(encoding="utf-8"))
    return tuple(_photo(**entry) for entry in described["photo"])


def _photo(path: str, tags: list[str], focal: list[float], summary: str = "", **rest: Any) -> DemoPhoto:
    x, y = focal
    return DemoPhoto(PurePosixPath(path), summary=summary, tags=tuple(tags), focal=(x, y), **rest)

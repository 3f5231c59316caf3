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
    """One photo of the demo. `path` is its gallery and slug, as "plates/morning-fog"."""

    path: PurePosixPath
    title: str
    alt: str
    summary: str
    tags: tuple[str, ...]
    # Published so many days before the demo is loaded.
    days: float
    # The point that cropped copies keep in view: parts of the width and of the height.
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
        """Return when it was published for a demo that is loaded at `moment`."""
        return moment - timedelta(days=self.days)


@cache
def photos() -> tuple[DemoPhoto, ...]:
    """Return all photos of the demo, those of galleries first."""
    described = tomllib.loads((FOLDER.parent / "photos.toml").read_text(encoding="utf-8"))
    return tuple(_photo(**entry) for entry in described["photo"])


def _photo(path: str, tags: list[str], focal: list[float], summary: str = "", **rest: Any) -> DemoPhoto:
    x, y = focal
    return DemoPhoto(PurePosixPath(path), summary=summary, tags=tuple(tags), focal=(x, y), **rest)

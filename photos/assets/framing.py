"""Cropping and rotation by editors. The file doesn't change, and copies are made from the part that is shown.

Every point is a fraction of the width and height of the whole picture, from the top left, before the editor's rotation.
So crop, rotation and focal point are independent of each other, and simultaneous edits of them can be merged.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

Size = tuple[int, int]
Focal = tuple[float, float]
# Left, top, width, height.
Crop = tuple[float, float, float, float]
CENTRE: Focal = (0.5, 0.5)
EVERYTHING: Crop = (0.0, 0.0, 1.0, 1.0)
# URLs contain fractions as integers of this many steps. A step is smaller than a pixel of most pictures.
STEPS = 10_000
# Maximum pixels of a copy. A copy of a very tall picture is narrower than requested.
MAX_PIXELS = 16_000_000


@dataclass(frozen=True)
class Cut:
    """The part of a picture that is shown, where None means all, and its clockwise rotation in degrees after cropping."""

    crop: Crop | None = None
    rotation: int = 0

    @classmethod
    def of(cls, crop: Sequence[float] | None, rotation: int | None) -> Self:
        """Return the cut for the values in a photo's detail."""
        return cls((crop[0], crop[1], crop[2], crop[3]) if crop else None, rotation or 0)

    def __str__(self) -> str:
        cropped = f"-c{'x'.join(str(round(part * STEPS)) for part in self.crop)}" if self.crop else ""
        return f"{cropped}-r{self.rotation}" if self.rotation else cropped

    @property
    def swaps_sides(self) -> bool:
        """Whether the rotation swaps width and height."""
        return self.rotation in (90, 270)

    def size(self, whole: Sequence[int]) -> Size:
        """Return the size (pixels) of the shown part of a picture with the size `whole`."""
        _left, _top, width, height = self.crop or EVERYTHING
        across = max(round(whole[0] * width), 1)
        down = max(round(whole[1] * height), 1)
        return (down, across) if self.swaps_sides else (across, down)

    def point(self, focal: Focal | None) -> Focal:
        """Return a point of the whole picture as a point of the shown part, or the centre if there is no point.

        A point that was cropped away is moved to the edge.
        """
        if focal is None:
            return CENTRE
        left, top, width, height = self.crop or EVERYTHING
        across, down = (min(max(part, 0), 1) for part in ((focal[0] - left) / width, (focal[1] - top) / height))
        return {90: (1 - down, across), 180: (1 - across, 1 - down), 270: (down, 1 - across)}.get(
            self.rotation, (across, down)
        )

    def within(self, part: Crop) -> Crop:
        """Return a rectangle of the shown part as a rectangle of the whole picture."""
        corners = [self._unrotate(part[0], part[1]), self._unrotate(part[0] + part[2], part[1] + part[3])]
        (left, right), (top, bottom) = (sorted(ends) for ends in zip(*corners, strict=True))
        x, y, width, height = self.crop or EVERYTHING
        return x + left * width, y + top * height, (right - left) * width, (bottom - top) * height

    def _unrotate(self, across: float, down: float) -> Focal:
        """Return a point of the shown part as a point of that part before rotation."""
        return {90: (down, 1 - across), 180: (1 - across, 1 - down), 270: (1 - down, across)}.get(
            self.rotation, (across, down)
        )


WHOLE = Cut()


def scaled(size: Size, width: int) -> Size:
    """Return the size (pixels) of a copy of this width, but not larger than the picture or than MAX_PIXELS."""
    across, down = size
    factor = min(width / across, 1, math.sqrt(MAX_PIXELS / (across * down)))
    return max(round(across * factor), 1), max(round(down * factor), 1)

"""Cropping and rotation by editors. The file isn't changed. Copies are made from the visible part of the image.

Every point is stored as fractions of the width and height of the whole image, from the top left, before the editor's
rotation. The crop, the rotation and the focal point are therefore independent, and concurrent edits can be merged.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

Size = tuple[int, int]
Focal = tuple[float, float]
# A crop is (left, top, width, height), as fractions of the width and height of the whole image.
Crop = tuple[float, float, float, float]
CENTRE: Focal = (0.5, 0.5)
EVERYTHING: Crop = (0.0, 0.0, 1.0, 1.0)
# In URLs, fractions are written as integers from 0 to this number. In most images, one step is smaller than a pixel.
STEPS = 10_000
# Maximum number of pixels in a copy. Copies of very tall images are narrower than requested.
MAX_PIXELS = 16_000_000


@dataclass(frozen=True)
class Cut:
    """The visible part of an image (None for the whole image), and its clockwise rotation in degrees after cropping."""

    crop: Crop | None = None
    rotation: int = 0

    @classmethod
    def of(cls, crop: Sequence[float] | None, rotation: int | None) -> Self:
        """Return the Cut for a photo's `crop` and `rotation`."""
        return cls((crop[0], crop[1], crop[2], crop[3]) if crop else None, rotation or 0)

    def __str__(self) -> str:
        cropped = f"-c{'x'.join(str(round(part * STEPS)) for part in self.crop)}" if self.crop else ""
        return f"{cropped}-r{self.rotation}" if self.rotation else cropped

    @property
    def swaps_sides(self) -> bool:
        """Whether the rotation swaps the width and the height."""
        return self.rotation in (90, 270)

    def size(self, whole: Sequence[int]) -> Size:
        """Return the size, in pixels, of the visible part of an image whose full size is `whole`."""
        _left, _top, width, height = self.crop or EVERYTHING
        across = max(round(whole[0] * width), 1)
        down = max(round(whole[1] * height), 1)
        return (down, across) if self.swaps_sides else (across, down)

    def point(self, focal: Focal | None) -> Focal:
        """Convert a point in the whole image to a point in the visible part. If `focal` is None, return the centre.

        If the point was cropped away, it is moved to the edge.
        """
        if focal is None:
            return CENTRE
        left, top, width, height = self.crop or EVERYTHING
        across, down = (min(max(part, 0), 1) for part in ((focal[0] - left) / width, (focal[1] - top) / height))
        return {90: (1 - down, across), 180: (1 - across, 1 - down), 270: (down, 1 - across)}.get(
            self.rotation, (across, down)
        )

    def within(self, part: Crop) -> Crop:
        """Convert a rectangle in the visible part to a rectangle in the whole image."""
        corners = [self._unrotate(part[0], part[1]), self._unrotate(part[0] + part[2], part[1] + part[3])]
        (left, right), (top, bottom) = (sorted(ends) for ends in zip(*corners, strict=True))
        x, y, width, height = self.crop or EVERYTHING
        return x + left * width, y + top * height, (right - left) * width, (bottom - top) * height

    def _unrotate(self, across: float, down: float) -> Focal:
        """Convert a point in the visible part to the same point before rotation."""
        return {90: (down, 1 - across), 180: (1 - across, 1 - down), 270: (1 - down, across)}.get(
            self.rotation, (across, down)
        )


WHOLE = Cut()


def scaled(size: Size, width: int) -> Size:
    """Return the size, in pixels, of a copy with this width. It never exceeds the image's size or MAX_PIXELS."""
    across, down = size
    factor = min(width / across, 1, math.sqrt(MAX_PIXELS / (across * down)))
    return max(round(across * factor), 1), max(round(down * factor), 1)

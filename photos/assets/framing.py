"""What editors cut out of a picture, and how they turned it. The file stays as it is: copies are made of what is shown.

Every point is given in parts of the width and height of the whole picture, from the top left, as it lies before it is turned
by hand: so cropping, turning and the focal point depend on each other in no way, and edits of them merge.
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
# Addresses name parts as whole numbers of these: finer than the pixels of most pictures.
STEPS = 10_000
# Pixels of a copy: one of a picture as high as a tower is as wide as that leaves it.
MOST_PIXELS = 16_000_000


@dataclass(frozen=True)
class Cut:
    """The part of a picture that is shown (None: all of it), and by how many degrees it is turned clockwise after that."""

    crop: Crop | None = None
    rotation: int = 0

    @classmethod
    def of(cls, crop: Sequence[float] | None, rotation: int | None) -> Self:
        """Return the cut that a photo's detail says."""
        return cls((crop[0], crop[1], crop[2], crop[3]) if crop else None, rotation or 0)

    def __str__(self) -> str:
        cropped = f"-c{'x'.join(str(round(part * STEPS)) for part in self.crop)}" if self.crop else ""
        return f"{cropped}-r{self.rotation}" if self.rotation else cropped

    @property
    def lies(self) -> bool:
        """Whether width and height change places."""
        return self.rotation in (90, 270)

    def size(self, whole: Sequence[int]) -> Size:
        """Return the size (pixels) of what is shown of a picture of this size."""
        _left, _top, width, height = self.crop or EVERYTHING
        across = max(round(whole[0] * width), 1)
        down = max(round(whole[1] * height), 1)
        return (down, across) if self.lies else (across, down)

    def point(self, focal: Focal | None) -> Focal:
        """Return where a point is in what is shown, at the edge if it was cut away; the middle for none."""
        if focal is None:
            return CENTRE
        left, top, width, height = self.crop or EVERYTHING
        across, down = (min(max(part, 0), 1) for part in ((focal[0] - left) / width, (focal[1] - top) / height))
        return {90: (1 - down, across), 180: (1 - across, 1 - down), 270: (down, 1 - across)}.get(
            self.rotation, (across, down)
        )

    def within(self, part: Crop) -> Crop:
        """Return where a part of what is shown is in the whole picture."""
        corners = [self._unturned(part[0], part[1]), self._unturned(part[0] + part[2], part[1] + part[3])]
        (left, right), (top, bottom) = (sorted(ends) for ends in zip(*corners, strict=True))
        x, y, width, height = self.crop or EVERYTHING
        return x + left * width, y + top * height, (right - left) * width, (bottom - top) * height

    def _unturned(self, across: float, down: float) -> Focal:
        """Return where a point of what is shown is in it before it is turned by hand."""
        return {90: (down, 1 - across), 180: (1 - across, 1 - down), 270: (1 - down, across)}.get(
            self.rotation, (across, down)
        )


WHOLE = Cut()


def scaled(size: Size, width: int) -> Size:
    """Return the size (pixels) of a copy `width` wide of a picture: never larger than the picture is, nor than MOST_PIXELS."""
    across, down = size
    factor = min(width / across, 1, math.sqrt(MOST_PIXELS / (across * down)))
    return max(round(across * factor), 1), max(round(down * factor), 1)

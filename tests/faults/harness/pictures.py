"""Pictures whose every pixel follows from a number, so that what is stored can be compared with what was sent."""

import io
import random

from PIL import Image

SIZE = (420, 300)


def pixels(seed: int) -> bytes:
    """Return the pixels of the picture `seed`: noise, which nothing makes smaller, more than one chunk of it."""
    return random.Random(seed).randbytes(SIZE[0] * SIZE[1] * 3)


def png(seed: int) -> bytes:
    """Return the picture as a file."""
    target = io.BytesIO()
    Image.frombytes("RGB", SIZE, pixels(seed)).save(target, "PNG", compress_level=1)
    return target.getvalue()


def shows(data: bytes, seed: int) -> bool:
    """Whether a stored file is the picture `seed`, whole."""
    with Image.open(io.BytesIO(data)) as picture:
        return picture.size == SIZE and picture.convert("RGB").tobytes() == pixels(seed)

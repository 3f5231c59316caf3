"""Pictures whose pixels follow from a number, so that stored ones can be compared with sent ones."""

import io
import random

from PIL import Image

SIZE = (420, 300)


def pixels(seed: int) -> bytes:
    """Return the pixels of the picture `seed`: incompressible noise of more than one chunk."""
    return random.Random(seed).randbytes(SIZE[0] * SIZE[1] * 3)


def png(seed: int) -> bytes:
    """Return the picture as a file."""
    target = io.BytesIO()
    Image.frombytes("RGB", SIZE, pixels(seed)).save(target, "PNG", compress_level=1)
    return target.getvalue()


def shows(data: bytes, seed: int) -> bool:
    """Return whether a stored file is the complete picture `seed`."""
    with Image.open(io.BytesIO(data)) as picture:
        return picture.size == SIZE and picture.convert("RGB").tobytes() == pixels(seed)

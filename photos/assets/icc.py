"""A function that removes text from colour profiles (ICC.1:2022).

Names, descriptions and dates can reveal who worked where, and they don't affect the colours.
"""

import struct

HEADER = 128
# Tags that determine the colours. Other tags are removed or emptied, because they contain text or describe devices.
COLOURS = frozenset(
    b"rXYZ gXYZ bXYZ rTRC gTRC bTRC kTRC wtpt bkpt chad cicp gamt A2B0 A2B1 A2B2 B2A0 B2A1 B2A2 D2B0 D2B1 D2B2 D2B3 B2D0"
    b" B2D1 B2D2 B2D3 rig0 rig2".split()
)
TYPES = frozenset((b"XYZ ", b"curv", b"para", b"sf32", b"mft1", b"mft2", b"mAB ", b"mBA ", b"cicp", b"mpet", b"sig "))
# Tags that some programs require, so they are kept, but emptied. EMPTY contains an empty value (without the type name)
# for each type that these tags can have.
REQUIRED = frozenset((b"desc", b"cprt"))
EMPTY = {b"desc": bytes(4) + b"\0\0\0\1" + bytes(79), b"mluc": bytes(4) + struct.pack(">II", 0, 12), b"text": bytes(5)}
# Ranges in the header that are replaced with zeros: the date, the manufacturer and model, the creator, and the hash of
# the whole profile.
PERSONAL = ((24, 36), (48, 56), (80, 100), (100, 128))
MAX_TAGS = 100


def clean(profile: bytes) -> bytes:
    """Return a profile of the same length that contains only the colour data, or b"" if the profile is invalid."""
    if len(profile) < HEADER + 4 or profile[36:40] != b"acsp":
        return b""
    count = int.from_bytes(profile[HEADER : HEADER + 4], "big")
    table = profile[HEADER + 4 : HEADER + 4 + 12 * count]
    if count > MAX_TAGS or len(table) != 12 * count:
        return b""
    result = bytearray(len(profile))
    result[:HEADER] = profile[:HEADER]
    for start, stop in PERSONAL:
        result[start:stop] = bytes(stop - start)
    tags = []
    for name, start, length in struct.iter_unpack(">4sII", table):
        data = profile[start : start + length]
        if start < HEADER + 4 + len(table) or len(data) != length:
            return b""
        type = data[:4]
        if name in COLOURS and type in TYPES:
            result[start : start + length] = data
        elif name in REQUIRED and type in EMPTY and length >= 4 + len(EMPTY[type]):
            result[start : start + length] = (type + EMPTY[type]).ljust(length, b"\0")
        else:
            continue
        tags.append(struct.pack(">4sII", name, start, length))
    result[HEADER : HEADER + 4] = len(tags).to_bytes(4, "big")
    result[HEADER + 4 : HEADER + 4 + len(table)] = b"".join(tags).ljust(len(table), b"\0")
    result[:4] = len(result).to_bytes(4, "big")
    return bytes(result)

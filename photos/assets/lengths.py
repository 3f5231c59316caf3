"""The length that the standards specify for each part of an image file.

A longer part could contain data that doesn't belong to the image. Parts that contain no pixels and aren't listed here
are removed.
"""

# The lengths of EXIF data that fit into one JPEG segment.
EXIF = range(65_520)


def _exactly(length: int) -> range:
    return range(length, length + 1)


# For each marker, the length of a segment's body (ISO/IEC 10918-1, annex B). One segment can contain several tables.
DQT = 0xDB
DHT = 0xC4
DAC = 0xCC
DRI = 0xDD
JPEG = {DQT: range(65, 4 * 129 + 1), DHT: range(18, 8 * 273 + 1), DAC: range(2, 65), DRI: _exactly(2)}
# The length of a JFIF 1.02 segment without the thumbnail, and of an Adobe segment with the transform flag (Adobe
# technical note 5116).
JFIF = 14
ADOBE = 12
# PNG chunks (third edition). Suggested palettes and histograms aren't listed, so they are removed. They don't affect
# pixels and can contain text.
PNG = {
    b"IHDR": _exactly(13),
    b"PLTE": range(3, 769, 3),
    b"IEND": _exactly(0),
    b"tRNS": range(1, 257),
    b"gAMA": _exactly(4),
    b"cHRM": _exactly(32),
    b"sRGB": _exactly(1),
    b"cICP": _exactly(4),
    b"sBIT": range(1, 5),
    b"bKGD": range(1, 7),
    b"pHYs": _exactly(9),
    b"mDCV": _exactly(24),
    b"cLLI": _exactly(8),
    b"acTL": _exactly(8),
    b"fcTL": _exactly(26),
}
# GIF89a data blocks: the control block of a frame, and the loop count of an animation.
GIF_CONTROL = 4
GIF_LOOP = 3
# WebP chunks (RFC 9649), and the header before the chunks of a frame.
WEBP = {b"VP8X": 10, b"ANIM": 6}
WEBP_FRAME = 16
# AVIF properties that determine how a still image looks (ISO/IEC 23008-12). The lengths don't include the headers.
AVIF = {
    b"ispe": 12,
    b"irot": 1,
    b"imir": 1,
    b"pasp": 8,
    b"clli": 4,
    b"mdcv": 24,
    b"pixi": 16,
    b"colr": 11,
    b"av1C": 128,
}

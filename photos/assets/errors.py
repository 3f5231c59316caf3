"""Why bytes were not taken. The messages are meant for their sender."""

import struct
import zlib

from django.utils.translation import gettext as _

from nodes.errors import NodeError, TooBusy

# Raised by decoders for broken data. Errors of the database are none of these.
BROKEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    LookupError,
    MemoryError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


class BadPicture(NodeError):
    """The bytes are no picture that the site takes; the message says why. Nothing of them is kept."""


class DecoderBusy(TooBusy):
    """Other pictures kept the decoder of this process for too long; trying again is safe."""

    def __init__(self) -> None:
        NodeError.__init__(self, _("The site is busy with other pictures right now. Please send this one again."))


class UploadLost(NodeError):
    """The upload was taken for dead and swept, or another one holds the photo now."""

    def __init__(self) -> None:
        super().__init__(_("The upload was interrupted for too long and has been cleared away. Please send it again."))


class PhotoLocked(NodeError):
    """Another upload to the same photo is under way."""

    def __init__(self) -> None:
        super().__init__(_("Another editor is replacing this photo right now. Please try again when that is done."))

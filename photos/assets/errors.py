"""Errors of uploads. Their messages are for the user who sent the file."""

import struct
import zlib

from django.utils.translation import gettext as _

from nodes.errors import NodeError, TooBusy

# Exceptions that decoders raise for broken data. None of them is a superclass of the driver's exceptions.
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
    """The site doesn't accept the file as a photo. The message contains the reason. Nothing of the file is stored."""


class DecoderBusy(TooBusy):
    """Other photos used the decoder of this process for too long. Sending the file again is safe."""

    def __init__(self) -> None:
        NodeError.__init__(
            self, _("The site is busy with other photos. This one was not saved. Please upload it again.")
        )


class UploadLost(NodeError):
    """The upload was swept as stalled, or another upload owns the lock of the photo now."""

    def __init__(self) -> None:
        super().__init__(_("The upload was interrupted for too long and was deleted. Please upload the file again."))


class PhotoLocked(NodeError):
    """Another upload to the same photo is under way."""

    def __init__(self) -> None:
        super().__init__(_("Another editor is replacing this photo. Please try again in a moment."))

"""Upload errors. Their messages are shown to the user who uploads the file."""

import struct
import zlib

from django.utils.translation import gettext as _

from nodes.errors import NodeError, TooBusy

# Exceptions that decoders raise for broken data. None of these is a superclass of the driver's exceptions.
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


class BadFile(NodeError):
    """The site doesn't accept the file. The message gives the reason. Nothing is stored."""


class BadPicture(BadFile):
    """The site doesn't accept the file as a photo. The message gives the reason. Nothing is stored."""


def empty(error: type[BadFile]) -> BadFile:
    """Return the error for a file without bytes."""
    return error(_("This file is empty. Choose another one."))


def too_large(error: type[BadFile], max_bytes: int) -> BadFile:
    """Return the error for a file with more than `max_bytes` bytes."""
    return error(_("This file is too large. The maximum size is %(most)d MB.") % {"most": max_bytes >> 20})


class DecoderBusy(TooBusy):
    """Other images occupied this process's decoder for too long. It is safe to upload the file again."""

    def __init__(self) -> None:
        NodeError.__init__(
            self, _("The site is busy processing other photos. This photo was not saved. Please upload it again.")
        )


class UploadLost(NodeError):
    """The sweeper deleted the upload because it had stalled, or another upload now owns the photo's lock."""

    def __init__(self) -> None:
        super().__init__(_("The upload was interrupted for too long and was deleted. Please upload the file again."))


class PhotoLocked(NodeError):
    """Another upload to the same photo or file is in progress."""

    def __init__(self) -> None:
        super().__init__(_("Another editor is replacing this file. Please try again in a moment."))

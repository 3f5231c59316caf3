"""Why bytes were not taken. The messages are meant for their sender."""

from django.utils.translation import gettext as _

from nodes.errors import NodeError


class BadPicture(NodeError):
    """The bytes are no picture that the site takes; the message says why. Nothing of them is kept."""


class UploadLost(NodeError):
    """The upload was taken for dead and swept, or another one holds the photo now."""

    def __init__(self) -> None:
        super().__init__(_("The upload was interrupted for too long and has been cleared away. Please send it again."))


class PhotoLocked(NodeError):
    """Another upload to the same photo is under way."""

    def __init__(self) -> None:
        super().__init__(_("Another editor is replacing this photo right now. Please try again when that is done."))

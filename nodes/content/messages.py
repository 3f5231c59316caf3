"""Messages about content types and their fields that several modules show."""

from django.utils.translation import gettext as _


def unknown_type(type: str) -> str:
    """Return the message for a content type that no installed app declares."""
    return _("The content type “%(type)s” doesn't exist.") % {"type": type[:50]}


def unknown_field(name: str) -> str:
    """Return the message for a field that the content type doesn't have."""
    return _("The field “%(name)s” doesn't exist.") % {"name": name[:100]}


def invalid_value() -> str:
    """Return the message for a value that a field doesn't accept."""
    return _("This field doesn't accept this value.")


def section_gone() -> str:
    """Return the message for a section that was moved to the trash or deleted."""
    return _("This section no longer exists. It was moved to the trash or deleted. Choose another one.")


def photo_needs_file() -> str:
    """Return the message for an attempt to create a photo without a file."""
    return _("To add a photo, upload its file.")

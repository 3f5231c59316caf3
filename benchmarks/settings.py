"""The site's settings, with a hundred comments per page, as the measurements require."""

from cms.settings import *  # noqa: F403
from cms.settings import COMMENTS

COMMENTS.update(PAGE_SIZE=100)  # type: ignore[call-overload]

"""The product's settings with the one difference that what is measured needs: pages of a hundred comments."""

from cms.settings import *  # noqa: F403
from cms.settings import COMMENTS

COMMENTS.update(PAGE_SIZE=100)  # type: ignore[call-overload]

"""Who may do what with photos: asked by every page of the admin that shows or changes one, and for files that are not public.

Who writes may see the library and add to it; who may publish, or was given the right, changes what is in it.
"""

from typing import Any

SEEN_BY = ("view_photo", "add_photo", "change_photo", "add_node", "publish_node")


def may_see(user: Any) -> bool:
    """Return whether a user may see photos that are not public."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in SEEN_BY)


def may_add(user: Any) -> bool:
    """Return whether a user may upload new photos."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in ("add_photo", "add_node", "publish_node"))


def may_change(user: Any) -> bool:
    """Return whether a user may change, replace, move and throw away photos."""
    return _is_staff(user) and any(user.has_perm(f"nodes.{name}") for name in ("change_photo", "publish_node"))


def may_publish(user: Any) -> bool:
    """Return whether a user may make photos public."""
    return may_change(user)


def _is_staff(user: Any) -> bool:
    return bool(user.is_active and user.is_staff)

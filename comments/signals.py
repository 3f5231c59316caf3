"""The signals that the comments app sends."""

from django.dispatch import Signal

comment_will_be_posted = Signal()
"""Sent before a comment is stored, or before its author or a moderator changes it on the site.

Arguments: `comment` (`spam.Submission`, whose `edited` is the comment to change, or None for a new comment), `target`
(`Target`) and `request`. If a receiver returns False, the comment is refused, and the author sees the form again.
"""

comment_was_posted = Signal()
"""Sent once, after a comment has been stored. If the process crashes before the signal is sent, it is never sent.

Arguments: `comment` (`Comment`, or `HeldComment` if it has to wait for a moderator), `target` (`Target`) and `request`.
"""

comment_was_flagged = Signal()
"""Sent after a reader has flagged a comment, and after a moderator has removed or approved a comment.

Arguments: `comment` (`Comment`), `flag` ("flag", "removal" or "approval"), `created` (False if this reader had already
flagged the comment) and `request`.
"""

comment_was_liked = Signal()
"""Sent after a reader has liked a comment, or has taken the like back.

Arguments: `comment` (`Comment`), `liked` (False if the like was taken back) and `request`.
"""

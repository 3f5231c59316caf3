"""Signals that the comments app sends."""

from django.dispatch import Signal

comment_will_be_posted = Signal()
"""Sent before a comment is stored, or before its author or a moderator changes it on the site.

Arguments: `comment` (`spam.Submission`, whose `edited` is the comment to change, or None for a new one), `target` (`Target`),
`request`. If a receiver returns False, the comment is rejected, and the author sees the form again.
"""

comment_was_posted = Signal()
"""Sent once after a comment has been stored. If the process stops right after storing it, the signal is not sent.

Arguments: `comment` (`Comment`, or `HeldComment` if it waits for a moderator), `target` (`Target`), `request`.
"""

comment_was_flagged = Signal()
"""Sent after a reader flags a comment, and after a moderator removes or approves one.

Arguments: `comment` (`Comment`), `flag` ("flag", "removal" or "approval"), `created` (False if this reader had already flagged
the comment), `request`.
"""

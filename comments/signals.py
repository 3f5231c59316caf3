"""Signals that the comments app sends to the rest of a project."""

from django.dispatch import Signal

# Sent before a comment is stored, or changed by its author or a moderator on the site. Arguments: comment
# (spam.Submission; its `edited` is the comment to be changed, None for a new one), target (Target), request. A
# receiver that returns False vetoes the comment: the author gets the form back.
comment_will_be_posted = Signal()

# Sent once, after a comment was stored. Not sent if its writer stopped before sending it. Arguments: comment
# (Comment, or Held if it waits for a moderator), target (Target), request.
comment_was_posted = Signal()

# Sent after a reader flagged a comment, or a moderator removed or approved one. Arguments: comment (Comment), flag
# ("flag", "removal", "approval"), created (False if this reader had already flagged the comment), request.
comment_was_flagged = Signal()

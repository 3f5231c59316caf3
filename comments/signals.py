"""What comments tell the rest of a project."""

from django.dispatch import Signal

# Sent before a comment is stored, or changed by its author or a moderator on the site. Arguments: comment (spam.Submission;
# its `edited` is the comment that is changed, None for a new one), target (Target), request. A receiver that answers False
# vetoes it: the author gets the form back.
comment_will_be_posted = Signal()

# Sent after a comment was stored, once; not where its writer stopped in between. Arguments: comment (Comment, or Held if it
# waits), target (Target), request.
comment_was_posted = Signal()

# Sent after a reader flagged a comment, or a moderator removed or approved one. Arguments: comment (Comment), flag ("flag",
# "removal", "approval"), created (whether this reader had not flagged it before), request.
comment_was_flagged = Signal()

"""The texts that embed.js shows, in the site's language."""

from django.utils.translation import gettext as _


def texts() -> dict[str, str]:
    """Return the texts, keyed by the names that embed.js uses."""
    return {
        "answers": _("in reply to %(name)s"),
        "approve": _("Approve"),
        "busy": _("The site is busy. Your comment will be sent again in a few seconds."),
        "cancel": _("Cancel"),
        "closed": _("This discussion is closed."),
        "comment": _("Comment"),
        "commentingAs": _("You're commenting as %(name)s."),
        "delete": _("Delete"),
        "deleteQuestion": _("Delete this comment?"),
        "edit": _("Edit"),
        "edited": _("edited"),
        "email": _("Email"),
        "emailHelp": _("Optional. Your email address is never shown."),
        "expired": _("Your login has expired. Log in again, then reload the page."),
        "failed": _("The site can't be reached. Your text is still here. Please try again."),
        "heading": _("Write a comment"),
        "hide": _("Hide"),
        "hideQuestion": _("Hide this comment?"),
        "like": _("Like"),
        "login": _("Log in to comment."),
        "moderator": _("Moderator"),
        "name": _("Name"),
        "newer": _("Previous comments"),
        "none": _("No comments yet."),
        "notify": _("Email me about replies"),
        "older": _("More comments"),
        "pending": _("Your comment is waiting for approval. Until then, only you can see it."),
        "pendingModerator": _("This comment is waiting for approval."),
        "permalink": _("Link to this comment"),
        "post": _("Post"),
        "posted": _("Your comment was posted."),
        "preview": _("Preview"),
        "reject": _("Reject"),
        "remember": _("Remember me on this device"),
        "removed": _("This comment was removed."),
        "reply": _("Reply"),
        "replyTo": _("Reply to %(name)s"),
        "save": _("Save"),
    }

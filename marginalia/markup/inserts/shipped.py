"""The built-in inserts."""

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from marginalia.markup.html import anchors
from marginalia.markup.inserts import players
from marginalia.markup.inserts.base import Context, Insert, insert
from marginalia.markup.inserts.fields import AddressField, FileIdField, NodeIdField, PhotoIdField, PhotoIdsField
from marginalia.markup.text import is_empty


@insert("photo")
class PhotoInsert(Insert):
    """A photo with an optional caption, in its own line or beside the text."""

    label = _("Photo with caption")
    help = _("A photo with a caption: as wide as the text, wider, or beside the text.")
    template = "nodes/inserts/photo.html"

    photo = PhotoIdField(label=_("Photo"))
    caption = forms.CharField(label=_("Caption"), max_length=500, required=False)
    alt = forms.CharField(
        label=_("Alternative text"),
        max_length=500,
        required=False,
        help_text=_("Leave empty to use the photo's own alternative text."),
    )
    width = forms.ChoiceField(
        label=_("Width"),
        choices=[
            ("text", _("As wide as the text")),
            ("wide", _("Wider")),
            ("full", _("Full width")),
            ("half", _("Half of the text's width")),
            ("third", _("A third of the text's width")),
        ],
        initial="text",
    )
    align = forms.ChoiceField(
        label=_("Alignment"),
        choices=[("", _("In its own line")), ("left", _("Left of the text")), ("right", _("Right of the text"))],
        required=False,
        help_text=_(
            "Beside the text, a photo takes up half or a third of the text's width. On phones, it has its own line."
        ),
    )

    def context(self, context: Context) -> dict[str, Any] | None:
        photo = context.site.photo(self.cleaned_data["photo"])
        width = self.cleaned_data["width"]
        if self.cleaned_data["align"] and width != "third":
            width = "half"
        return {"photo": photo, "width": width} if photo else None

    def plain(self) -> str:
        return str(self.cleaned_data["caption"])


@insert("gallery")
class Gallery(Insert):
    """Rows of photos: the newest photos of a gallery, or photos that the editor chose."""

    label = _("Gallery")
    help = _("Photos in rows: the newest photos in a gallery, or photos that you choose.")
    template = "nodes/inserts/gallery.html"
    examples = {"section": "node:…"}  # noqa: RUF012
    most = 10

    section = NodeIdField(label=_("Gallery"), types=["gallery"], required=False)
    count = forms.IntegerField(label=_("Maximum number of photos"), min_value=1, max_value=48, initial=12)
    photos = PhotoIdsField(label=_("Photos (instead of a gallery)"), most=48, required=False)

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors and not values.get("section") and not values.get("photos"):
            raise forms.ValidationError(_("Enter a gallery (section=…) or one or more photos (photos=…)."))
        return values

    def context(self, context: Context) -> dict[str, Any] | None:
        values = self.cleaned_data
        if values["photos"]:
            photos = [photo for photo_id in values["photos"] if (photo := context.site.photo(photo_id))]
        else:
            photos = list(context.site.photos_of(values["section"], values["count"]))
        return {"photos": photos} if photos else None


@insert("file")
class FileInsert(Insert):
    """A link to download a file."""

    label = _("File to download")
    help = _("A link to download a file, with its type and size.")
    template = "nodes/inserts/file.html"
    # The beginning of the types of files that the insert plays.
    plays: ClassVar[str] = ""

    file = FileIdField(label=_("File"))
    text = forms.CharField(label=_("Text"), max_length=200, required=False)

    def context(self, context: Context) -> dict[str, Any] | None:
        file = context.site.file(self.cleaned_data["file"])
        if file is None:
            return None
        is_played = bool(self.plays) and file.metadata.detail.content_type.startswith(self.plays)
        return {"file": file, "is_played": is_played and not context.is_feed}

    def plain(self) -> str:
        return str(self.cleaned_data["text"])


@insert("audio")
class AudioInsert(FileInsert):
    """A player for an audio file."""

    label = _("Audio player")
    help = _("A player for an audio file, with a link to download the file.")
    template = "nodes/inserts/audio.html"
    plays = "audio/"


@insert("video")
class VideoInsert(FileInsert):
    """A player for a video file."""

    label = _("Video player")
    help = _("A player for a video file, with a link to download the file.")
    template = "nodes/inserts/video.html"
    plays = "video/"

    photo = PhotoIdField(label=_("Photo to show before playing"), required=False)

    def context(self, context: Context) -> dict[str, Any] | None:
        values = super().context(context)
        photo = self.cleaned_data["photo"]
        return None if values is None else {**values, "photo": context.site.photo(photo) if photo else None}


@insert("note")
class Note(Insert):
    """A highlighted box around paragraphs."""

    label = _("Note")
    help = _("A box around paragraphs, such as a note, a tip or a warning.")
    template = "nodes/inserts/note.html"
    is_container = True

    kind = forms.ChoiceField(
        label=_("Kind"),
        choices=[
            ("note", _("Note")),
            ("tip", _("Tip")),
            ("important", _("Important")),
            ("warning", _("Warning")),
            ("caution", _("Caution")),
        ],
        initial="note",
    )
    title = forms.CharField(label=_("Title"), max_length=200, required=False)

    def context(self, context: Context) -> dict[str, Any] | None:
        kind = self.cleaned_data["kind"]
        title = self.cleaned_data["title"]
        if not title and is_empty(context.content):
            return None
        return {"title": title or dict(self.fields["kind"].choices)[kind]}

    def plain(self) -> str:
        return str(self.cleaned_data["title"])


@insert("button")
class Button(Insert):
    """A link that looks like a button."""

    label = _("Button")
    help = _("A link that looks like a button.")
    template = "nodes/inserts/button.html"

    link = AddressField(label=_("URL"))
    text = forms.CharField(label=_("Text"), max_length=200)

    def plain(self) -> str:
        return str(self.cleaned_data["text"])


@insert("posts")
class Posts(Insert):
    """A list of the newest posts, which can be limited to one tag."""

    label = _("Newest posts")
    help = _("A list of the newest posts. You can limit it to one tag.")
    template = "nodes/inserts/posts.html"
    most = 10

    tag = forms.CharField(label=_("Tag"), max_length=100, required=False)
    count = forms.IntegerField(label=_("Maximum number of posts"), min_value=1, max_value=20, initial=5)

    def context(self, context: Context) -> dict[str, Any] | None:
        nodes = context.site.tagged(self.cleaned_data["tag"], self.cleaned_data["count"])
        return {"nodes": nodes} if nodes else None


@insert("contents")
class Contents(Insert):
    """A table of contents with links to the headings of the text."""

    label = _("Table of contents")
    help = _("Links to the headings in this text.")
    template = "nodes/inserts/contents.html"
    most = 1

    title = forms.CharField(label=_("Title"), max_length=200, required=False)
    levels = forms.IntegerField(label=_("Heading levels"), min_value=1, max_value=3, initial=2)

    def context(self, context: Context) -> dict[str, Any] | None:
        # A feed reader can show several posts on one page and remove the headings' ids, so feeds get no table of
        # contents.
        headings = [] if context.is_feed else anchors.outline(context.html, self.cleaned_data["levels"])
        return {"headings": headings} if headings else None


@insert("embed")
class Embed(Insert):
    """A video or post from another site. The content is loaded only when a reader clicks it."""

    label = _("Video or post from another site")
    help = _(
        "Embeds a video or post from YouTube, Vimeo, PeerTube or Mastodon. Until they click, readers see only a link "
        "(and a photo, if you choose one)."
    )
    template = "nodes/inserts/embed.html"
    examples = {"url": "https://www.youtube.com/watch?v=aqz-KE-bpKQ"}  # noqa: RUF012

    url = forms.URLField(label=_("URL"), max_length=500, assume_scheme="https")
    title = forms.CharField(label=_("Title"), max_length=200, required=False)
    photo = PhotoIdField(label=_("Photo from this site"), required=False)

    def clean_url(self) -> str:
        url = str(self.cleaned_data["url"])
        if players.find_player(url) is None:
            raise forms.ValidationError(
                _("This isn't the URL of a video or post on YouTube, Vimeo, PeerTube or Mastodon.")
            )
        return url

    def context(self, context: Context) -> dict[str, Any]:
        photo = self.cleaned_data["photo"]
        player = players.find_player(self.cleaned_data["url"])
        return {"player": player, "photo": context.site.photo(photo) if photo else None}

    def iframe_origins(self) -> frozenset[str]:
        player = players.find_player(self.cleaned_data["url"])
        return frozenset({player.origin}) if player else frozenset()

    def plain(self) -> str:
        return str(self.cleaned_data["title"])

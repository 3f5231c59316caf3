"""The page of one photo: what editors say of it, its file, what was its file before, and where it is used."""

from typing import Any

from bson import ObjectId
from django import forms
from django.contrib import messages
from django.contrib.admin.widgets import AdminTextareaWidget
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from mongo.connection import now
from nodes import kinds, photo_access, photo_addresses, photo_labels, tree
from nodes.admin.forms import NodeForm
from nodes.admin.photo_site import page
from nodes.admin.site import actor
from nodes.errors import EditConflict, InvalidPlace, InvalidSlug, NodeError, NotReady, SlugTaken
from nodes.models import Photo
from nodes.selectors import editing as versions
from nodes.selectors import photos as selectors
from nodes.selectors.editing import Version
from nodes.services import photos

PATHS = {"alt": "detail.alt", "focal": "detail.focal"}


class FocalField(forms.CharField):
    """A point as parts of width and height from the top left: "0.5 0.33"; empty for the middle."""

    def prepare_value(self, value: Any) -> Any:
        return f"{value[0]:g} {value[1]:g}" if isinstance(value, list | tuple) else value

    def clean(self, value: Any) -> list[float] | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            point = [round(float(part), 2) for part in text.replace(",", " ").split()]
        except ValueError as error:
            raise forms.ValidationError(_("Type two numbers from 0 to 1, or leave it empty.")) from error
        if len(point) != 2 or not all(0 <= part <= 1 for part in point):
            raise forms.ValidationError(_("Type two numbers from 0 to 1, or leave it empty."))
        return point


class PhotoForm(NodeForm):
    """What an editor says of a photo."""

    alt = forms.CharField(
        label=gettext_lazy("Alternative text"),
        required=False,
        max_length=500,
        widget=AdminTextareaWidget(attrs={"rows": 2}),
        help_text=gettext_lazy("What it shows, for those who cannot see it. Needed before it can be published."),
    )
    focal = FocalField(
        label=gettext_lazy("Focal point"),
        required=False,
        help_text=gettext_lazy("What must stay in the picture when it is cut square. Click on the picture to set it."),
    )

    def __init__(self, data: Any = None, *, user: Any, seen: Version | None) -> None:
        said = seen.fields if seen else {}
        initial = {name: said[path] for name, path in PATHS.items() if path in said}
        super().__init__(data, user=user, type=kinds.PHOTO, seen=seen, initial=initial)
        del self.fields["text"], self.fields["format"]
        self.fields["section"].label = _("Gallery")
        self.fields["summary"].label = _("Description")
        self.fields["summary"].help_text = ""
        order = (
            "title",
            "alt",
            "summary",
            "tags",
            "section",
            "slug",
            "focal",
            "published",
            "expires",
            "author",
            "comments",
        )
        self.order_fields(order)

    def mine(self) -> dict[str, Any]:
        """Return what the (valid) form says, by path."""
        said = {path: self.cleaned_data[name] for name, path in PATHS.items() if name in self.cleaned_data}
        return super().mine() | said


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Show a photo's form, or save it; after a conflict show both, with nothing typed lost."""
    photo = _photo(request, photo_id, photo_access.may_see)
    seen = Version.of(selectors.metadata(photo_id), photo.metadata.updated)
    if request.method != "POST":
        return _show(request, photo, PhotoForm(user=request.user, seen=seen))
    _photo(request, photo_id, photo_access.may_change)
    nonce = request.POST.get("nonce", "")
    known = versions.version(photo_id, ObjectId(nonce)) if ObjectId.is_valid(nonce) else None
    form = PhotoForm(request.POST, user=request.user, seen=known)
    if not form.is_valid():
        return _show(request, photo, form)
    try:
        return _save(request, photo_id, form, form.cleaned_data["nonce"] or ObjectId())
    except EditConflict as error:
        return _show(request, photo, _clashed(request, error, seen), status=409)
    except NodeError as error:
        field = {SlugTaken: "slug", InvalidSlug: "slug", InvalidPlace: "section", NotReady: "alt"}.get(type(error))
        form.add_error(field, str(error))
        return _show(request, photo, form)


def _save(request: HttpRequest, photo_id: ObjectId, form: PhotoForm, nonce: ObjectId) -> HttpResponse:
    """Save what the form says, and go on to where its button leads. Raises NodeError."""
    fields, form_id = form.mine(), form.cleaned_data["form"]
    if "_publish" in request.POST:
        fields["published"] = fields.get("published") or now()
    saved = photos.save(actor(request), photo_id, nonce, fields, form.tag_change(), form=form_id)
    link = format_html("<a href='{}'>{}</a>", photo_addresses.in_admin(photo_id), form.cleaned_data["title"])
    told = _("{} was saved, merged with somebody else's changes.") if saved.merged else _("{} was saved.")
    messages.success(request, format_html(told, link), extra_tags=f"saved-{form_id}")
    stays = "_continue" in request.POST
    return HttpResponseRedirect(
        photo_addresses.in_admin(photo_id) if stays else photo_addresses.library(fields["parent_id"])
    )


def _clashed(request: HttpRequest, error: EditConflict, seen: Version) -> PhotoForm:
    """Return the form as typed, over what is stored now: what only others changed is taken over, clashes are named."""
    names = {path: name for name, path in {**PATHS, **_PATHS}.items()}
    data = request.POST.copy()
    data["nonce"] = str(seen.nonce)
    clashes = {conflict.path: conflict for conflict in error.merge.conflicts}
    shown = PhotoForm(user=request.user, seen=seen)
    for path in error.merge.merged:
        if path in names and path not in error.merge.changes and path not in ("published", "expires", "author"):
            bound = shown[names[path]]
            data[bound.html_name] = bound.field.prepare_value(bound.initial) or ""
    form = PhotoForm(data, user=request.user, seen=seen)
    form.is_valid()
    for path, clash in clashes.items():
        said = "—" if clash.theirs in (None, "") else clash.theirs
        text = _("Somebody else changed this meanwhile, to: “%(said)s”. Saving again keeps what stands here.") % {
            "said": said
        }
        form.add_error(names.get(path), text)
    return form


_PATHS = {"title": "title", "slug": "slug", "section": "parent_id", "summary": "summary"}


def _show(request: HttpRequest, photo: Photo, form: PhotoForm, *, status: int = 200) -> HttpResponse:
    title, detail = photo.metadata.title, photo.metadata.detail
    context: dict[str, Any] = {
        "photo": photo,
        "picture": photo_addresses.picture(photo, sizes="(min-width: 60rem) 40rem, 100vw"),
        "original": photo_addresses.original(photo),
        "exif": photo_labels.facts(photo),
        "used_on": selectors.used_on(photo.pk),
        "twins": [selectors.get(i) for i in selectors.same_bytes(detail.sha256, photo.pk)],
        "former": selectors.former_contents(photo),
        "is_live": selectors.is_public(photo, tree.current(), now()),
        "may_change": photo_access.may_change(request.user),
        "markdown": photo_addresses.markdown(photo),
    }
    return page(request, "photo", title, form=form, status=status, **context)


@require_POST
def go_back(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Show a former content of a photo again."""
    _photo(request, photo_id, photo_access.may_change)
    content_id = request.POST.get("content", "")
    if not ObjectId.is_valid(content_id):
        raise Http404
    try:
        photos.go_back(actor(request), photo_id, ObjectId(content_id))
        messages.success(request, _("The former picture is shown again."))
    except NodeError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(photo_addresses.in_admin(photo_id))


@require_POST
def throw_away(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Move a photo to the trash, unless somebody changed it since its page was shown."""
    photo = _photo(request, photo_id, photo_access.may_change)
    nonce = request.POST.get("nonce", "")
    if not ObjectId.is_valid(nonce):
        raise Http404
    try:
        photos.throw_away(actor(request), photo_id, ObjectId(nonce))
        messages.success(request, _("“%(title)s” is in the trash.") % {"title": photo.metadata.title})
    except NodeError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(photo_addresses.in_admin(photo_id))
    return HttpResponseRedirect(photo_addresses.library(photo.metadata.parent_id))


def _photo(request: HttpRequest, photo_id: ObjectId, may: Any) -> Photo:
    """Return the photo for a user who may do that. Raises Http404, PermissionDenied."""
    photo = selectors.get(photo_id) if photo_access.may_see(request.user) else None
    if photo is None:
        raise Http404(_("There is no such photo, or it is not yours to see."))
    if not may(request.user):
        raise PermissionDenied
    return photo

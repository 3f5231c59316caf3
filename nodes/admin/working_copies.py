"""What is typed and not saved: forms send it here every few seconds, and offer it when their editor comes back to it."""

import secrets

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse, QueryDict
from django.views.decorators.http import require_POST
from django_mongodb_backend.forms import ObjectIdField

from mongo import rate_limit
from mongo.clock import now
from nodes import access, content
from nodes.admin.conflict import MINE, THEIRS
from nodes.admin.forms import NodeForm, form_of
from nodes.admin.photos.forms import PhotoForm
from nodes.services import working_copies as services

# An account keeps at most so many times in so many seconds: several tabs, each every few seconds.
LIMIT, SECONDS = 120, 60
# The largest whole number of a browser.
_LAST = 2**53 - 1
# What forms send beside their fields.
_BESIDE = frozenset({"type", "version", "publishing", "conflict"})
_SIDES = ("", f"{MINE}-", f"{THEIRS}-", "choice-")


class _Kept(forms.Form):
    """Which form sends what was typed into it: whose it is, and over which node."""

    _copy = ObjectIdField()
    _seq = forms.IntegerField(min_value=1, max_value=_LAST)
    _user = ObjectIdField()
    _node = ObjectIdField(required=False)
    type = forms.CharField()


@require_POST
def keep(request: HttpRequest) -> JsonResponse:
    """Keep what is typed into a form, for its editor alone; answer {"at": when}."""
    if not (access.may_list(request.user) or access.may_see_photos(request.user)):
        raise PermissionDenied
    said = _Kept(request.POST)
    if not said.is_valid() or not content.get(said.cleaned_data["type"]).is_installed:
        return JsonResponse({}, status=400)
    copy_id, seq, user_id, node_id, type = said.cleaned_data.values()
    if user_id != request.user.pk:
        # A form, or what a browser kept, of who was logged in before.
        raise PermissionDenied
    access.check_may_type(request.user, type, node_id)
    if not rate_limit.take(f"nodes.typed:{user_id}", limit=LIMIT, seconds=SECONDS, token=secrets.token_hex(8)):
        return JsonResponse({}, status=429, headers={"Retry-After": str(SECONDS)})
    services.keep(user_id, copy_id, seq, _fields(request.POST, _form_class(type)), type=type, node_id=node_id)
    return JsonResponse({"at": now().isoformat()})


def _form_class(type: str) -> type[NodeForm]:
    return PhotoForm if content.get(type).is_file else form_of(type)


def _fields(posted: QueryDict, form: type[NodeForm]) -> list[tuple[str, str]]:
    """Return what was sent of a form's fields, those of a conflict page among them."""
    return [(key, value) for key, values in posted.lists() if _is_known(key, form) for value in values]


def _is_known(key: str, form: type[NodeForm]) -> bool:
    """Return whether a form sends something under a key: a date and its time are two, those of rows many."""
    names = {*form.base_fields, *form.paths}
    for side in _SIDES:
        name = key.removeprefix(side)
        if key.startswith(side) and (name in names or any(name.startswith((f"{n}_", f"{n}-")) for n in names)):
            return True
    return key in _BESIDE

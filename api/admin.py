"""The page of the admin where an account makes and revokes its tokens. Who may change accounts sees, and revokes, all."""

from datetime import timedelta
from typing import Any

from bson import ObjectId
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from api.rights import tokens
from api.rights.scopes import LABELS, Scope
from api.rights.tokens import Token
from marginalia.mongo.clock import now

# Days that a token lasts, by choice; 0 for one that does not end.
LASTING = {
    30: gettext_lazy("30 days"),
    90: gettext_lazy("90 days"),
    365: gettext_lazy("A year"),
    0: gettext_lazy("Until it is revoked"),
}


class TokenForm(forms.Form):
    """What a new token is for."""

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, help_text=gettext_lazy("What the token is for, such as “mirror”.")
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it may do"),
        choices=[(scope.value, label) for scope, label in LABELS.items()],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=gettext_lazy("As far as you may yourself. With nothing ticked, it reads what every reader sees."),
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("It lasts"), choices=list(LASTING.items()), coerce=int, initial=90, empty_value=90
    )


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, shared: dict[str, Any]) -> HttpResponse:
    """List tokens, make one, revoke one. `shared`: what every page of the admin has."""
    if request.method == "POST" and "revoke" in request.POST:
        return _revoked(request)
    form = TokenForm(request.POST or None)
    secret = ""
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        expires = now() + timedelta(days=said["days"]) if said["days"] else None
        _token, secret = tokens.make(request.user, said["name"], [Scope(one) for one in said["scopes"]], expires)
        form = TokenForm()
    rows = [_row(token) for token in tokens.of_owner(_owner(request))]
    context = {
        "title": _("API tokens"),
        "form": form,
        "secret": secret,
        "rows": rows,
        "is_of_all": sees_all(request.user),
    }
    response = TemplateResponse(request, "admin/api/tokens.html", {**shared, **context})
    add_never_cache_headers(response)
    return response


def sees_all(user: Any) -> bool:
    """Return whether a user sees the tokens of all accounts."""
    return bool(user.has_perm("auth.change_user"))


def _owner(request: HttpRequest) -> ObjectId | None:
    return None if sees_all(request.user) else request.user.pk


def _revoked(request: HttpRequest) -> HttpResponse:
    named = request.POST["revoke"]
    if ObjectId.is_valid(named) and tokens.revoke(ObjectId(named), _owner(request)):
        messages.success(request, _("The token is revoked: it opens nothing any more."))
    return HttpResponseRedirect(request.path)


def _row(token: Token) -> dict[str, Any]:
    state = _("Revoked") if token.revoked else "" if token.is_valid(now()) else _("Expired")
    return {"token": token, "scopes": [LABELS[Scope(one)] for one in token.scopes if one in LABELS], "state": state}

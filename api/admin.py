"""The admin page where users create and revoke their API tokens.

Users with permission to change accounts can see and revoke all tokens.
"""

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

# The token lifetimes that the form offers, in days. If the value is 0, the token doesn't expire.
LIFETIMES = {
    30: gettext_lazy("30 days"),
    90: gettext_lazy("90 days"),
    365: gettext_lazy("1 year"),
    0: gettext_lazy("Until revoked"),
}


class TokenForm(forms.Form):
    """The form for creating a token."""

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, help_text=gettext_lazy("The token's purpose, such as “mirror”.")
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"),
        choices=[(scope.value, label) for scope, label in LABELS.items()],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=gettext_lazy(
            "The token can never do more than your account can. If you don't select any permissions, "
            "the token can read only public content."
        ),
    )
    days = forms.TypedChoiceField(
        label=gettext_lazy("Expires after"), choices=list(LIFETIMES.items()), coerce=int, initial=90, empty_value=90
    )


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, shared: dict[str, Any]) -> HttpResponse:
    """Show the API tokens. A POST request creates or revokes a token.

    Args:
        request: The request.
        shared: The template context shared by all admin pages.
    """
    if request.method == "POST" and "revoke" in request.POST:
        return _revoke(request)
    form = TokenForm(request.POST or None)
    secret = ""
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        expires = now() + timedelta(days=data["days"]) if data["days"] else None
        _token, secret = tokens.create(request.user, data["name"], [Scope(scope) for scope in data["scopes"]], expires)
        form = TokenForm()
    rows = [_row(token) for token in tokens.list_for(_owner_filter(request))]
    context = {
        "title": _("API tokens"),
        "form": form,
        "secret": secret,
        "rows": rows,
        "is_of_all": can_see_all(request.user),
    }
    response = TemplateResponse(request, "admin/api/tokens.html", {**shared, **context})
    add_never_cache_headers(response)
    return response


def can_see_all(user: Any) -> bool:
    """Return whether a user can see and revoke the tokens of all accounts."""
    return bool(user.has_perm("auth.change_user"))


def _owner_filter(request: HttpRequest) -> ObjectId | None:
    return None if can_see_all(request.user) else request.user.pk


def _revoke(request: HttpRequest) -> HttpResponse:
    token_id = request.POST["revoke"]
    if ObjectId.is_valid(token_id) and tokens.revoke(ObjectId(token_id), _owner_filter(request)):
        messages.success(request, _("The token was revoked and no longer works."))
    return HttpResponseRedirect(request.path)


def _row(token: Token) -> dict[str, Any]:
    state = _("Revoked") if token.revoked else "" if token.is_valid(now()) else _("Expired")
    return {
        "token": token,
        "scopes": [LABELS[Scope(scope)] for scope in token.scopes if scope in LABELS],
        "state": state,
    }

"""The list of people: the accounts with their roles, filtered by name, role and state."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from django import forms
from django.contrib.auth.models import Group, User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.accounts import invitations
from editor.lists import chips, page_url
from marginalia.mongo.clock import now
from nodes.models import Photo, tree
from photos import pictures
from reader.selectors import bylines

# The number of people per page of the list.
SIZE = 100
ACTIVE, INVITED, INACTIVE = "active", "invited", "inactive"
STATES: dict[str, str | Promise] = {
    ACTIVE: gettext_lazy("Active"),
    INVITED: gettext_lazy("Invited"),
    INACTIVE: gettext_lazy("Inactive"),
}
# Texts in which the search finds a word.
_SEARCHED = ("username", "first_name", "last_name", "email")


class PeopleFilterForm(forms.Form):
    """The filters of the list, as query parameters."""

    q = forms.CharField(
        label=gettext_lazy("Search"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": gettext_lazy("Search")}),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), required=False)
    state = forms.ChoiceField(
        label=gettext_lazy("State"), required=False, choices=[("", gettext_lazy("All")), *STATES.items()]
    )

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        groups = Group.objects.order_by("name").values_list("pk", "name")
        self.fields["role"].choices = [("", _("All")), *((str(pk), name) for pk, name in groups)]

    @property
    def roles(self) -> dict[str, str]:
        """The names of all roles, keyed by id as text."""
        return {pk: name for pk, name in self.fields["role"].choices if pk}

    def matching(self) -> QuerySet[User]:
        """Return the accounts that match the filters. Unknown values are ignored."""
        self.is_valid()
        data = {name: value for name, value in self.cleaned_data.items() if value}
        accounts = User.objects.all()
        for word in data.get("q", "").split():
            accounts = accounts.filter(_contains(word))
        if "role" in data:
            accounts = accounts.filter(groups=ObjectId(data["role"]))
        if "state" in data:
            accounts = accounts.filter(is_active=data["state"] != INACTIVE)
        if data.get("state") == INVITED:
            accounts = accounts.filter(invitations.INVITED)
        if data.get("state") == ACTIVE:
            accounts = accounts.exclude(invitations.INVITED)
        return accounts


def _contains(word: str) -> Q:
    conditions = Q()
    for name in _SEARCHED:
        conditions |= Q(**{f"{name}__icontains": word})
    return conditions


@dataclass(frozen=True)
class Person:
    """A row of the list.

    Attributes:
        details: The email address and, if it is different, the username.
        portrait: The photo on the person's page for readers, or None.
        state: The name and the label of the account's state.
    """

    user: User
    name: str
    details: tuple[str, ...]
    roles: str
    portrait: Photo | None
    state: tuple[str, str | Promise]


def people_list(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Show a page of the list. ?from= is the username of the last person on the previous page."""
    form = PeopleFilterForm(request.GET)
    matching = form.matching()
    page = list(matching.filter(username__gt=_cursor(request)).order_by("username")[: SIZE + 1])
    has_more = len(page) > SIZE
    context |= {
        "title": _("People"),
        "filters": form,
        "chips": chips(request, form),
        "people": _people(page[:SIZE], form.roles),
        "total": f"{matching.count():,}",
        "next": page_url(request, page[SIZE - 1].username) if has_more else "",
    }
    return render(request, "admin/auth/user/change_list.html", context)


def _cursor(request: HttpRequest) -> str:
    return request.GET.get("from", "").replace("\0", "")


def _people(accounts: Sequence[User], roles: dict[str, str]) -> list[Person]:
    """Return the rows for accounts. The number of queries doesn't depend on the number of accounts."""
    members = User.groups.through.objects.filter(user_id__in=[account.pk for account in accounts])
    names: dict[Any, list[str]] = {}
    for user_id, group_id in members.values_list("user_id", "group_id"):
        names.setdefault(user_id, []).append(roles.get(str(group_id), ""))
    portraits = _portraits(accounts)
    return [_person(account, sorted(names.get(account.pk, ())), portraits.get(account.pk)) for account in accounts]


def _person(account: User, roles: list[str], portrait: Photo | None) -> Person:
    name = account.get_full_name() or account.username
    details = dict.fromkeys(text for text in (account.email, account.username) if text and text != name)
    if account.is_superuser:
        roles = [_("Superuser"), *roles]
    return Person(account, name, tuple(details), ", ".join(roles), portrait, _state(account))


def _portraits(accounts: Sequence[User]) -> dict[Any, Photo | None]:
    """Return the photos on the pages about the authors with these names, keyed by the id of the account."""
    sections = tree.current()
    moment = now()
    by_account = ((account.pk, bylines.find_page(sections, account.get_full_name(), moment)) for account in accounts)
    author_pages = {pk: page for pk, page in by_account if page}
    pictures.attach(author_pages.values())
    return {pk: page.picture for pk, page in author_pages.items()}


def _state(account: User) -> tuple[str, str | Promise]:
    name = INACTIVE
    if account.is_active:
        name = INVITED if invitations.is_invited(account) else ACTIVE
    return name, STATES[name]

"""Accounts and groups in the admin: Django's own, with each role explained where it is given."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import ManyToManyField
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from cms.accounts import roles


class RolesField(forms.ModelMultipleChoiceField):
    """Groups, each with what its members may do."""

    def label_from_instance(self, group: Group) -> str:
        explained = roles.explained(group.name)
        return f"{group.name}: {explained}" if explained else group.name


class AccountAdmin(UserAdmin):
    filter_horizontal = ()
    readonly_fields = ("last_login", "date_joined")

    def formfield_for_manytomany(self, db_field: ManyToManyField, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "groups":
            kwargs["form_class"] = RolesField
        kwargs["widget"] = forms.CheckboxSelectMultiple
        return super().formfield_for_manytomany(db_field, request, **kwargs)


class RoleAdmin(GroupAdmin):
    list_display = ("name", "explained")
    filter_horizontal = ()

    def formfield_for_manytomany(self, db_field: ManyToManyField, request: HttpRequest, **kwargs: Any) -> Any:
        # Django's two boxes have labels that a screen reader is not told.
        return super().formfield_for_manytomany(db_field, request, **kwargs, widget=forms.CheckboxSelectMultiple)

    @admin.display(description=_("What its members may do"))
    def explained(self, group: Group) -> str:
        return roles.explained(group.name)


for model, replacing in ((User, AccountAdmin), (Group, RoleAdmin)):
    admin.site.unregister(model)
    admin.site.register(model, replacing)

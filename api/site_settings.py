"""The settings of the site: read and changed by administrators, with the checks of their form."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Body

from api.http import answers
from api.http.once import KEY, once
from api.http.routing import Router
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS
from api.rights.scopes import Scope
from api.schemas.writing import Settings, SettingsChange
from editor.settings import SettingsForm
from nodes import access
from nodes.errors import TooBusy
from nodes.models import stored_site
from nodes.models.stored_site import Site, StoredSettings
from nodes.services.site import SettingsConflict, invalidate, save_settings

router = Router(tags=["Site"])

# The version of settings that no one has set yet.
NEVER_SET = ObjectId("0" * 24)


@router.get("/site/settings", auth=ACCOUNTS, url_name="api-settings", response=Settings, summary="Read all settings")
def read(request: HttpRequest) -> HttpResponse:
    """Answer the settings as administrators see them. Their ETag is what If-Match takes for a change."""
    _check_rights(request)
    return _answer(request)


@router.patch(
    "/site/settings", auth=ACCOUNTS, url_name="api-settings", response=Settings, summary="Change settings",
    openapi_extra={"parameters": [answers.IF_MATCH, KEY]},
)  # fmt: skip
def change(request: HttpRequest, said: Body[SettingsChange]) -> HttpResponse:  # type: ignore[valid-type]
    """Change settings, as a JSON Merge Patch with If-Match. If others changed some since: 412, with what is stored."""
    _check_rights(request)
    wanted: dict[str, Any] = said.model_dump(exclude_unset=True)  # type: ignore[attr-defined]

    def work(form: ObjectId | None) -> HttpResponse:
        seen = answers.expected(request)
        changes = _cleaned(wanted)
        site = stored_site.read()
        present = asdict(site.settings)
        if all(present[name] == value for name, value in changes.items()):
            if _nonce(site) != seen:
                # It was stored by this very request, sent before, and readers may not have been told.
                invalidate()
            return _answer(request)
        if _nonce(site) != seen:
            raise _stale(changes)
        try:
            save_settings(changes, present)
        except SettingsConflict as error:
            raise _stale(changes) from error
        except TooBusy as error:
            raise Problem("unavailable", str(error), headers={"Retry-After": "1"}) from error
        return _answer(request)

    return once(request, work)


def _check_rights(request: HttpRequest) -> None:
    if not access.may_set_up(principals.having(request, Scope.ADMINISTER)):
        raise PermissionDenied


def _cleaned(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they are stored, if the form takes them. Raises Problem (422) naming those that it does not."""
    found = {}
    errors = []
    usual = asdict(StoredSettings())
    for name, value in wanted.items():
        try:
            # A photo is written by its id.
            found[name] = usual[name] if value is None else SettingsForm.base_fields[name].clean(value)
        except ValidationError as error:
            errors.append((f"body.{name}", " ".join(error.messages)))
    if errors:
        raise Problem("invalid", errors=errors)
    return found


def _nonce(site: Site) -> ObjectId:
    return site.nonce or NEVER_SET


def _stale(changes: Mapping[str, Any]) -> Problem:
    site = stored_site.read()
    present = asdict(site.settings)
    sides = {"stored": {name: present[name] for name in changes}, "yours": dict(changes)}
    said = json.loads(json.dumps(sides, default=answers.as_json))
    return Problem("stale", "Others have changed settings since.", etag=f'"{_nonce(site)}"', **said)


def _answer(request: HttpRequest) -> HttpResponse:
    site = stored_site.read()
    return answers.told(request, asdict(site.settings), nonce=_nonce(site))

"""Endpoints that read and change the site's settings.

Only administrators can use these endpoints. The fields of the admin form check the values.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from ninja import Body

from api.http import responses
from api.http.idempotency import KEY_PARAMETER, run_once
from api.http.routing import Router
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS
from api.rights.scopes import Scope
from api.schemas.writing import Settings, SettingsChange
from nodes import access, setting_fields
from nodes.errors import TooBusy
from nodes.models import stored_site
from nodes.models.stored_site import Site, StoredSettings
from nodes.services.site import SettingsConflict, invalidate, save_settings

router = Router(tags=["Site"])

# The nonce in the ETag of the settings if the settings have never been saved.
UNSAVED_NONCE = ObjectId("0" * 24)


@router.get(
    "/site/settings",
    auth=ACCOUNTS,
    operation_id="settings_get",
    url_name="api-settings",
    response=Settings,
    summary="Read all settings",
)
def read(request: HttpRequest) -> HttpResponse:
    """Return the settings as administrators see them. Send the ETag in If-Match to change settings."""
    _check_rights(request)
    return _settings_response(request)


@router.patch(
    "/site/settings",
    auth=ACCOUNTS,
    operation_id="settings_change",
    url_name="api-settings",
    response=Settings,
    summary="Change settings",
    openapi_extra={"parameters": [responses.IF_MATCH, KEY_PARAMETER]},
)
def change(request: HttpRequest, data: Body[SettingsChange]) -> HttpResponse:  # type: ignore[valid-type]
    """Change settings with a JSON Merge Patch and If-Match.

    If someone else has changed the settings since you read them, the response is 412 and contains the stored values.
    """
    _check_rights(request)
    patch: dict[str, Any] = data.model_dump(exclude_unset=True)  # type: ignore[attr-defined]

    def work(request_id: ObjectId | None) -> HttpResponse:
        seen = responses.if_match_nonce(request)
        changes = _clean(patch)
        site = stored_site.read()
        present = asdict(site.settings)
        if all(present[name] == value for name, value in changes.items()):
            if _nonce(site) != seen:
                # An earlier attempt at this request stored the changes, but may have failed before invalidating the
                # caches.
                invalidate()
            return _settings_response(request)
        if _nonce(site) != seen:
            raise _stale_problem(changes)
        try:
            save_settings(changes, present)
        except SettingsConflict as error:
            raise _stale_problem(changes) from error
        except TooBusy as error:
            raise Problem("unavailable", str(error), headers={"Retry-After": "1"}) from error
        return _settings_response(request)

    return run_once(request, work)


def _check_rights(request: HttpRequest) -> None:
    if not access.may_set_up(principals.require_scope(request, Scope.ADMINISTER)):
        raise PermissionDenied


def _clean(patch: Mapping[str, Any]) -> dict[str, Any]:
    """Check values with the fields of the admin form, and return them in their stored form.

    Raises:
        Problem: 422, with an error for each invalid setting.
    """
    cleaned = {}
    errors = []
    defaults = asdict(StoredSettings())
    for name, value in patch.items():
        try:
            # If the setting is a photo, the value is the photo's id, which the form field also accepts.
            cleaned[name] = defaults[name] if value is None else setting_fields.FIELDS[name].clean(value)
        except ValidationError as error:
            errors.append((f"body.{name}", " ".join(error.messages)))
    if errors:
        raise Problem("invalid", errors=errors)
    return cleaned


def _nonce(site: Site) -> ObjectId:
    return site.nonce or UNSAVED_NONCE


def _stale_problem(changes: Mapping[str, Any]) -> Problem:
    site = stored_site.read()
    present = asdict(site.settings)
    sides = {"stored": {name: present[name] for name in changes}, "yours": dict(changes)}
    json_sides = json.loads(json.dumps(sides, default=responses.json_default))
    return Problem(
        "stale",
        "Someone else has changed these settings since you read them. Nothing was changed.",
        etag=f'"{_nonce(site)}"',
        **json_sides,
    )


def _settings_response(request: HttpRequest) -> HttpResponse:
    site = stored_site.read()
    return responses.json_response(request, asdict(site.settings), nonce=_nonce(site))

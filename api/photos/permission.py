"""Whether a client may send a picture: the question of the proxy in front, before it accepts the body (deploy/nginx.conf)."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from api.rights import principals
from nodes import access


@never_cache
@require_safe
def may_send(request: HttpRequest) -> HttpResponse:
    """Answer 204 to users with permission to upload or replace photos, 401 to visitors and invalid tokens, 403 to others.

    The view that gets the body checks the gallery or photo.
    """
    principal = principals.sender(request)
    if principal is None:
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    is_allowed = access.may_add_photos(principal) or access.may_change_photos(principal)
    return HttpResponse(status=204 if is_allowed else 403)

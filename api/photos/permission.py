"""The permission check that nginx requests before it accepts the body of a photo upload (deploy/nginx.conf)."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from api.rights import principals
from photos.actions import may_send_files


@never_cache
@require_safe
def may_send(request: HttpRequest) -> HttpResponse:
    """Tell nginx whether the client can upload or replace photos.

    The status is 204 for users with this permission, 401 for visitors and invalid tokens, and 403 for other users. The
    view that later receives the body checks the permission for the particular gallery or photo.
    """
    principal = principals.for_writing(request)
    if principal is None:
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    return HttpResponse(status=204 if may_send_files(principal) else 403)

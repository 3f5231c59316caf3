"""Posting comments, changing and deleting one's own: by the rules of the forms."""

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import salted_hmac

from api.comments import presenting, refusals, shapes
from api.comments.addresses import ALL, ONE, CommentSlug, IfMatch, Key, NodeId, discussed, seen_rev
from api.comments.reading import router
from api.http.once import HEADER
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS, ANYONE, Principal
from api.rights.scopes import Scope
from marginalia.comments import signals
from marginalia.comments.posting import flags, own, policy, services
from marginalia.comments.posting.forms import CommentForm, EditForm, user_key
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.posting.views import submission
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, Held, Target

# Visitors share their keys: of these no two may be alike by chance.
SHORTEST_KEY = 16


@router.post(
    ALL, auth=ANYONE, url_name="api-comments", response={201: shapes.Comment}, summary="Post a comment"
)  # fmt: skip
@refusals.told()
def post(request: HttpRequest, node_id: NodeId, said: shapes.NewComment, key: Key) -> HttpResponse:
    """Post a comment, as a visitor or by an account: a token needs the scope “write”. `state` says whether readers see it, or
    it waits for a moderator. Sent again with the same key and text, the answer is that of the first time."""
    target, obj = discussed(node_id)
    principal = principals.of(request)
    if principal.is_authenticated:
        principals.having(request, Scope.WRITE)
    elif len(key) < SHORTEST_KEY:
        raise Problem("invalid", errors=[(f"header.{HEADER}", f"It has at least {SHORTEST_KEY} characters.")])
    sender = _sender(request, principal)
    form = CommentForm({**said.model_dump(), "token": key}, user=principal)
    _check(form)
    parent = said.parent or ""
    token = FormToken(str(target), parent, _nonce(target, parent, principal, key), begun=0, user=user_key(principal))
    posted = services.submit(sender, obj, submission(request, token, form))
    shown = posted.comment or posted.held
    assert shown is not None
    response = presenting.one(request, obj, shown, status=201)
    response["Location"] = reverse("api:api-comment", args=[node_id, shown.slug])
    return response


def _nonce(target: Target, parent: str, principal: Principal, key: str) -> str:
    """Return what names an intent in the place of a form's token: a key is its owner's, for one place; visitors have no name
    that proves anything, so that their keys are as good as they are random."""
    intent = "\0".join((str(target), parent, user_key(principal), key))
    return salted_hmac("api.comments.key", intent, algorithm="sha256").hexdigest()


def _sender(request: HttpRequest, principal: Principal) -> Sender:
    """Return who sends, for the rules: they ask the request's user, which of a token is its owner as far as scopes go."""
    request.user = principal
    return Sender(request, ())


def _check(form: CommentForm | EditForm) -> None:
    """Raise Problem (422) with the path of each field in which a form has an error."""
    if not form.is_valid():
        told = [(f"body.{name}", message) for name, messages in form.errors.items() for message in messages]
        raise Problem("invalid", errors=told)


def _changing(request: HttpRequest, node_id: str, slug: str) -> tuple[Sender, Comment | Held, Model]:
    """Return who wants to change a comment, this, and what it is about. Raises Problem (403, 404), CommentNotFound."""
    principal = principals.of(request)
    if not policy.is_moderator(principal):
        principals.having(request, Scope.WRITE)
    target, obj = discussed(node_id)
    found = own.waiting(target, slug, (), principal) or selectors.get(target, slug)
    return _sender(request, principal), found, obj


@router.patch(ONE, auth=ACCOUNTS, url_name="api-comment", response=shapes.Comment, summary="Change a comment")
@refusals.told()
def change(
    request: HttpRequest, node_id: NodeId, slug: CommentSlug, said: shapes.NewText, if_match: IfMatch = ""
) -> HttpResponse:
    """Replace the text of one's own comment, as long as the site lets authors do that; moderators always may. Of a comment
    that has changed since it was read, 412 has the present one as `stored`."""
    rev = seen_rev(request)
    sender, found, obj = _changing(request, node_id, slug)
    # Who sends it again makes the same change: it is named by what it was made on, and by its text.
    form = EditForm({"text": said.text, "rev": rev, "nonce": f"api {rev}"})
    _check(form)
    try:
        services.revise(sender, obj, found, **form.cleaned_data)
    except Refused as refused:
        problem = refusals.of(refused)
        if problem.kind == "stale":
            stored = _changing(request, node_id, slug)[1]
            problem.more["stored"] = presenting.several(request, obj, [stored])[0]
        raise problem from refused
    return presenting.one(request, obj, _changing(request, node_id, slug)[1])


@router.delete(ONE, auth=ACCOUNTS, url_name="api-comment", response={204: None}, summary="Delete a comment")
@refusals.told()
def delete(request: HttpRequest, node_id: NodeId, slug: CommentSlug, if_match: IfMatch = "") -> HttpResponse:
    """Delete one's own comment, as long as the site lets authors do that; one that waits is withdrawn. Moderators remove any:
    its place is left, and it can be restored."""
    rev = seen_rev(request)
    sender, found, _obj = _changing(request, node_id, slug)
    gone = HttpResponse(status=204)
    if isinstance(found, Comment) and found.removed:
        return gone
    if not sender.is_moderator and not own.may_change(found, (), sender.request.user):
        raise Problem("forbidden", "This comment can no longer be deleted.")
    if isinstance(found, Held):
        if found.rev != rev:
            raise Problem("stale")
        services.withdraw(found.id)
        return gone
    removed = services.remove(found.target, slug, rev=rev, by=user_key(sender.request.user))
    if sender.is_moderator:
        flags.settle(found.target, slug)
        signals.comment_was_flagged.send(Comment, comment=removed, flag="removal", created=True, request=request)
    return gone

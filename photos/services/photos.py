"""Services that upload photos and files, replace their bytes, and restore earlier bytes.

The services for nodes change the tags of photos, and trash and restore photos.
"""

import functools
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from bson import ObjectId
from django.utils.translation import gettext as _
from pymongo.errors import DuplicateKeyError

from marginalia.markup.characters import is_blank
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes import merging
from nodes.collections import ASSET_FILES, ASSETS, REVISIONS, node_filter
from nodes.content import CONTENT, FILE, PHOTO
from nodes.errors import ChangedSince, IdTaken, NodeError, NodeGone, SlugTaken
from nodes.selectors import slugs, stored_photos
from nodes.services import derived, editing, rules, scope, trash
from nodes.services.retrying import retry_compare_and_set
from nodes.services.site import invalidate
from nodes.services.write import compare_and_set, insert_revision, new_metadata
from nodes.signals import photo_added, send_event, send_saved
from nodes.types import Actor, Change, Saved, TagChange
from photos.assets import contents
from photos.assets.blobs import IncomingFile, ReceivedFile
from photos.assets.errors import PhotoLocked, UploadLost
from photos.assets.locks import Lock, free_or_stale_filter
from photos.assets.writer import IncomingPhoto, ReceivedPhoto, Writer, new_id
from photos.services import copies

MAX_NAME_LENGTH = 200
# The fields of `detail` that describe the file. They change when the file is replaced.
CONTENT_FIELDS = (
    "content_type",
    "filename",
    "resolution",
    "size",
    "sha256",
    "dhash",
    "colour",
    "exif",
    "crop",
    "rotation",
)
# The fields of a file's `detail`.
FILE_FIELDS = ("content_type", "filename", "size", "sha256")
# Resets the crop and the rotation when the file is replaced, because they don't fit the new image.
NO_CUT = {"detail.crop": None, "detail.rotation": None}

save = functools.partial(editing.save, collection=ASSET_FILES)
move_to_trash = functools.partial(trash.trash, collection=ASSET_FILES)


Result = TypeVar("Result")
Received = ReceivedPhoto | ReceivedFile


@dataclass(frozen=True)
class Uploaded:
    """A completed upload. `duplicates` contains the ids of other photos with identical bytes."""

    id: ObjectId
    nonce: ObjectId
    title: str
    duplicates: tuple[ObjectId, ...] = field(default=())


class Receiving(ABC, Generic[Result]):
    """A photo or file that is being received. Call `feed` with its bytes, then call `finish` or `abort`.

    To process a whole file at once, call `write` instead.
    """

    @abstractmethod
    def feed(self, data: bytes) -> None:
        """Store the next bytes.

        Raises:
            BadFile: The site doesn't accept the file.
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
        """

    @abstractmethod
    def finish(self) -> Result:
        """Check the received bytes, and make the photo or file use them."""

    @abstractmethod
    def abort(self) -> None:
        """Delete everything that has been stored for an unfinished file. After `finish`, this method does nothing."""

    def write(self, pieces: Iterable[bytes]) -> Result:
        """Store the bytes from their pieces, and make the photo or file use them.

        If `feed` or `finish` raises an exception, everything that was stored is deleted.
        """
        try:
            for piece in pieces:
                self.feed(piece)
            return self.finish()
        finally:
            self.abort()


class Upload(Receiving[Uploaded]):
    """An upload of a new photo into a gallery. FileUpload extends this class for files.

    The slug is reserved at the start, but the photo remains invisible until the upload is finished. After an exception,
    nothing is left behind.

    Args:
        actor: The author of the change.
        gallery_id: The gallery's id, or None for the library, which readers don't see.
        filename: The name of the file.
        title: The title, or "" to use the name of the file.
        slug: The slug, or "" to derive it from the title.
        fields: Other fields, keyed by path, such as "detail.alt" and "published".
        tags: The tags.
        photo_id: An id chosen by the caller. It must not be the id of an existing photo or another upload.

    Raises:
        InvalidPlace: The gallery can't contain the photo.
        IdTaken: Another document has the id.
        InvalidSlug: The slug can't be part of a URL, or it is reserved.
        SlugTaken: Another photo in the gallery has the slug. This exception is raised only if the slug was set
            explicitly.
    """

    type = PHOTO

    def __init__(
        self,
        actor: Actor,
        gallery_id: ObjectId | None,
        filename: str,
        *,
        title: str = "",
        slug: str = "",
        fields: Mapping[str, Any] | None = None,
        tags: tuple[str, ...] = (),
        photo_id: ObjectId | None = None,
    ) -> None:
        check_destination(gallery_id, slug, self.type)
        if photo_id is not None:
            rules.check_id(photo_id, uploaded=True)
            if database()[ASSET_FILES].find_one({"_id": photo_id}, {"_id": 1}):
                raise IdTaken(photo_id)
        self._actor = actor
        self._filename = clean_filename(filename)
        self._fields = dict(fields or {})
        self.id = photo_id or new_id()
        self.title = title_of(title, filename)
        self._explicit_slug = slugs.normalized(slug)
        self._insert(gallery_id, tags)
        self._incoming = incoming(self.type, self._writer, self._filename)

    def _insert(self, gallery_id: ObjectId | None, tags: tuple[str, ...]) -> None:
        slug = self._explicit_slug
        metadata = new_metadata(self._actor, self.type, parent_id=gallery_id, slug=slug, title=self.title, tags=tags)
        metadata |= {"content_id": None, "detail": self._empty_detail()}

        def attempt() -> Writer | None:
            metadata["slug"] = slug or slugs.find_free(self.title, gallery_id, ASSET_FILES)
            place = {"metadata.parent_id": gallery_id, "metadata.slug": metadata["slug"]}
            try:
                return Writer(ASSETS, self.id, self._filename, metadata, place=place)
            except DuplicateKeyError as error:
                if slug:
                    raise SlugTaken(slug, slugs.find_free(slug, gallery_id, ASSET_FILES)) from error
                return None

        self._writer = retry_compare_and_set(attempt)

    def _empty_detail(self) -> dict[str, Any]:
        """Return the detail to store until the bytes have been received."""
        return {"filename": self._filename, "alt": "", "focal": None}

    def feed(self, data: bytes) -> None:
        self._incoming.feed(data)

    def finish(self, fields: Mapping[str, Any] | None = None, tags: tuple[str, ...] = ()) -> Uploaded:
        """Check the received file, and complete the photo. The photo is a draft unless `fields` makes it public.

        `fields` and `tags` are added to the values passed to the constructor, because in a submitted form, fields can
        follow files.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
            NotReady: The photo lacks something that is required for publishing.
            FieldRefused: A value can't be stored.
            TooBusy: Other writers kept changing the photo.
        """
        self._fields |= fields or {}
        self._late_title = str((fields or {}).get("title", ""))
        received = self._incoming.end()
        try:
            return retry_compare_and_set(lambda: self._complete(received, tags))
        except NodeError:
            self.abort()
            raise

    def _complete(self, received: Received, tags: tuple[str, ...]) -> Uploaded | None:
        """Store the remaining fields of the uploaded photo, insert its first revision, and release the lock.

        Return None if the photo has changed since it was read, or if its slug is already in use.
        """
        stored = self._writer.lock.find({"metadata": 1})
        if stored is None:
            raise UploadLost
        values = self._values(received) | self._new_slug(stored["metadata"])
        before = stored["metadata"]
        after = {**before, **merging.nested({**merging.fields(before), **values}), "nonce": ObjectId(), "locked": None}
        after["tags"] = rules.apply_tags(TagChange(added=frozenset(tags)), before["tags"])
        rules.check_ready(after)
        insert_revision(self.id, None, after, self._actor)
        changes = {f"metadata.{path}": value for path, value in values.items()}
        changes |= {
            "metadata.tags": after["tags"],
            "metadata.nonce": after["nonce"],
            "derived": derived.derive_to_store(after),
        }
        try:
            is_done = self._writer.finish(changes, **{"metadata.nonce": before["nonce"]})
        except DuplicateKeyError:
            # Another node already uses the slug that was derived from the title. The caller retries with another slug.
            return None
        if not is_done:
            return None
        invalidate(scope.of_new(after))
        send_saved(self.id, None, after, {*values, *(["tags"] if after["tags"] else [])})
        return Uploaded(self.id, after["nonce"], after["title"], self._added(received))

    def _added(self, received: Received) -> tuple[ObjectId, ...]:
        """Start everything that follows the upload of a photo. Return the ids of photos with identical bytes."""
        copies.enqueue(self.id, self.id)
        send_event(photo_added, self.id, PHOTO)
        return stored_photos.same_bytes(received.sha256, self.id)

    def abort(self) -> None:
        self._incoming.abort()

    def _values(self, received: Received) -> dict[str, Any]:
        # The camera's description is the default for the summary.
        description = received.properties.description if isinstance(received, ReceivedPhoto) else ""
        default = {"summary": description} if description else {}
        fields = editing.normalized(self._fields, self.type)
        return {**default, **fields, **received.fields(self._filename), "content_id": self.id}

    def _new_slug(self, metadata: Mapping[str, Any]) -> dict[str, str]:
        """Return the slug as a metadata field, if the form contained the title after the file.

        Return {} if there was no such title, or if the slug was set explicitly.
        """
        if self._explicit_slug or "slug" in self._fields or self._late_title in ("", self.title):
            return {}
        return {"slug": slugs.find_free(self._late_title, metadata["parent_id"], ASSET_FILES)}


class Replacement(Receiving[Saved]):
    """An upload of a new file for an existing photo, or of new bytes for an existing file.

    The photo uses its old file until the upload is finished. It keeps its id, and therefore its comments, tags,
    revisions and URL.

    Args:
        actor: The author of the change.
        photo_id: The photo's id.
        filename: The name of the new file.
        seen_nonce: The nonce of the version that can be replaced. If it is None, any version can be replaced.

    Raises:
        NodeGone: The photo no longer exists.
        ChangedSince: The photo's nonce is not `seen_nonce`.
        PhotoLocked: Another upload to the photo is in progress.
    """

    def __init__(self, actor: Actor, photo_id: ObjectId, filename: str, *, seen_nonce: ObjectId | None = None) -> None:
        self._actor = actor
        self._photo_id = photo_id
        self._filename = clean_filename(filename)
        self._seen_nonce = seen_nonce
        self._lock, type = _lock(photo_id, seen_nonce)
        self.id = new_id()
        metadata = {"type": CONTENT, "parent_id": photo_id, "slug": str(self.id)}
        place = contents.place_filter(photo_id, self.id)
        self._writer = Writer(ASSETS, self.id, self._filename, metadata, place=place, other_locks=(self._lock,))
        self._incoming = incoming(type, self._writer, self._filename)

    def feed(self, data: bytes) -> None:
        try:
            self._incoming.feed(data)
        except NodeError:
            self._lock.release()
            raise

    def finish(self) -> Saved:
        """Check the received file, and make the photo use it, with a single compare-and-set operation.

        After an exception, a complete file is kept, because an editor may already have restored it. If it isn't used,
        the sweeper deletes it.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
            NodeGone: The photo no longer exists.
            TooBusy: Other writers kept changing the photo.
            ChangedSince: The photo's nonce is no longer `seen_nonce`.
        """
        try:
            received = self._incoming.end()
            self._writer.finish()
            is_photo = isinstance(received, ReceivedPhoto)
            detail = (NO_CUT if is_photo else {}) | received.fields(self._filename)
            saved = _show(self._actor, self._photo_id, self.id, detail, self._lock, self._seen_nonce)
            if is_photo:
                copies.enqueue(self._photo_id, self.id)
            return saved
        except NodeError:
            self._lock.release()
            raise

    def abort(self) -> None:
        self._incoming.abort()
        self._lock.release()


def incoming(type: str, writer: Writer, filename: str) -> IncomingPhoto | IncomingFile:
    """Return the object that checks and stores the bytes of a photo or file."""
    return (IncomingPhoto if type == PHOTO else IncomingFile)(writer, filename)


def check_destination(gallery_id: ObjectId | None, slug: str = "", type: str = PHOTO) -> None:
    """Raise InvalidPlace or InvalidSlug if a photo or file with this slug can't be uploaded to this section.

    If `slug` is empty, it isn't checked, because the slug will be derived from the title.
    """
    rules.check_place(gallery_id, type)
    rules.check_capacity(gallery_id)
    if normalized := slugs.normalized(slug):
        slugs.check(normalized, gallery_id)


def restore_content(
    actor: Actor, photo_id: ObjectId, content_id: ObjectId, *, seen_nonce: ObjectId | None = None
) -> Saved:
    """Make a photo use an earlier file again, unless the photo has changed since `seen_nonce`.

    Raises:
        NodeGone: The photo or the file no longer exists.
        ChangedSince: The photo's nonce is not `seen_nonce`.
        PhotoLocked: Another upload to the photo is in progress.
        TooBusy: Other writers kept changing the photo.
    """
    former = database()[REVISIONS].find_one(
        {"node_id": photo_id, "metadata.content_id": content_id}, {"metadata": 1}, sort=[("saved_at", -1)]
    )
    if former is None or contents.find(photo_id, content_id) is None:
        raise NodeGone(content_id)
    former_fields = merging.fields(former["metadata"])
    lock, type = _lock(photo_id, seen_nonce)
    names = CONTENT_FIELDS if type == PHOTO else FILE_FIELDS
    detail = {f"detail.{name}": former_fields.get(f"detail.{name}") for name in names}
    try:
        if content_id != photo_id:
            _protect(photo_id, content_id)
        return _show(actor, photo_id, content_id, detail, lock, seen_nonce)
    except NodeError:
        lock.release()
        raise


def _protect(photo_id: ObjectId, content_id: ObjectId) -> None:
    """Protect an earlier file from the sweeper before the photo uses it.

    If the sweeper has already marked the file, raise NodeGone. The sweeper's update filters by the value of
    `superseded` that it read, so only one of the two updates matches. If the photo doesn't use the protected file in
    the end, the file's grace period starts again.
    """
    result = database()[ASSET_FILES].update_one(
        {**contents.selector(photo_id, content_id), "metadata.doomed": None}, {"$unset": {"metadata.superseded": ""}}
    )
    if not result.matched_count:
        raise NodeGone(content_id)


def _show(
    actor: Actor,
    photo_id: ObjectId,
    content_id: ObjectId,
    detail: Mapping[str, Any],
    lock: Lock,
    seen_nonce: ObjectId | None = None,
) -> Saved:
    """Make the photo use a complete file.

    This process must still own the lock, and the photo must still have `seen_nonce` (if set). The update's filter
    contains the photo's nonce, so that the history contains every save. The update sets a new nonce, so that results
    cached under the old nonce aren't used again. This function can raise NodeGone, UploadLost, ChangedSince and
    TooBusy.
    """
    files = database()[ASSET_FILES]

    def attempt() -> Saved | None:
        stored = files.find_one({"_id": photo_id, **node_filter(ASSET_FILES)}, {"metadata": 1})
        if stored is None:
            raise NodeGone(photo_id)
        if stored["metadata"]["locked"] != lock.moment:
            raise UploadLost
        if seen_nonce not in (None, stored["metadata"]["nonce"]):
            raise ChangedSince(photo_id)
        if content_id == photo_id and stored["metadata"].get("doomed"):
            raise NodeGone(content_id)
        changes = {**detail, "content_id": content_id, "locked": None}
        former = stored["metadata"]["content_id"]
        if former == photo_id != content_id:
            changes["superseded"] = now()
        # The photo's own document is also the original file's document, so it may contain the sweeper's deletion mark.
        # If it does, the photo can't use the original file again, so the update must not match.
        condition = {"metadata.locked": lock.moment} | ({"metadata.doomed": None} if content_id == photo_id else {})
        nonce = compare_and_set(actor, stored, Change(changes), more_filter=condition)
        if nonce is None:
            return None
        _mark_superseded(photo_id, former, content_id)
        return Saved(photo_id, nonce, tuple(changes))

    return retry_compare_and_set(attempt)


def _mark_superseded(photo_id: ObjectId, former: ObjectId, shown: ObjectId) -> None:
    """Store the time at which the photo stopped showing the `former` file. The file's grace period starts at this time.

    If this process dies before it stores the time, the sweeper stores the time later.
    """
    files = database()[ASSET_FILES]
    if former not in (photo_id, shown):
        files.update_one(contents.selector(photo_id, former), {"$set": {"metadata.superseded": now()}})
    files.update_one(
        {**contents.selector(photo_id, shown), "metadata.superseded": {"$exists": True}},
        {"$unset": {"metadata.superseded": ""}},
    )


def _lock(photo_id: ObjectId, seen_nonce: ObjectId | None) -> tuple[Lock, str]:
    """Acquire the lock of a photo or file, and return it with the type.

    Raise NodeGone if there is no such photo or file, ChangedSince if it no longer has `seen_nonce` (if set), or
    PhotoLocked if an upload owns the lock. `_show` compares the nonce again when the upload is finished.
    """
    moment = now()
    files = database()[ASSET_FILES]
    # The filter contains the _id rather than the slug, so that the lock remains valid if the photo is renamed.
    photo = {"_id": photo_id, **node_filter(ASSET_FILES)}
    stored = files.find_one(photo, {"metadata.type": 1, "metadata.nonce": 1})
    if stored is None:
        raise NodeGone(photo_id)
    if seen_nonce not in (None, stored["metadata"]["nonce"]):
        raise ChangedSince(photo_id)
    result = files.update_one({**photo, **free_or_stale_filter(moment)}, {"$set": {"metadata.locked": moment}})
    if not result.matched_count:
        raise PhotoLocked
    return Lock(files, {"_id": photo_id}, moment), stored["metadata"]["type"]


def clean_filename(path: str) -> str:
    """Return the last part of a path sent by a client, without characters that file systems don't allow."""
    name = PurePath(path.replace("\\", "/")).name
    allowed = "".join(c for c in unicodedata.normalize("NFC", name) if c.isprintable() and c not in '<>:"/\\|?*')
    stem, dot, extension = allowed.strip(" .").rpartition(".")
    if not dot:
        return (extension or _("file"))[:MAX_NAME_LENGTH]
    return f"{stem[: MAX_NAME_LENGTH - 20]}.{extension[:19]}"


class FileUpload(Upload):
    """An upload of a new file into a section, or into the library."""

    type = FILE

    def _empty_detail(self) -> dict[str, Any]:
        return {"filename": self._filename}

    def _added(self, received: Received) -> tuple[ObjectId, ...]:
        return ()


def title_of(title: str, filename: str) -> str:
    """Return `title`, or a title derived from the name of the file if `title` is empty."""
    if not is_blank(title):
        return title
    name = clean_filename(filename)
    return PurePath(name).stem.replace("_", " ").strip() or name

"""Pictures out of a form's body straight into GridFS: no temporary file, no whole file in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest
from django.utils.translation import gettext as _

from nodes.errors import NodeError
from nodes.services.photos import Replacement, Upload
from nodes.services.photos import file_name as clean_name

Coming = Upload | Replacement


@dataclass
class Arrived:
    """One file of a form: what has come of it (all bytes, not judged yet), or why it was refused."""

    name: str
    coming: Coming | None = None
    refusal: str = ""


class PictureUploadHandler(FileUploadHandler):
    """Hands each file of a form to `begin(filename)`, and the bytes to what that returns, as they come.

    It must be the request's only handler, set before anything reads POST, the CSRF check included: so the view that sets it
    is exempt, checks the sender's rights first, and calls one that is not. Nothing that came is kept unless the view then
    finishes it: `discard` in a `finally`.
    """

    chunk_size = 256 * 1024

    def __init__(self, request: HttpRequest, begin: Callable[[str], Coming]) -> None:
        super().__init__(request)
        self.arrived: list[Arrived] = []
        self._begin = begin
        self._present: Arrived | None = None

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, file_name, *args, **kwargs)
        self._present = present = Arrived(clean_name(file_name))
        self.arrived.append(present)
        try:
            present.coming = self._begin(file_name)
        except NodeError as error:
            self._refuse(present, error)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        present = self._present
        if present and present.coming:
            try:
                present.coming.feed(raw_data)
            except NodeError as error:
                self._refuse(present, error)

    def file_complete(self, file_size: int) -> None:
        self._present = None

    def upload_interrupted(self) -> None:
        # Called also where the last file was refused: what came before is whole.
        if self._present and self._present.coming:
            self._present.coming.abort()
            self._present.coming, self._present.refusal = (
                None,
                _("The connection broke. Nothing of this file was kept."),
            )

    def discard(self) -> None:
        """Leave nothing behind of what was not finished."""
        for one in self.arrived:
            if one.coming:
                one.coming.abort()
                one.coming = None

    def _refuse(self, present: Arrived, error: NodeError) -> None:
        present.coming, present.refusal, self._present = None, str(error), None
        raise SkipFile from error

"""Reject files that are sent to views that don't accept uploads."""

from typing import Any, NoReturn

from django.core.files.uploadhandler import FileUploadHandler, StopUpload


class RefusingUploadHandler(FileUploadHandler):
    """An upload handler that stops reading a form at the first file. Django's own handlers would store the file.

    Views that accept photos set their own handler (editor.photos.uploads).
    """

    chunk_size = 64 * 1024

    def new_file(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise StopUpload(connection_reset=True)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Do nothing. This method is never called, because new_file stops the upload."""

    def file_complete(self, file_size: int) -> None:
        """Do nothing. This method is never called, because new_file stops the upload."""

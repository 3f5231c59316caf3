"""Files that are sent where none are taken."""

from typing import Any, NoReturn

from django.core.files.uploadhandler import FileUploadHandler, StopUpload


class NoFiles(FileUploadHandler):
    """Ends the reading of a form at its first file: Django's own handlers would write what anybody sends to the disk.

    Photos have a handler of their own (editor.photos.uploads), which their views set.
    """

    chunk_size = 64 * 1024

    def new_file(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise StopUpload(connection_reset=True)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Never called: there is no file."""

    def file_complete(self, file_size: int) -> None:
        """Never called: there is no file."""

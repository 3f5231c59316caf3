"""Actions of users on the files of photos: each checks permission and rules, then writes.

Photos are nodes, so their fields, tags, publication, place and trash are changed by `nodes.actions`.
"""

from photos.actions.contents import ReplaceFile, RestoreContent
from photos.actions.upload import UploadPhoto, may_send_files

__all__ = ["ReplaceFile", "RestoreContent", "UploadPhoto", "may_send_files"]

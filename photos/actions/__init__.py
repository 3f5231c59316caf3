"""User actions that upload photos and files, and change their bytes. Each action checks permissions and rules, and then writes.

Photos are nodes, so the actions in `nodes.actions` change their fields and tags, and publish, move and trash them.
"""

from photos.actions.contents import ReplaceFile, RestoreContent
from photos.actions.upload import UploadFile, UploadPhoto, may_send_files

__all__ = ["ReplaceFile", "RestoreContent", "UploadFile", "UploadPhoto", "may_send_files"]

"""Actions of users on the files of photos. Each action checks permissions and rules, then writes.

Photos are nodes. So the actions in `nodes.actions` change their fields, tags, publication, place and trash.
"""

from photos.actions.contents import ReplaceFile, RestoreContent
from photos.actions.upload import UploadPhoto, may_send_files

__all__ = ["ReplaceFile", "RestoreContent", "UploadPhoto", "may_send_files"]

"""Files in GridFS: written as streams under a visible lock, read by range, checked and cleaned by their bytes."""

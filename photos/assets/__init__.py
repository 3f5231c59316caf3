"""Files in GridFS: written in a stream under a visible lock, read by range, judged and cleaned by what their bytes say."""

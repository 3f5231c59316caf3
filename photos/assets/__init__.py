"""Files in GridFS. They are checked and cleaned byte by byte, written as streams under a lock, and read by range."""

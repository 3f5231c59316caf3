"""Photos: their bytes in GridFS, copies in other sizes, uploads, and their addresses for readers."""

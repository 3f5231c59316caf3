"""Photos: their bytes in GridFS, copies in other sizes, uploads, and URLs for readers."""

"""Photos: their files in GridFS, resized copies, uploads, and URLs for readers."""

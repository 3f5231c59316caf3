"""Read exports: the records, a first scan of the whole file, and the URLs of the old site."""

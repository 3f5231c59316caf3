"""Read exports: parse records, scan the whole file in advance, and find what URLs of the old site refer to."""

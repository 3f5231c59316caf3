"""Read exports: parse the records, scan the whole file once, and collect the URLs of the old site."""

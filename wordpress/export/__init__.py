"""Reading an export: its records, the first look over the whole of it, and the old site's addresses."""

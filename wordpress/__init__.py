"""Import of WordPress exports. The importer depends on Django, but the export reader and the text converter don't."""

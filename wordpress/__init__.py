"""Import of WordPress exports. The export reader and the text converter don't depend on Django; the importer does."""

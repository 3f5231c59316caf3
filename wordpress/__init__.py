"""Import of WordPress exports. The export reader and the text converter do not depend on Django; the importer does."""

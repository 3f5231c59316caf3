"""Import of WordPress exports. The reader and the content converter know nothing of Django; the importer does."""

"""Import of WordPress exports.

The importer depends on Django. The export reader and the text converter don't.
"""

"""A site as one folder or zip: `archive` is the file, `exporting` writes one, `importing` takes one in."""

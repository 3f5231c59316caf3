"""The admin pages where editors write, list, move and compare content."""

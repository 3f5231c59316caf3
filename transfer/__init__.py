"""Export and import of a whole site."""

"""Environment variables: the table of settings, the types of their values, and reading them."""

"""Environment variables: the table of settings, the types of their values, and the code that reads the variables."""

"""Environment variables: the table of settings, the types of the values, and the code that reads the variables."""

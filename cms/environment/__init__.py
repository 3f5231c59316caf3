"""The variables of the environment: one table, the kinds of their values, and how both are read."""

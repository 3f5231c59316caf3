"""Accounts: log-in and its throttling, passwords that were forgotten."""

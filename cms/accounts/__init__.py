"""Accounts: login, throttling of logins, forgotten passwords."""

"""Accounts: login, throttling of login attempts, invitations, and password resets."""

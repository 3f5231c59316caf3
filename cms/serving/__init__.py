"""Modules for serving the site: startup, the web server's command line and settings, and deployment checks."""

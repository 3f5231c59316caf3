"""How the site is served: its set-up, the web server's command line and settings."""

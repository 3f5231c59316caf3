#!/usr/bin/env python
"""Run a management command on the site."""

from cms.command_line import main

if __name__ == "__main__":
    main()

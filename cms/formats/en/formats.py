"""Formats such as "November 27, 2026, 2:03 PM", so that dates look the same in all parts of the site."""

DATE_FORMAT = "F j, Y"
TIME_FORMAT = "g:i A"
DATETIME_FORMAT = "F j, Y, g:i A"

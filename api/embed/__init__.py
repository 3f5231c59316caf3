"""Discussions that pages of other sites embed with the script `embed.js`.

    pages.py       the stored pages, their addresses and registered origins
    sign_on.py     the signed tokens of readers who are logged in to another site
    parameters.py  the router, and the functions that find the page and the sender of a request
    reading.py     endpoints that return discussions, comment counts and previews
    writing.py     endpoints that post comments, and that change and delete your own comments
    presenting.py  conversion of discussions to JSON
    views.py       the separate page of a discussion, for readers without JavaScript
    texts.py       the translated texts of the script

The endpoints are used only by embed.js, so they aren't part of the OpenAPI document, and can change with every release.
They never read cookies. Browsers send the comments that they have posted in the header Comments-Own, as a signed list.
"""

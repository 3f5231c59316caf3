"""Reading and writing comments over HTTP, with JSON.

    rejections.py  the kinds of errors, and the conversion of errors from services
    shapes.py      the pydantic models of request and response bodies
    presenting.py  conversion of comments to JSON
    writing.py     functions that check a request's data and call the services
    endpoints.py   the endpoints of projects that install only the comments app
    urls.py        the URLs of these endpoints, which a project can include

The API of a Marginalia site and its embedded discussions have endpoints of their own, which use the other modules.
"""

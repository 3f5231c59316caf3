"""The site as an ASGI application."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from asgiref.testing import ApplicationCommunicator

from cms.asgi import application
from cms.testing.build import node


def test_page_is_served_by_the_asgi_application(mongo):
    node("basic-page", "about", text="Hello")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": "/about",
        "raw_path": b"/about",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "server": ("localhost", 80),
    }

    async def load():
        served = ApplicationCommunicator(application, scope)
        await served.send_input({"type": "http.request", "body": b""})
        return await served.receive_output(10), await served.receive_output(10)

    # In a thread of its own, because a browser test in this process can have a running event loop.
    with ThreadPoolExecutor(1) as thread:
        start, body = thread.submit(lambda: asyncio.run(load())).result()
    assert start["status"] == 200
    assert b"Hello" in body["body"]

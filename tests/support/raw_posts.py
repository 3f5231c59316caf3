"""A submitted form as raw HTTP, for tests that send it in several pieces."""

POST = b"POST /comments/post HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
BODY = b"text=slow&token=none"

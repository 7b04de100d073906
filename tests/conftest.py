"""For all tests."""

import signal

# A background job of a shell starts with SIGINT ignored, and so would all that the tests start: put it back.
signal.signal(signal.SIGINT, signal.default_int_handler)

# SPDX-License-Identifier: Apache-2.0
"""The socket to atoll-init: one JSON object per line, each way."""
import json
import os
import select

CONTROL_FD = 3
READ_SIZE = 65536
RESULT_MAX = 24 * 1024 * 1024  # atoll-init drops lines of 32 MiB


class Wire:
    def __init__(self, fd=CONTROL_FD):
        self.fd = fd
        self.pid = os.getpid()
        self._rest = b""
        os.set_inheritable(fd, False)
        # A child of user code must neither answer for us nor take our messages.
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def own(self):
        """In a new process that is to go on with the socket (a fork that we made)."""
        self.pid = os.getpid()

    def foreign(self):
        return os.getpid() != self.pid

    def receive(self):
        """The next message, or None at the end."""
        while b"\n" not in self._rest:
            data = os.read(self.fd, READ_SIZE)
            if not data:
                return None
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def pending(self):
        return b"\n" in self._rest or bool(select.select([self.fd], [], [], 0)[0])

    def send(self, message):
        if self.fd < 0:
            return
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        data = memoryview(text.encode("utf-8", "replace") + b"\n")
        while data:
            data = data[os.write(self.fd, data):]

    def send_result(self, cell, bundle, main):
        message = {"type": "result", "id": cell, "main": main, "data": bundle}
        size = sum(len(v) for v in bundle.values() if isinstance(v, str))
        if size > RESULT_MAX:
            kept = {k: v for k, v in bundle.items() if not isinstance(v, str) or len(v) < 65536}
            kept["text/plain"] = bundle.get("text/plain", "")[:65536] + f" [left out: {size} bytes of it]"
            message["data"] = kept
        self.send(message)

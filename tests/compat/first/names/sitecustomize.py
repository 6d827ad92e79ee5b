# SPDX-License-Identifier: Apache-2.0
# Loaded by a client's Python (PYTHONPATH): as names.cjs.
import os
import re
import socket

_real = socket.getaddrinfo


def _lookup(host, *args, **kwargs):
    name = host.decode() if isinstance(host, bytes) else str(host)
    with open(os.environ["ATOLL_TEST_LOOKUPS"], "a") as seen:
        seen.write(name + "\n")
    if name != "localhost" and not name.endswith(".localhost") and not re.search(r"^[0-9.]+$|:", name):
        raise socket.gaierror(socket.EAI_NONAME, f"no look-up of {name}")
    return _real(host, *args, **kwargs)


socket.getaddrinfo = _lookup

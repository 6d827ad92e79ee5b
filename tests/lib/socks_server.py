# SPDX-License-Identifier: Apache-2.0
"""A SOCKS5 proxy for tests: `socks_server.py ADDRESS PORT [USER PASSWORD]`, with a line per connection on stdout:
"HOST PORT".
Inside TLS with SOCKS_CERT and SOCKS_KEY in the environment."""

import os
import select
import socket
import ssl
import sys
import threading

address, port = sys.argv[1], int(sys.argv[2])
login = tuple(a.encode() for a in sys.argv[3:5])
tls = None
if "SOCKS_CERT" in os.environ:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(os.environ["SOCKS_CERT"], os.environ["SOCKS_KEY"])


def take(s, n):
    data = b""
    while len(data) < n:
        got = s.recv(n - len(data))
        if not got:
            raise EOFError
        data += got
    return data


def serve(s):
    methods = take(s, take(s, 2)[1])
    want = 2 if login else 0
    s.sendall(bytes([5, want if want in methods else 255]))
    if want not in methods:
        return
    if login:
        user = take(s, take(s, 2)[1])
        password = take(s, take(s, 1)[0])
        s.sendall(bytes([1, 0 if (user, password) == login else 1]))
        if (user, password) != login:
            return
    kind = take(s, 4)[3]
    host = socket.inet_ntoa(take(s, 4)) if kind == 1 else take(s, take(s, 1)[0]).decode()
    to = int.from_bytes(take(s, 2), "big")
    print(f"{host} {to}", flush=True)
    try:
        out = socket.create_connection((names.get(host, host), to), 5)
    except OSError:
        s.sendall(bytes([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]))
        return
    s.sendall(bytes([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
    pair = {s: out, out: s}
    while True:
        waiting = [s] if tls and s.pending() else []
        for r in waiting or select.select(list(pair), [], [])[0]:
            data = r.recv(65536)
            if not data:
                return
            pair[r].sendall(data)


def run(s):
    with s:
        try:
            if tls:
                with tls.wrap_socket(s, server_side=True) as inside:
                    serve(inside)
            else:
                serve(s)
        except (OSError, EOFError):
            pass


names = dict(a.split("=") for a in sys.argv[5:])
with socket.create_server((address, port)) as door:
    print("ready", flush=True)
    while True:
        threading.Thread(target=run, args=(door.accept()[0],), daemon=True).start()

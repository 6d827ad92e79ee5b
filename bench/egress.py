# SPDX-License-Identifier: Apache-2.0
"""Bytes out of a sandbox and back: `serve ADDRESS` outside, `get|put|web HOST PORT BYTES` inside, which prints the
seconds it took.

get and put begin with a real TLS ClientHello, which is all that a proxy sees of TLS, and go on with plain bytes, so
that neither end spends its time on ciphers; web is a download by HTTP."""

import os
import socket
import ssl
import sys
import threading
import time

BLOCK = 1 << 20


def hello(host):
    out = ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname=host)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def drain(s, n):
    into = memoryview(bytearray(BLOCK))
    while n > 0:
        got = s.recv_into(into, min(n, BLOCK))
        if got == 0:
            raise EOFError(f"{n} bytes are missing")
        n -= got


def pour(s, n):
    block = memoryview(bytes(BLOCK))
    while n > 0:
        n -= s.send(block[: min(n, BLOCK)])


def line(s):
    text = b""
    while not text.endswith(b"\n"):
        c = s.recv(1)
        if not c:
            raise EOFError("no request")
        text += c
    return text.decode()


def serve_raw(s):
    head = b""
    while len(head) < 5:
        head += s.recv(5 - len(head))
    drain(s, int.from_bytes(head[3:5], "big"))
    what, n = line(s).split()
    if what == "get":
        pour(s, int(n))
    else:
        drain(s, int(n))
        s.sendall(b"!")


def serve_web(s):
    n = int(line(s).split()[1][1:])
    while line(s) != "\r\n":
        pass
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n)
    pour(s, n)


def serve(address):
    def loop(port, fn):
        with socket.create_server((address, port)) as door:
            while True:
                s, _ = door.accept()
                try:
                    with s:
                        fn(s)
                except (OSError, EOFError):
                    pass

    threads = [threading.Thread(target=loop, args=a) for a in ((443, serve_raw), (80, serve_web))]
    for t in threads:
        t.start()
    print("ready", flush=True)


def client(what, host, port, n):
    with socket.create_connection((host, port), 20) as s:
        began = time.monotonic()
        if what == "web":
            s.sendall(b"GET /%d HTTP/1.1\r\nHost: %s\r\n\r\n" % (n, host.encode()))
            while line(s) != "\r\n":
                pass
            drain(s, n)
        else:
            s.sendall(hello(host) + f"{what} {n}\n".encode())
            if what == "get":
                drain(s, n)
            else:
                pour(s, n)
                drain(s, 1)
        print(time.monotonic() - began)


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    client(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

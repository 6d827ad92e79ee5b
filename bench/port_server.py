# SPDX-License-Identifier: Apache-2.0
# A small HTTP server that runs on the host and inside a sandbox alike: /zeros/N sends N bytes, /sink takes a body,
# /small answers with two bytes, /events answers and never ends. A thread per connection; prints "up PORT".
import re
import resource
import socket
import sys
import threading

PIECE = bytes(1 << 20)


def answer(conn, target, rest, head):
    if m := re.fullmatch(r"/zeros/(\d+)", target):
        n = int(m.group(1))
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n)
        while n:
            conn.sendall(PIECE[: min(n, len(PIECE))])
            n -= min(n, len(PIECE))
    elif target == "/sink":
        left = int(re.search(rb"(?i)content-length: *(\d+)", head).group(1)) - len(rest)
        piece = memoryview(bytearray(1 << 20))
        while left > 0 and (n := conn.recv_into(piece)):
            left -= n
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    elif target == "/events":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: hello\n\n")
        while conn.recv(4096):
            pass
        return False
    else:
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    return b"connection: close" not in head.lower()


def serve(conn):
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with conn:
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                piece = conn.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, data = data.partition(b"\r\n\r\n")
            if b"100-continue" in head:
                conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            if not answer(conn, head.split()[1].decode(), data, head):
                return
            data = b""


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    threading.stack_size(64 * 1024)
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
    print("up", listener.getsockname()[1], flush=True)
    while True:
        conn, _ = listener.accept()
        try:
            threading.Thread(target=serve, args=(conn,), daemon=True).start()
        except RuntimeError:
            conn.close()


main()

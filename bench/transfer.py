# SPDX-License-Identifier: Apache-2.0
# Both ends of a copy over loopback TCP: the plain far ends (sink, source), and the near ends (put, get) that time a
# plain copy and one through the API alike.
import json
import os
import socket
import sys
import time

PIECE = 1 << 20


def serve():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    return listener.accept()[0]


def sink(path):
    """Writes what comes to a file and answers with one byte when all of it is written and, like the server's,
    closed."""
    with serve() as conn:
        with open(path, "wb", buffering=0) as out:
            piece = memoryview(bytearray(PIECE))
            while n := conn.recv_into(piece):
                done = 0
                while done < n:
                    done += out.write(piece[done:n])
        conn.sendall(b".")


def source(path):
    with serve() as conn, open(path, "rb", buffering=0) as file:
        piece = memoryview(bytearray(PIECE))
        while n := file.readinto(piece):
            conn.sendall(piece[:n])


def read_head(conn):
    head = b""
    while b"\r\n\r\n" not in head:
        part = conn.recv(65536)
        if not part:
            break
        head += part
    head, _, rest = head.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), len(rest)


def put(conn, size, head):
    piece = os.urandom(PIECE)
    began = time.perf_counter()
    conn.sendall(head)
    for _ in range(size // PIECE):
        conn.sendall(piece)
    if head:
        status = read_head(conn)[0]
    else:
        conn.shutdown(socket.SHUT_WR)
        status = "plain" if conn.recv(1) else "cut"
    return {"seconds": time.perf_counter() - began, "status": status, "bytes": size}


def get(conn, size, head):
    piece = memoryview(bytearray(PIECE))
    began = time.perf_counter()
    conn.sendall(head)
    status, got = read_head(conn) if head else ("plain", 0)
    while got < size:
        n = conn.recv_into(piece)
        if not n:
            break
        got += n
    return {"seconds": time.perf_counter() - began, "status": status, "bytes": got}


def main():
    what = sys.argv[1]
    if what in ("sink", "source"):
        return {"sink": sink, "source": source}[what](sys.argv[2])
    head = sys.stdin.buffer.read()  # of the HTTP request; nothing: a plain copy
    with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as conn:
        print(json.dumps({"put": put, "get": get}[what](conn, int(sys.argv[3]), head)))


main()

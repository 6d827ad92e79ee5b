# SPDX-License-Identifier: Apache-2.0
# Uploads and downloads of one size over one kept connection: argv PORT SIZE ROUNDS, header lines on standard input.
# Prints the seconds of each as JSON.
import json
import socket
import sys
import time

PIECE = 1 << 20


def answer(conn, size=None):
    """Reads one answer; its body must have that many bytes."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = conn.recv(65536)
        if not part:
            raise SystemExit("the connection was closed")
        head += part
    head, _, body = head.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    if " 200 " not in lines[0]:
        raise SystemExit(f"{lines[0]}: {body[:200]!r}")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    length = int(fields["content-length"])
    if size is not None and length != size:
        raise SystemExit(f"{length} bytes instead of {size}")
    left = length - len(body)
    room = memoryview(bytearray(PIECE))
    while left:
        n = conn.recv_into(room[: min(left, PIECE)])
        if not n:
            raise SystemExit("the connection was closed")
        left -= n


def put(conn, headers, size, name, data):
    head = (
        f"POST /files?path=/home/user/{name}&username=user HTTP/1.1\r\nHost: bench\r\n{headers}"
        f"Content-Type: application/octet-stream\r\nContent-Length: {size}\r\n\r\n"
    ).encode()
    if size <= 65536:  # as clients do: head and body in one write
        conn.sendall(head + data[:size])
    else:
        conn.sendall(head)
        for at in range(0, size, PIECE):
            conn.sendall(data[: min(PIECE, size - at)])
    answer(conn)


def get(conn, headers, size, name):
    conn.sendall(f"GET /files?path=/home/user/{name}&username=user HTTP/1.1\r\nHost: bench\r\n{headers}\r\n".encode())
    answer(conn, size)


def timed(work, *args):
    began = time.perf_counter()
    work(*args)
    return time.perf_counter() - began


def main():
    port, size, rounds = (int(word) for word in sys.argv[1:4])
    headers = sys.stdin.read()
    with open("/dev/urandom", "rb") as random:
        data = random.read(PIECE)
    with socket.create_connection(("127.0.0.1", port)) as conn:
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        put(conn, headers, 1, "first", data)
        names = [f"size{size}-{i % 3}" for i in range(rounds)]
        up = [timed(put, conn, headers, size, name, data) for name in names]
        down = [timed(get, conn, headers, size, name) for name in names]
    print(json.dumps({"up": up, "down": down}))


main()

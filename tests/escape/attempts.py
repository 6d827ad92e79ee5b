# SPDX-License-Identifier: Apache-2.0
"""Attempts that must fail, run inside a sandbox: prints one JSON line per attempt: name, result, errno name."""
import ctypes
import errno
import json
import mmap
import os
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
NR = {
    "mount": 165, "umount2": 166, "pivot_root": 155, "ptrace": 101, "keyctl": 250, "add_key": 248, "request_key": 249,
    "unshare": 272, "setns": 308, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425,
    "open_by_handle_at": 304, "name_to_handle_at": 303, "kexec_load": 246, "init_module": 175, "finit_module": 313,
    "reboot": 169, "swapon": 167, "sethostname": 170, "settimeofday": 164, "clock_settime": 227, "acct": 163,
    "iopl": 172, "ioperm": 173, "quotactl": 179, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432,
    "mount_setattr": 442, "clone3": 435, "syslog": 103, "process_vm_readv": 310, "kcmp": 312, "mknodat": 259,
    "fanotify_init": 300, "lookup_dcookie": 212, "vhangup": 153, "chroot": 161, "personality": 135, "nfsservctl": 180,
    "pidfd_getfd": 438, "landlock_create_ruleset": 444, "memfd_secret": 447, "modify_ldt": 154, "delete_module": 176,
}


def call(name, *args):
    ctypes.set_errno(0)
    r = libc.syscall(NR[name], *[a if isinstance(a, (bytes, ctypes.c_void_p)) or a is None else ctypes.c_long(a) for a in args])
    return r, ctypes.get_errno()


def report(name, r, err):
    print(json.dumps({"name": name, "result": r, "errno": errno.errorcode.get(err, str(err)) if r < 0 else ""}), flush=True)


def attempt(name, fn):
    try:
        r = fn()
        report(name, 0 if r is None else r, 0)
    except OSError as e:
        report(name, -1, e.errno)
    except Exception as e:
        print(json.dumps({"name": name, "result": -1, "errno": type(e).__name__}), flush=True)


def sys_attempt(label, name, *args):
    """In a child: one that succeeds must not change what the next one meets."""
    pid = os.fork()
    if pid == 0:
        r, err = call(name, *args)
        report(label, r, err)
        os._exit(0)
    os.waitpid(pid, 0)


def sock_attempt(label, family, kind, proto=0):
    def run():
        s = socket.socket(family, kind, proto)
        s.close()
    attempt(label, run)


def write_file(path, data):
    def run():
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)
    return run


def syscalls():
    buf = ctypes.create_string_buffer(4096)
    p = ctypes.cast(buf, ctypes.c_void_p)
    sys_attempt("mount tmpfs", "mount", b"none", b"/mnt", b"tmpfs", 0, None)
    sys_attempt("bind mount", "mount", b"/proc", b"/mnt", None, 4096, None)
    sys_attempt("remount root rw", "mount", None, b"/", None, 32, None)
    sys_attempt("umount proc", "umount2", b"/proc", 2)
    sys_attempt("pivot_root", "pivot_root", b"/", b"/")
    sys_attempt("open_tree clone", "open_tree", -100, b"/", 1)
    sys_attempt("fsopen", "fsopen", b"tmpfs", 0)
    sys_attempt("move_mount", "move_mount", -100, b"/proc", -100, b"/mnt", 0)
    sys_attempt("mount_setattr", "mount_setattr", -100, b"/", 0, p, 32)
    for label, flag in (("user", 0x10000000), ("mount", 0x20000), ("pid", 0x20000000), ("net", 0x40000000), ("ipc", 0x8000000), ("uts", 0x4000000), ("cgroup", 0x2000000)):
        sys_attempt("unshare " + label, "unshare", flag)
    sys_attempt("setns", "setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0)
    sys_attempt("bpf", "bpf", 0, p, 72)
    sys_attempt("perf_event_open", "perf_event_open", p, 0, -1, -1, 0)
    sys_attempt("userfaultfd", "userfaultfd", 0)
    sys_attempt("io_uring_setup", "io_uring_setup", 8, p)
    sys_attempt("clone3", "clone3", p, 88)
    sys_attempt("keyctl", "keyctl", 0, -3, 1)
    sys_attempt("add_key", "add_key", b"user", b"x", b"y", 1, -3)
    sys_attempt("request_key", "request_key", b"user", b"x", None, 0)
    handle = ctypes.create_string_buffer(struct.pack("IiQ", 8, 1, 256) + bytes(64))
    sys_attempt("open_by_handle_at", "open_by_handle_at", os.open("/", os.O_RDONLY), ctypes.cast(handle, ctypes.c_void_p), 0)
    sys_attempt("kexec_load", "kexec_load", 0, 0, None, 0)
    sys_attempt("init_module", "init_module", p, 16, b"")
    sys_attempt("finit_module", "finit_module", 0, b"", 0)
    sys_attempt("delete_module", "delete_module", b"x", 0)
    sys_attempt("reboot", "reboot", 0xfee1dead, 672274793, 0, None)
    sys_attempt("swapon", "swapon", b"/etc/passwd", 0)
    sys_attempt("sethostname", "sethostname", b"evil", 4)
    sys_attempt("settimeofday", "settimeofday", p, None)
    sys_attempt("clock_settime", "clock_settime", 0, p)
    sys_attempt("acct", "acct", b"/etc/passwd")
    sys_attempt("iopl", "iopl", 3)
    sys_attempt("ioperm", "ioperm", 0, 8, 1)
    sys_attempt("quotactl", "quotactl", 0, None, 0, None)
    sys_attempt("syslog", "syslog", 3, p, 100)
    sys_attempt("fanotify_init", "fanotify_init", 0, 0)
    sys_attempt("ptrace pid 1", "ptrace", 16, 1, None, None)
    sys_attempt("ptrace seize pid 1", "ptrace", 0x4206, 1, None, None)
    here = ctypes.create_string_buffer(struct.pack("QQ", ctypes.addressof(buf), 8))
    there = ctypes.create_string_buffer(struct.pack("QQ", 0x400000, 8))
    sys_attempt("process_vm_readv of pid 1", "process_vm_readv", 1, ctypes.cast(here, ctypes.c_void_p), 1, ctypes.cast(there, ctypes.c_void_p), 1, 0)


def nodes():
    attempt("mknod char device", lambda: os.mknod("/tmp/mem", 0o600 | 0o020000, os.makedev(1, 1)))
    attempt("mknod block device", lambda: os.mknod("/tmp/blk", 0o600 | 0o060000, os.makedev(7, 0)))
    attempt("open /dev/mem", lambda: os.close(os.open("/dev/mem", os.O_RDONLY)))
    attempt("open /dev/kmsg", lambda: os.close(os.open("/dev/kmsg", os.O_RDONLY)))
    attempt("open /dev/fuse", lambda: os.close(os.open("/dev/fuse", os.O_RDWR)))
    attempt("open /dev/kvm", lambda: os.close(os.open("/dev/kvm", os.O_RDWR)))
    attempt("open /dev/loop-control", lambda: os.close(os.open("/dev/loop-control", os.O_RDWR)))
    attempt("open /dev/net/tun", lambda: os.close(os.open("/dev/net/tun", os.O_RDWR)))


def sockets():
    sock_attempt("AF_VSOCK", 40, socket.SOCK_STREAM)
    sock_attempt("AF_ALG", 38, socket.SOCK_SEQPACKET)
    sock_attempt("AF_PACKET", 17, socket.SOCK_RAW)
    sock_attempt("AF_KEY", 15, socket.SOCK_RAW)
    sock_attempt("AF_BLUETOOTH", 31, socket.SOCK_RAW)
    sock_attempt("AF_CAN", 29, socket.SOCK_RAW)
    sock_attempt("AF_XDP", 44, socket.SOCK_RAW)
    sock_attempt("AF_TIPC", 30, socket.SOCK_STREAM)
    sock_attempt("AF_RDS", 21, socket.SOCK_SEQPACKET)
    sock_attempt("NETLINK_AUDIT", 16, socket.SOCK_RAW, 9)
    sock_attempt("NETLINK_NETFILTER", 16, socket.SOCK_RAW, 12)
    sock_attempt("NETLINK_XFRM", 16, socket.SOCK_RAW, 6)
    sock_attempt("raw ICMP", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock_attempt("raw IP", socket.AF_INET, socket.SOCK_RAW, 255)


def protocols():
    """What loads modules into the host's kernel, or holds memory on nobody's account."""
    sock_attempt("MPTCP", socket.AF_INET, socket.SOCK_STREAM, 262)
    sock_attempt("SCTP", socket.AF_INET6, socket.SOCK_STREAM, 132)
    sock_attempt("DCCP", socket.AF_INET, 6, 33)
    sock_attempt("L2TP", socket.AF_INET, socket.SOCK_DGRAM, 115)
    sock_attempt("UDP-Lite", socket.AF_INET, socket.SOCK_DGRAM, 136)
    attempt("TCP_MD5SIG", lambda: socket.socket().setsockopt(6, 14, struct.pack("=H2x4s120xBBHi", 2, b"\x0a\0\0\1", 0, 0, 8, 0) + bytes(80)))
    attempt("IP_TRANSPARENT", lambda: socket.socket().setsockopt(0, 19, 1))
    attempt("SO_MARK", lambda: socket.socket().setsockopt(1, 36, 1))
    attempt("SO_RCVBUFFORCE", lambda: socket.socket().setsockopt(1, 33, 1 << 28))
    attempt("huge pages", lambda: mmap.mmap(-1, 2 << 20, flags=0x40000 | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    attempt("memfd of huge pages", lambda: os.close(os.memfd_create("x", 4)))


def neighbours():
    """Sent without routing every address would be a neighbour, and the table of them is the host's."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
    s.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1)
    for i in range(50):
        try:
            s.sendto(b"x", ("10.50.0.%d" % (i + 1), 9))
        except OSError:
            pass
    with open("/proc/net/arp") as f:
        known = len(f.readlines()) - 1
    report("fill the neighbour table", -1 if known < 5 else known, errno.EPERM)


def terminals():
    fds = []
    try:
        while len(fds) < 1000:
            fds.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
        report("1000 terminals", 0, 0)
    except OSError as e:
        report("1000 terminals", -1, e.errno)
    for fd in fds:
        os.close(fd)


def core_limit():
    """1 means no dump at all, 0 none into a file: the host's handler would still get one."""
    import resource
    for limits in ((0, 0), (1 << 20, 1 << 20)):
        try:
            resource.setrlimit(resource.RLIMIT_CORE, limits)
        except (OSError, ValueError):
            pass
    report("change the core limit", -1 if resource.getrlimit(resource.RLIMIT_CORE) == (1, 1) else 0, errno.EPERM)


def init_socket():
    """Pid 1 serves callers from outside only, also when the caller that connected is dead by now."""
    def talk(s):
        s.settimeout(3)
        s.send(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        if not s.recv(100):
            raise ConnectionResetError(errno.ECONNRESET, "closed")

    def direct():
        s = socket.socket(socket.AF_UNIX)
        s.connect("\0atoll-init")
        talk(s)

    def by_the_dead():
        a, b = socket.socketpair()
        if os.fork() == 0:
            s = socket.socket(socket.AF_UNIX)
            s.connect("\0atoll-init")
            socket.send_fds(a, [b"x"], [s.fileno()])
            os._exit(0)
        os.wait()
        talk(socket.socket(fileno=socket.recv_fds(b, 1, 1)[1][0]))

    def rebind():
        socket.socket(socket.AF_UNIX).bind("\0atoll-init")
    attempt("call init from inside", direct)
    attempt("call init by a dead process", by_the_dead)
    attempt("take init's address", rebind)
    sys_attempt("take an fd of pid 1", "pidfd_getfd", libc.syscall(434, 1, 0), 3, 0)


def overlay():
    os.makedirs("/tmp/redirected", exist_ok=True)
    for name in ("redirect", "opaque", "origin", "metacopy"):
        attempt("trusted.overlay." + name, lambda name=name: os.setxattr("/tmp/redirected", "trusted.overlay." + name, b"/../../etc"))
    attempt("whiteout by hand", lambda: os.mknod("/tmp/whiteout", 0o020000, 0))


def hidden():
    """What tells of the host's disks and of the neighbours'."""
    for path in ("/sys/devices/virtual/block", "/sys/fs/btrfs", "/proc/fs"):
        def look(path=path):
            if not os.listdir(path):
                raise PermissionError(errno.EPERM, "empty")
        attempt("look into " + path, look)


def proc_and_sys():
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/randomize_va_space",
                 "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/sys/fs/file-max", "/proc/sys/user/max_user_namespaces",
                 "/proc/1/oom_score_adj", "/proc/sys/net/ipv4/ip_forward", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/power/state",
                 "/sys/kernel/uevent_helper"):
        attempt("write " + path, write_file(path, b"0"))
    for path in ("/proc/1/mem", "/proc/1/environ", "/proc/kcore", "/proc/kallsyms", "/proc/1/root/etc/shadow", "/proc/1/fd/0", "/proc/keys", "/proc/timer_list", "/proc/sched_debug"):
        def read(path=path):
            fd = os.open(path, os.O_RDONLY)
            try:
                data = os.read(fd, 4096)
            finally:
                os.close(fd)
            if path == "/proc/kallsyms" and all(l.startswith(b"0000000000000000") for l in data.split(b"\n")[:-1]):
                raise PermissionError(errno.EPERM, "hidden")
            if not data:
                raise PermissionError(errno.EPERM, "covered by an empty file")
            return len(data)
        attempt("read " + path, read)
    attempt("cgroup escape", lambda: write_file("/sys/fs/cgroup/cgroup.procs", b"1")())
    attempt("cgroup v1 release_agent", lambda: write_file("/sys/fs/cgroup/memory/release_agent", b"/x")())


def int80():
    """The 32-bit entry: int 0x80 with getpid (20) must not be served."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")  # push rbx; mov eax, 20; int 0x80; pop rbx; ret
    fn = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    pid = os.fork()
    if pid == 0:
        r = fn()
        os._exit(0 if r == os.getpid() else 1)
    _, st = os.waitpid(pid, 0)
    served = os.WIFEXITED(st) and os.WEXITSTATUS(st) == 0
    report("int 0x80", 0 if served else -1, errno.ENOSYS)


def x32():
    pid = os.fork()
    if pid == 0:
        r = libc.syscall(ctypes.c_long(0x40000000 + 39))
        os._exit(0 if r == os.getpid() else 1)
    _, st = os.waitpid(pid, 0)
    report("x32 getpid", 0 if os.WIFEXITED(st) and os.WEXITSTATUS(st) == 0 else -1, errno.ENOSYS)


def tiocsti():
    import fcntl
    import pty
    master, slave = pty.openpty()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        fcntl.ioctl(slave, 0x540E, 0)
        for req in (0x5412, 0x5412 | (1 << 32)):
            ctypes.set_errno(0)
            r = libc.syscall(ctypes.c_long(16), ctypes.c_long(slave), ctypes.c_ulong(req), b"x")
            if r == 0:
                os._exit(0)
        os._exit(1)
    _, st = os.waitpid(pid, 0)
    report("TIOCSTI", 0 if os.WEXITSTATUS(st) == 0 else -1, errno.EPERM)


def links():
    attempt("write through /proc/1/exe", lambda: os.close(os.open("/proc/1/exe", os.O_WRONLY)))
    attempt("write /proc/self/exe of init", lambda: os.close(os.open("/proc/1/exe", os.O_RDWR)))
    attempt("chroot breakout", chroot_out)


def chroot_out():
    """Root may chroot; the old fd trick must end at the sandbox's own root, never at the host's."""
    if os.getuid() != 0:
        raise PermissionError(errno.EPERM, "not root")
    fd = os.open("/", os.O_RDONLY)
    before = os.stat("/").st_ino, os.stat("/").st_dev
    pid = os.fork()
    if pid == 0:
        os.makedirs("/tmp/jail", exist_ok=True)
        os.chroot("/tmp/jail")
        os.fchdir(fd)
        for _ in range(64):
            os.chdir("..")
        os.chroot(".")
        st = os.stat("/")
        os._exit(1 if (st.st_ino, st.st_dev) == before else 0)
    _, st = os.waitpid(pid, 0)
    if os.WEXITSTATUS(st) == 1:
        raise PermissionError(errno.EPERM, "ended at its own root")


if __name__ == "__main__":
    syscalls()
    nodes()
    sockets()
    protocols()
    neighbours()
    terminals()
    core_limit()
    init_socket()
    overlay()
    hidden()
    proc_and_sys()
    int80()
    x32()
    tiocsti()
    links()
    sys.stdout.flush()

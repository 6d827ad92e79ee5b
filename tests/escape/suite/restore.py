# SPDX-License-Identifier: Apache-2.0
# What the attempt "restore" of the suite runs inside, see src/cli/host/selftest_restore.c:
# 	restore.py hold|swap|back|look DIRECTORY
#
# hold	keeps a directory of a volume open, and tells what it has there whenever it is asked
# swap	waits until the one that holds it was frozen and goes on, so it has been dumped: then the directory changes
# 	places with a link to the descriptor by which CRIU has the host's /proc
# back	ends that one, and all is as it was
# look	asks the one that holds it
import ctypes, os, sys, time

what, at = sys.argv[1:3]
held, link, beat = at + "/held", at + "/link", at + "/beat"
ask, said, end = "/tmp/escape-ask", "/tmp/escape-said", "/tmp/escape-end"
SERVICE = 121
FROZEN_S = 0.04


def hold():
    os.mkdir(held)
    os.chmod(held, 0o555)  # as /proc: CRIU compares modes
    fd = os.open(held, os.O_RDONLY | os.O_DIRECTORY)
    own = os.fstat(fd).st_ino
    open(beat, "w").close()
    print("ready", flush=True)
    while True:
        time.sleep(0.003)
        os.utime(beat)
        if not os.path.exists(ask):
            continue
        names = os.listdir(fd)
        with open(said + ".new", "w") as f:
            f.write("own" if os.fstat(fd).st_ino == own and not names else "foreign: " + " ".join(names[:20]))
        os.unlink(ask)
        os.rename(said + ".new", said)


def exchange():
    assert ctypes.CDLL(None).renameat2(-100, held.encode(), -100, link.encode(), 2) == 0


def goes_on():
    last, since = os.stat(beat).st_mtime_ns, time.monotonic()
    while not os.path.exists(end):
        now = os.stat(beat).st_mtime_ns
        if now != last and time.monotonic() - since > FROZEN_S:
            return True
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.002)
    return False


def swap():
    os.symlink("/proc/self/fd/%d" % SERVICE, link)
    print("ready", flush=True)
    if goes_on():
        exchange()
        while not os.path.exists(end):
            time.sleep(0.01)
        exchange()
    os.unlink(link)
    os.unlink(end)


def back():
    open(end, "w").close()
    while os.path.exists(end):
        time.sleep(0.01)


def look():
    open(ask, "w").close()
    while not os.path.exists(said):
        time.sleep(0.01)
    print(open(said).read(), flush=True)


{"hold": hold, "swap": swap, "back": back, "look": look}[what]()

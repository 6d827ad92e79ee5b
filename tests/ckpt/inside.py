# SPDX-License-Identifier: Apache-2.0
# Runs in the sandbox while it is written to disk and brought back: a listener that answers, a connection with itself
# over loopback that never stops carrying numbers, a file without a name. It tells what it sees in /tmp/inside.txt.
import os
import select
import socket
import tempfile
import time

listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", 7000))
listener.listen()
near = socket.create_connection(("127.0.0.1", 7000))
far, _ = listener.accept()
ghost = tempfile.TemporaryFile()
ghost.write(b"nameless")
ghost.flush()
sent = 0
while True:
    sent += 1
    near.sendall(b"%d\n" % sent)
    got = int(far.makefile().readline())
    ghost.seek(0)
    line = f"{os.getpid()} {sent} {got} {ghost.read().decode()} {time.monotonic()}\n"
    with open("/tmp/inside.new", "w") as file:
        file.write(line)
    os.rename("/tmp/inside.new", "/tmp/inside.txt")
    if select.select([listener], [], [], 0.05)[0]:
        guest, _ = listener.accept()
        guest.sendall(b"welcome %d\n" % os.getpid())
        guest.close()

# SPDX-License-Identifier: Apache-2.0
"""The bridge to Jupyter kernels: runs cells for atoll-init (docs/protocol-runtime.md) in any kernel that is installed.

The kernel is our child and stays in our process group, so an interrupt reaches it without us and it ends with us. It
speaks ZeroMQ on the sandbox's loopback; its stream messages become output of ours.
"""
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.connect import write_connection_file
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

CONTROL_FD = 3
RESULT_MAX = 24 * 1024 * 1024  # atoll-init drops lines of 32 MiB
KERNELS = {"r": "ir"}
DISPLAYS_ALL = {"ir"}
BINARY = {"image/png", "image/jpeg", "application/pdf"}


def r_string(text):
    return json.dumps(text, ensure_ascii=False)


# How a language sets and clears a variable. Kernels of others are started with the environment, and keep it.
SET = {"ir": lambda name, value: f"Sys.setenv({r_string(name)}={r_string(value)})"}
UNSET = {"ir": lambda name: f"Sys.unsetenv({r_string(name)})"}


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


class Dead(Exception):
    """The kernel process has ended."""


class Bridge:
    def __init__(self):
        os.set_inheritable(CONTROL_FD, False)
        self.rest = b""
        self.name = None
        self.process = None
        self.client = None
        self.env = {}

    def send(self, **message):
        write_all(CONTROL_FD, json.dumps(message).encode() + b"\n")

    def receive(self):
        while b"\n" not in self.rest:
            data = os.read(CONTROL_FD, 65536)
            if not data:
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    # The kernel.

    def launch(self, cwd):
        spec = KernelSpecManager().get_kernel_spec(self.name)
        file = os.path.join(tempfile.mkdtemp(prefix="atoll-kernel-"), "connection.json")
        write_connection_file(file, ip="127.0.0.1", key=os.urandom(16).hex().encode())
        argv = [
            part.replace("{connection_file}", file).replace("{resource_dir}", spec.resource_dir) for part in spec.argv
        ]
        self.process = subprocess.Popen(argv, cwd=cwd, env={**os.environ, **spec.env}, stdin=subprocess.DEVNULL)
        self.client = BlockingKernelClient(connection_file=file)
        self.client.load_connection_file()
        self.client.start_channels(hb=False)
        # Asked again until the answer shows on iopub, too: its subscription takes effect at some time of its own.
        while True:
            request = self.client.kernel_info()
            try:
                while self.client.get_iopub_msg(timeout=1)["parent_header"].get("msg_id") != request:
                    pass
                return
            except queue.Empty:
                if self.process.poll() is not None:
                    raise Dead from None

    def messages(self, request):
        """What the kernel says about a request, until it is idle again."""
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                if self.process.poll() is not None:
                    raise Dead from None
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return
            yield message["msg_type"], message["content"]

    def quietly(self, commands):
        if commands:
            code = "\n".join(commands)
            for _ in self.messages(self.client.execute(code, silent=True, store_history=False, allow_stdin=False)):
                pass

    # Messages.

    def start(self, message):
        os.chdir(message["cwd"])
        if message.get("env") is not None:
            os.environ.clear()
            os.environ.update(message["env"])
        self.env = dict(os.environ)
        self.name = KERNELS.get(message["language"], message["language"])
        self.launch(message["cwd"])
        self.send(type="ready")

    def result(self, cell, data, main):
        # Binary kinds come with the line breaks of their encoder.
        data = {mime: v.replace("\n", "") if isinstance(v, str) and mime in BINARY else v for mime, v in data.items()}
        size = sum(len(v) for v in data.values() if isinstance(v, str))
        if size > RESULT_MAX:
            data = {"text/plain": f"{data.get('text/plain', '')[:65536]} [left out: {size} bytes of it]"}
        self.send(type="result", id=cell, main=main, data=data)

    def run(self, cell, code):
        held = None  # some kernels display everything: the last of it is the value then
        for kind, content in self.messages(self.client.execute(code, allow_stdin=False, stop_on_error=False)):
            if held is not None and kind != "execute_input":
                self.result(cell, held, False)
                held = None
            if kind == "stream":
                write_all(2 if content["name"] == "stderr" else 1, content["text"].encode("utf-8", "replace"))
            elif kind == "display_data" and self.name in DISPLAYS_ALL:
                held = content["data"]
            elif kind in ("execute_result", "display_data"):
                self.result(cell, content["data"], kind == "execute_result")
            elif kind == "error":
                self.send(type="error", id=cell, name=content.get("ename", ""), value=content.get("evalue", ""),
                          traceback="\n".join(content.get("traceback", [])))
        if held is not None:
            self.result(cell, held, not BINARY & held.keys())

    def execute(self, message):
        env = message.get("env") or {}
        put, clear = SET.get(self.name), UNSET.get(self.name)
        if put:
            self.quietly([put(n, v) for n, v in env.items()])
        self.run(message["id"], message["code"])
        if put:
            self.quietly([put(n, self.env[n]) if n in self.env else clear(n) for n in env])
        self.send(type="done", id=message["id"])

    def serve(self):
        while (message := self.receive()) is not None:
            if message["op"] == "start":
                self.start(message)
            elif message["op"] == "execute":
                self.execute(message)


def main():
    signal.signal(signal.SIGINT, lambda signo, frame: None)
    bridge = Bridge()
    try:
        bridge.serve()
    except NoSuchKernel as e:
        sys.exit(f"there is no Jupyter kernel named '{e.name}'")
    except Dead:
        # As if we were the kernel: whoever reads our status learns how it ended.
        status = bridge.process.returncode
        if status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        sys.exit(status)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Tries every capability with the installed e2b and e2b-code-interpreter: python main.py sync|async. One line of JSON
for each:
{"id", "outcome": "yes" | "no" | "none" (the client has no such call), "why"}.

Each is written once, as a coroutine, for both kinds of client: `await done(x)` waits where x has to be waited for."""

import asyncio
import http.client
import importlib
import importlib.metadata
import inspect
import json
import os
import ssl
import sys
import time
import traceback
from urllib.parse import urlsplit

LIMIT_S = 45


class Absent(Exception):
    pass


async def done(value):
    return await value if inspect.isawaitable(value) else value


async def collect(stream):
    """The parts of a stream of either kind."""
    stream = await done(stream)
    if hasattr(stream, "__aiter__"):
        return [part async for part in stream]
    return list(stream)


class Client:
    def __init__(self, kind):
        self.sync = kind == "sync"
        self.core = importlib.import_module("e2b")
        self.code = importlib.import_module("e2b_code_interpreter")
        self.mark = f"py-{os.getpid()}-{time.time()}"
        self.made = []
        self.shared = {}

    def sandbox_class(self, module=None):
        return getattr(module or self.core, "Sandbox" if self.sync else "AsyncSandbox")

    def named(self, name):
        """A class of the package in this client's kind."""
        return getattr(self.core, name if self.sync else f"Async{name}", None)

    def needs(self, thing, *names):
        for name in names:
            if not hasattr(thing, name):
                raise Absent

    def takes(self, call, parameter):
        if parameter not in inspect.signature(call).parameters:
            raise Absent

    async def create(self, template="base", module=None, **opt):
        cls = self.sandbox_class(module)
        opt = {"timeout": 300, **opt}
        if template:
            opt["template"] = template
        sbx = await done(cls.create(**opt) if hasattr(cls, "create") else cls(**opt))  # 1.x has no create() in sync
        self.made.append(sbx)
        return sbx

    async def shell(self):
        if "shell" not in self.shared:
            self.shared["shell"] = await self.create()
        return self.shared["shell"]

    async def interpreter(self):
        if "code" not in self.shared:
            self.shared["code"] = await self.create(None, self.code, envs={"GIVEN": "at creation"})
        return self.shared["code"]

    async def fetch(self, url, method="GET", body=None, headers=None):
        """By host name where names lead here, else by sending the name to the server's address."""
        to = urlsplit(url)
        direct = os.environ.get("E2B_DOMAIN") or to.hostname == "127.0.0.1"
        via = to if direct else urlsplit(os.environ["E2B_API_URL"])
        if via.scheme == "https":
            conn = http.client.HTTPSConnection(via.netloc, context=ssl.create_default_context())
        else:
            conn = http.client.HTTPConnection(via.netloc)

        def ask():
            conn.request(method, f"{to.path}?{to.query}", body, {**(headers or {}), "Host": to.netloc})
            res = conn.getresponse()
            return res.status, res.read().decode()

        try:
            return await asyncio.to_thread(ask)
        finally:
            conn.close()

    async def until(self, holds, what, limit_s=15):
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            got = await done(holds())
            if got:
                return got
            await asyncio.sleep(0.05)
        raise TimeoutError(f"{what}: not within {limit_s} s")

    async def raises(self, kind, call):
        try:
            got = await done(call())
        except kind as err:
            return err
        raise AssertionError(f"no exception, but {got!r}")


async def attempt(run, client):
    try:
        await asyncio.wait_for(run(client), LIMIT_S)
        return {"outcome": "yes"}
    except Absent:
        return {"outcome": "none"}
    except BaseException as err:  # a client's own cancellation is a finding, too
        return {"outcome": "no", "why": f"{err!r}\n" + "".join(traceback.format_tb(err.__traceback__)[-3:])}


async def main():
    client = Client(sys.argv[1])
    versions = {name: importlib.metadata.version(name) for name in ("e2b", "e2b-code-interpreter")}
    print(json.dumps({"versions": versions}), flush=True)
    for name in ("sandbox", "commands", "files", "code", "git"):
        for key, run in importlib.import_module(f"try_{name}").CAPABILITIES.items():
            print(json.dumps({"id": key, **await attempt(run, client)}), flush=True)
    for sbx in client.made:
        try:
            await done(sbx.kill())
        except Exception:
            pass


if __name__ == "__main__":
    sys.modules["main"] = sys.modules["__main__"]
    asyncio.run(main())
    os._exit(0)  # a thread of a client that hangs has been told above

# SPDX-License-Identifier: Apache-2.0
# What anybody tries first, on any generation of the Python SDK: first.py sync|async
import asyncio
import inspect
import os
import sys
import time
import urllib.request

import e2b_code_interpreter as sdk

ASYNC = sys.argv[1] == "async"


async def done(value):
    return await value if inspect.isawaitable(value) else value


def fetch_soon(url):
    for tries in range(101):
        try:
            return urllib.request.urlopen(url).read()
        except OSError:
            if tries == 100:
                raise
            time.sleep(0.1)


async def main():
    kind = sdk.AsyncSandbox if ASYNC else sdk.Sandbox
    sbx = await done(kind.create() if hasattr(kind, "create") else kind())
    try:
        assert (await done(sbx.run_code("6 * 7"))).text == "42"
        assert (await done(sbx.commands.run("echo hello"))).stdout == "hello\n"
        await done(sbx.files.write("/home/user/site/index.html", "a page"))
        await done(sbx.commands.run("python3 -m http.server 8000 -d /home/user/site", background=True))
        host = sbx.get_host(8000)
        assert host == f"8000-{sbx.sandbox_id}.{os.environ['E2B_DOMAIN']}", host
        for scheme in ("https", "http"):
            assert fetch_soon(f"{scheme}://{host}/") == b"a page"
    finally:
        await done(sbx.kill())
    print("done")


asyncio.run(main())

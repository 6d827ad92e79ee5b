# SPDX-License-Identifier: Apache-2.0
# The official MCP client of Python, over http or stdio: what works and what does not, as JSON on standard output.
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


def transport(kind):
    if kind == "http":
        return streamable_http_client(
            os.environ["E2B_API_URL"] + "/mcp",
            http_client=create_mcp_http_client(headers={"X-API-Key": os.environ["E2B_API_KEY"]}),
        )
    env = {name: os.environ[name] for name in ("E2B_API_URL", "E2B_API_KEY")}
    return StdioServerParameters(command=os.environ["ATOLL"], args=["mcp"], env=env)


async def main(kind):
    out, seen = {}, []

    async def on_progress(progress, total, message):
        seen.append(message)

    async with Client(transport(kind)) as client:

        async def call(name, arguments, **more):
            r = await client.call_tool(name, arguments, **more)
            return {
                "isError": r.is_error,
                "data": r.structured_content,
                "text": "\n".join(getattr(c, "text", "") or "" for c in r.content),
                "types": [c.type for c in r.content],
            }

        out["tools"] = [t.name for t in (await client.list_tools()).tools]
        out["code"] = await call("run_code", {"code": "x = 20\nx + 1", "timeout_ms": 20000.0})
        out["error"] = await call("run_code", {"code": "1/0"})
        out["plot"] = await call("run_code", {"code": "import matplotlib.pyplot as plt\nplt.plot([x, 2])\nplt.show()"})
        out["wrong"] = await call("run_code", {"code": 5})
        try:
            out["unknown"] = await call("nonsense", {})
        except Exception as e:
            out["unknown"] = str(e)
        odd = "\u202e\U0001f4a5 '\"`$(id)\\ \x01"
        out["odd"] = (await call("run_code", {"code": f'print({odd!r}, end="")'}))["data"]["logs"]["stdout"] == [odd]
        out["steps"] = await call(
            "run_command",
            {"command": "for i in 1 2 3; do echo step $i; sleep 0.4; done"},
            progress_callback=on_progress,
        )
        out["seen"] = list(seen)
        # Larger than this client takes as one event.
        long = await call(
            "run_command", {"command": 'head -c 1900000 /dev/zero | tr "\\0" x'}, progress_callback=on_progress
        )
        out["long"] = {
            "isError": long["isError"],
            "truncated": long["data"]["truncated"],
            "n": len(long["data"]["stdout"]),
            "end": long["text"][-120:],
        }
        whole = await call("run_command", {"command": 'head -c 1900000 /dev/zero | tr "\\0" x'})
        out["whole"] = {"truncated": whole["data"].get("truncated", False), "n": len(whole["data"]["stdout"])}
        out["parallel"] = [
            r["data"]["text"] for r in await asyncio.gather(*(call("run_code", {"code": f"{i} * 2"}) for i in range(8)))
        ]
        try:
            await call(
                "run_code", {"code": "import time\nfor _ in range(600): time.sleep(0.1)"}, read_timeout_seconds=1
            )
            out["late"] = "answered"
        except Exception as e:
            out["late"] = str(e)
        out["after"] = await call(
            "run_code", {"code": "x"}
        )  # waits for the context, which the code before would hold for a minute
        await call("kill_sandbox", {"sandbox_id": out["code"]["data"]["sandboxId"]})
        out["anew"] = await call("run_code", {"code": '"x" in globals()'})
        await call("kill_sandbox", {"sandbox_id": out["anew"]["data"]["sandboxId"]})
    print(json.dumps(out))


asyncio.run(main(sys.argv[1]))

# SPDX-License-Identifier: Apache-2.0
"""The code interpreter."""

from main import done

PLOT = """import matplotlib.pyplot as plt
plt.plot([1, 2], [3, 4], label="l")
plt.title("T")
plt.xlabel("x (s)")
plt.show()"""


async def run(c, code, **opt):
    return await done((await c.interpreter()).run_code(code, **opt))


def prints(language, code, want):
    async def one(c):
        got = await run(c, code, language=language)
        assert got.error is None, got.error
        assert "".join(got.logs.stdout) == want, got.logs

    return one


async def python(c):
    got = await run(c, 'import os\nx = 5; print(os.environ["GIVEN"]); x*2')
    assert (got.text, got.logs.stdout, len(got.results), got.error) == ("10", ["at creation\n"], 1, None), got
    assert (await run(c, "x")).text == "5"


async def error(c):
    err = (await run(c, "1/0")).error
    assert (err.name, err.value) == ("ZeroDivisionError", "division by zero") and "1/0" in err.traceback, err


async def stream(c):
    seen = []
    code = 'import sys, time\nprint("o", flush=True)\ntime.sleep(1)\nprint("e", file=sys.stderr)\n7'
    got = await run(
        c,
        code,
        on_stdout=lambda out: seen.append(("out", out.line)),
        on_stderr=lambda out: seen.append(("err", out.line)),
        on_result=lambda result: seen.append(("result", result.text)),
    )
    assert seen == [("out", "o\n"), ("err", "e\n"), ("result", "7")] and got.text == "7", seen


async def context(c):
    sbx = await c.interpreter()
    own = await done(sbx.create_code_context(cwd="/tmp", language="python"))
    await run(c, "only_here = 1", context=own)
    assert (await run(c, "import os; (only_here, os.getcwd())", context=own)).text == "(1, '/tmp')"
    assert (await run(c, "only_here")).error.name == "NameError"


async def contexts(c):
    sbx = await c.interpreter()
    c.needs(sbx, "list_code_contexts", "restart_code_context", "remove_code_context")
    own = await done(sbx.create_code_context())
    await run(c, "kept = 1", context=own)
    await done(sbx.restart_code_context(own))
    assert (await run(c, "kept", context=own)).error.name == "NameError"
    assert any(one.id == own.id for one in await done(sbx.list_code_contexts()))
    await done(sbx.remove_code_context(own.id))
    assert not any(one.id == own.id for one in await done(sbx.list_code_contexts()))


async def table(c):
    result = (await run(c, 'import pandas as pd\npd.DataFrame({"a": [1, 2]})')).results[0]
    assert "<table" in result.html and result.data == {"a": [1, 2]}, result.data


async def png(c):
    assert (await run(c, PLOT)).results[0].png.startswith("iVBORw0KGgo")


async def chart(c):
    got = (await run(c, PLOT)).results[0].chart
    assert (got.type.value, got.title, got.x_label, got.x_unit) == ("line", "T", "x (s)", "s"), vars(got)
    assert [(one.label, [tuple(p) for p in one.points]) for one in got.elements] == [("l", [(1, 3), (2, 4)])], vars(got)


async def env(c):
    assert (await run(c, 'os.environ["ONE"]', envs={"ONE": "run"})).text == "run"
    assert (await run(c, 'os.environ.get("ONE")')).text is None


async def timeout(c):
    await c.raises(c.core.TimeoutException, lambda: c.shared["code"].run_code("while True: pass", timeout=1.5))
    assert (await run(c, "1 + 1")).text == "2"


CAPABILITIES = {
    "code.python": python,
    "code.error": error,
    "code.stream": stream,
    "code.javascript": prints("js", "const a = await Promise.resolve(6); console.log(a * 7)", "42\n"),
    "code.typescript": prints("ts", "const n: number = 6; console.log(n * 7)", "42\n"),
    "code.bash": prints("bash", "echo $((6 * 7))", "42\n"),
    "code.r": prints("r", 'cat(6 * 7, "\\n", sep="")', "42\n"),
    "code.java": prints("java", "System.out.println(6 * 7);", "42\n"),
    "code.context": context,
    "code.contexts": contexts,
    "code.table": table,
    "code.png": png,
    "code.chart": chart,
    "code.env": env,
    "code.timeout": timeout,
}

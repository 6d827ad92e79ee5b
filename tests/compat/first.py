# SPDX-License-Identifier: Apache-2.0
"""The first program on the official Python SDK."""
from e2b import Sandbox, CommandExitException

sbx = Sandbox.create("base", timeout=60, metadata={"by": "python"}, envs={"A": "b"})
try:
    run = sbx.commands.run('echo "$A"; echo e >&2')
    assert (run.exit_code, run.stdout, run.stderr) == (0, "b\n", "e\n"), run
    try:
        sbx.commands.run("exit 3")
        raise SystemExit("no exception for exit 3")
    except CommandExitException as e:
        assert e.exit_code == 3, e
    assert sbx.files.write("dir/f.txt", 'ä "x"').path == "/home/user/dir/f.txt"
    assert sbx.files.read("dir/f.txt") == 'ä "x"'
    assert sbx.files.read("dir/f.txt", format="bytes") == 'ä "x"'.encode()
    assert [e.name for e in sbx.files.list("dir")] == ["f.txt"]
    assert not sbx.files.exists("none")
    assert sbx.files.make_dir("d") is True and sbx.files.make_dir("d") is False
    sbx.files.rename("dir/f.txt", "d/g.txt")
    sbx.files.remove("d")
    bg = sbx.commands.run("sleep 30", background=True)
    assert any(p.pid == bg.pid for p in sbx.commands.list())
    assert bg.kill()
    sbx.set_timeout(30)
    info = sbx.get_info()
    assert info.metadata == {"by": "python"}, info
    again = Sandbox.connect(sbx.sandbox_id)
    assert again.commands.run("whoami").stdout == "user\n"
    assert sbx.is_running()
finally:
    assert sbx.kill() is True
assert not sbx.is_running()
print("done")

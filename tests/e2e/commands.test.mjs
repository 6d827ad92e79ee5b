// SPDX-License-Identifier: Apache-2.0
// commands.* of the SDK and the Process service behind it.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, endOf, envelope, outputOf, rpc, runAny, sdk, start, stream } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'

let sbx, raw

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 600000, envs: { GLOBAL: 'everywhere' } })
	raw = (await api('GET', `/sandboxes/${sbx.sandboxId}`)).json
})
after(() => sbx?.kill())

test('stdout and stderr are kept apart, exit code 0', async () => {
	const got = await sbx.commands.run('echo out; echo err >&2')
	assert.deepEqual([got.stdout, got.stderr, got.exitCode], ['out\n', 'err\n', 0])
})

test('exit codes come back', async () => {
	for (const code of [1, 2, 42, 127, 255]) {
		const got = await runAny(sbx, `exit ${code}`)
		assert.equal(got.exitCode, code)
		assert.equal(got.error, `exit status ${code}`)
	}
	assert.equal((await runAny(sbx, 'no-such-command')).exitCode, 127)
})

test('the end event has the documented form', async () => {
	const ok = await start(raw, 'true')
	await ok.ended
	const end = endOf(ok.events)
	assert.equal(end.exited, true)
	assert.equal(end.status, 'exit status 0')
	assert.ok(!end.exitCode)
	assert.ok(!end.error)
	const bad = await start(raw, 'exit 3')
	await bad.ended
	assert.deepEqual(endOf(bad.events), {
		exitCode: 3,
		exited: true,
		status: 'exit status 3',
		error: 'exit status 3',
	})
	const killed = await start(raw, 'kill -9 $$')
	await killed.ended
	assert.deepEqual(endOf(killed.events), {
		exitCode: -1,
		exited: false,
		status: 'signal: killed',
		error: 'signal: killed',
	})
	const term = await start(raw, 'kill -15 $$')
	await term.ended
	assert.equal(endOf(term.events).status, 'signal: terminated')
})

test('C1: a command leads neither a session nor a process group, so setsid does not fork', async () => {
	assert.equal((await runAny(sbx, "setsid sh -c 'exit 7'")).exitCode, 7)
	const own = await sbx.commands.run(
		`python3 -c 'import os; print(os.getpid() in (os.getsid(0), os.getpgid(0))); os.setsid(); ` +
			`print("led")'`,
	)
	assert.equal(own.stdout, 'False\nled\n')
	const tty = []
	const pty = await sbx.pty.create({ cols: 80, rows: 24, onData: (d) => tty.push(...d) })
	await sbx.pty.sendInput(pty.pid, Buffer.from('ps -o sid= -p $$; echo pid $$; exit\n'))
	await pty.wait()
	const [, sid, pid] = Buffer.from(tty)
		.toString()
		.match(/^ *(\d+)\r?\n.*?pid (\d+)/ms)
	assert.equal(sid, pid, 'a terminal has a shell that leads its session')
})

test('C1: the process group of a command is its own: kill 0 ends nothing else', async () => {
	const other = await sbx.commands.run('sleep 300', { background: true })
	const mine = await runAny(sbx, "trap 'kill -KILL 0' EXIT; sleep 300 & echo $!")
	assert.equal(mine.exitCode, -1)
	const gone = Number(mine.stdout)
	assert.ok(
		await until(async () => (await runAny(sbx, `kill -0 ${gone}`)).exitCode !== 0, 30000),
		'the child of kill 0 is gone',
	)
	assert.ok(
		(await sbx.commands.list()).some((p) => p.pid === other.pid),
		'the other command goes on',
	)
	await other.kill()
})

test('C8: ends by signal: -1 for the command itself, 128 + the signal where a shell says so', async () => {
	const ends = [
		['kill -TERM $$', -1],
		["sh -c 'kill -TERM $$'", -1],
		["sh -c 'kill -TERM $$'; exit $?", 143],
		['sleep 300 & kill %1; wait %1', 143],
		['timeout --preserve-status 0.1 sleep 300', 143],
		["setsid sh -c 'kill -TERM $$'", -1],
		["setsid -w sh -c 'kill -TERM $$'; exit $?", 143],
	]
	for (const [line, code] of ends) assert.equal((await runAny(sbx, line)).exitCode, code, line)
})

test('the first event is start, all output comes before end', async () => {
	const run = await start(raw, 'for i in $(seq 2000); do echo line $i; done; echo last >&2')
	assert.deepEqual(run.headers['content-type'], 'application/connect+json')
	const over = await run.ended
	assert.deepEqual(over.trailer, {})
	assert.ok(run.events[0].event.start.pid > 1)
	assert.ok(run.events.at(-1).event.end)
	assert.equal(outputOf(run.events).split('\n').length, 2001)
	assert.equal(outputOf(run.events, 'stderr'), 'last\n')
})

test('output is streamed while the command runs', async () => {
	let seen = ''
	const run = await sbx.commands.run('echo one; until [ -e /tmp/seen ]; do sleep 0.05; done; echo two', {
		background: true,
		onStdout: (text) => {
			seen += text
		},
	})
	assert.ok(await until(() => seen === 'one\n', 30000), seen)
	await sbx.files.write('/tmp/seen', '')
	await run.wait()
	assert.equal(seen, 'one\ntwo\n')
})

// Init reads at most once per 125 µs on average, after 32 reads at once: what is written meanwhile arrives in one
// event.
test('F2: a flood of small writes arrives complete, in order, and in few events', async () => {
	const lines = 50000,
		began = performance.now()
	const got = await start(raw, `python3 -uc 'for i in range(${lines}): print(i)'`)
	await got.ended
	const took = performance.now() - began,
		text = outputOf(got.events)
	assert.equal(text, Array.from({ length: lines }, (_, i) => `${i}\n`).join(''))
	const events = got.events.filter((e) => e.event?.data).length
	assert.ok(events <= 32 + took * 8 + text.length / 32768, `${events} events in ${took.toFixed(0)} ms`)
})

test('20 MB of output arrive complete', async () => {
	let bytes = 0
	await sbx.commands.run('head -c 20000000 /dev/zero | tr "\\0" x', {
		onStdout: (text) => {
			bytes += text.length
		},
	})
	assert.equal(bytes, 20000000)
})

test('binary output is exact', async () => {
	const run = await start(raw, 'printf "\\000\\377\\n\\303"')
	await run.ended
	const bytes = Buffer.concat(run.events.map((e) => Buffer.from(e.event?.data?.stdout ?? '', 'base64')))
	assert.deepEqual([...bytes], [0, 255, 10, 0xc3])
})

test('arguments pass verbatim', async () => {
	for (const text of ['!@#$%^&*()_+', 'Hello,\nWorld!', 'ä€😀', "it's", 'tab\there'])
		assert.equal((await sbx.commands.run('printf %s "$X"', { envs: { X: text } })).stdout, text)
	const run = await stream(raw, 'process.Process/Start', {
		process: { cmd: 'printf', args: ['%s|', 'a b', '', '"', '$HOME'] },
	})
	await run.ended
	assert.equal(outputOf(run.events), 'a b||"|$HOME|')
})

test('background, list, connect, kill', async () => {
	const run = await sbx.commands.run('sleep 30', { background: true, envs: { MARK: 'x' } })
	const listed = (await sbx.commands.list()).find((p) => p.pid === run.pid)
	assert.equal(listed.cmd, '/bin/bash')
	assert.deepEqual(listed.args, ['-l', '-c', 'sleep 30'])
	assert.deepEqual(listed.envs, { MARK: 'x' })
	const again = await sbx.commands.connect(run.pid)
	assert.equal(again.pid, run.pid)
	assert.equal(await sbx.commands.kill(run.pid), true)
	assert.notEqual((await runAny(sbx, `kill -0 ${run.pid}`)).exitCode, 0, 'the pid is still there')
	for (const handle of [run, again]) {
		const err = await handle.wait().catch((e) => e)
		assert.equal(err.exitCode, -1)
		assert.equal(err.error, 'signal: killed')
	}
	assert.ok(!(await sbx.commands.list()).some((p) => p.pid === run.pid))
	assert.equal(await sbx.commands.kill(run.pid), false)
	assert.equal(await sbx.commands.kill(999999), false)
	await assert.rejects(sbx.commands.connect(999999), /process with pid 999999 not found/)
})

test('a second client gets all later output', async () => {
	const one = await start(raw, 'until [ -e /tmp/joined ]; do sleep 0.05; done; echo shared; sleep 0.2')
	assert.ok(await until(() => one.events.length > 0))
	const two = await stream(raw, 'process.Process/Connect', { process: { pid: one.events[0].event.start.pid } })
	assert.ok(await until(() => two.events.length > 0))
	await sbx.files.write('/tmp/joined', '')
	await Promise.all([one.ended, two.ended])
	assert.equal(outputOf(one.events), 'shared\n')
	assert.equal(outputOf(two.events), 'shared\n')
	assert.ok(two.events[0].event.start)
	assert.ok(endOf(two.events))
})

test('a tag names a process as well as its pid', async () => {
	const run = await stream(raw, 'process.Process/Start', {
		process: { cmd: 'sleep', args: ['30'] },
		tag: 'my-tag',
	})
	assert.ok(await until(() => run.events.length > 0))
	const list = await rpc(raw, 'process.Process/List', {})
	assert.ok(list.json.processes.some((p) => p.tag === 'my-tag'))
	const sig = await rpc(raw, 'process.Process/SendSignal', {
		process: { tag: 'my-tag' },
		signal: 'SIGNAL_SIGTERM',
	})
	assert.equal(sig.status, 200, sig.text)
	await run.ended
	assert.equal(endOf(run.events).status, 'signal: terminated')
	const gone = await rpc(raw, 'process.Process/SendSignal', {
		process: { tag: 'my-tag' },
		signal: 'SIGNAL_SIGTERM',
	})
	assert.equal(gone.status, 404)
	assert.equal(gone.json.code, 'not_found')
})

test('stdin: send, close, bytes and text', async () => {
	const cat = await sbx.commands.run('cat', { background: true, stdin: true })
	await cat.sendStdin('first ')
	await cat.sendStdin(new TextEncoder().encode('ä€'))
	await cat.sendStdin('')
	await cat.closeStdin()
	await cat.closeStdin().catch(() => {}) /* closing twice, or after the end, is harmless */
	const got = await cat.wait()
	assert.equal(got.stdout, 'first ä€')
})

test('stdin: a megabyte through cat', async () => {
	const text = 'x'.repeat(100000)
	const cat = await sbx.commands.run('wc -c', { background: true, stdin: true })
	for (let i = 0; i < 10; i++) await cat.sendStdin(text)
	await cat.closeStdin()
	assert.equal((await cat.wait()).stdout.trim(), '1000000')
})

test('stdin is /dev/null unless asked for', async () => {
	assert.equal((await sbx.commands.run('cat; readlink /proc/self/fd/0')).stdout, '/dev/null\n')
	const run = await start(raw, 'sleep 30')
	assert.ok(await until(() => run.events.length > 0))
	const { pid } = run.events[0].event.start
	const send = await rpc(raw, 'process.Process/SendInput', { process: { pid }, input: { stdin: 'eA==' } })
	assert.ok(send.status >= 400)
	await sbx.commands.kill(pid)
})

test('a timeout kills the command and says so', async () => {
	const { TimeoutError } = sdk()
	const began = Date.now()
	await assert.rejects(sbx.commands.run('sleep 31', { timeoutMs: 1000 }), TimeoutError)
	assert.ok(Date.now() - began < 25000)
	const gone = await until(async () => (await runAny(sbx, 'pgrep -x -f "sleep 31"')).exitCode !== 0)
	assert.ok(gone, 'the process outlived its deadline')
	const run = await start(raw, 'sleep 32', { headers: { 'Connect-Timeout-Ms': '500' } })
	const over = await run.ended
	assert.equal(over.trailer?.error?.code, 'deadline_exceeded')
	assert.equal(endOf(run.events), undefined)
})

test('the deadline holds when the client has gone', async () => {
	const run = await start(raw, 'sleep 33', { headers: { 'Connect-Timeout-Ms': '1000' } })
	assert.ok(await until(() => run.events.length > 0))
	run.close()
	assert.ok(
		await until(async () => (await runAny(sbx, 'pgrep -x -f "sleep 33"')).exitCode !== 0, 20000),
		'it runs on',
	)
})

test('the deadline of a connect ends only that stream', async () => {
	const run = await start(raw, 'sleep 34')
	assert.ok(await until(() => run.events.length > 0))
	const { pid } = run.events[0].event.start
	const two = await stream(
		raw,
		'process.Process/Connect',
		{ process: { pid } },
		{ headers: { 'Connect-Timeout-Ms': '300' } },
	)
	const over = await two.ended
	assert.equal(over.trailer?.error?.code, 'deadline_exceeded')
	assert.equal((await runAny(sbx, `kill -0 ${pid}`)).exitCode, 0)
	await sbx.commands.kill(pid)
})

test('cwd: default, absolute, relative, home, missing', async () => {
	assert.equal((await sbx.commands.run('pwd')).stdout, '/home/user\n')
	assert.equal((await sbx.commands.run('pwd', { cwd: '/tmp' })).stdout, '/tmp\n')
	await sbx.commands.run('mkdir -p sub')
	assert.equal((await sbx.commands.run('pwd', { cwd: 'sub' })).stdout, '/home/user/sub\n')
	assert.equal((await sbx.commands.run('pwd', { cwd: '~/sub' })).stdout, '/home/user/sub\n')
	const { InvalidArgumentError } = sdk()
	const err = await sbx.commands.run('pwd', { cwd: '/no/such' }).catch((e) => e)
	assert.ok(err instanceof InvalidArgumentError, String(err))
	assert.match(err.message, /cwd '\/no\/such' does not exist/)
	await assert.rejects(sbx.commands.run('pwd', { cwd: '/etc/passwd' }))
})

test('env: global, per command, and nothing more than documented', async () => {
	assert.equal((await sbx.commands.run('echo $GLOBAL')).stdout, 'everywhere\n')
	assert.equal((await sbx.commands.run('echo $GLOBAL', { envs: { GLOBAL: 'here' } })).stdout, 'here\n')
	assert.equal((await sbx.commands.run('echo "[$ONCE]"', { envs: { ONCE: '1' } })).stdout, '[1]\n')
	assert.equal((await sbx.commands.run('echo "[$ONCE]"')).stdout, '[]\n')
	const run = await stream(raw, 'process.Process/Start', { process: { cmd: '/usr/bin/env' } })
	await run.ended
	const names = outputOf(run.events)
		.trim()
		.split('\n')
		.map((l) => l.split('=')[0])
		.sort()
	/* the last three only where the host has certificate authorities of its own */
	const documented = [
		'HOME',
		'LANG',
		'LOGNAME',
		'PATH',
		'PS1',
		'SHELL',
		'USER',
		'NODE_EXTRA_CA_CERTS',
		'REQUESTS_CA_BUNDLE',
		'SSL_CERT_FILE',
	]
	assert.deepEqual(
		names.filter((n) => !n.startsWith('E2B_') && !documented.includes(n)),
		['GLOBAL'],
	)
	for (const name of ['E2B_SANDBOX', 'E2B_SANDBOX_ID', 'E2B_TEMPLATE_ID']) assert.ok(names.includes(name), name)
})

test('no fd of ours is open in a command', async () => {
	const run = await stream(raw, 'process.Process/Start', {
		process: { cmd: '/bin/ls', args: ['/proc/self/fd'] },
		stdin: false,
	})
	await run.ended
	assert.deepEqual(outputOf(run.events).trim().split('\n'), [
		'0',
		'1',
		'2',
		'3',
	]) /* 3 is ls reading the directory */
})

test('a missing program is an error that names it', async () => {
	const run = await stream(raw, 'process.Process/Start', { process: { cmd: '/no/such/program' } })
	const over = await run.ended
	assert.equal(over.how, 'end')
	assert.equal(endOf(run.events).exitCode, 127)
	assert.match(outputOf(run.events, 'stderr'), /\/no\/such\/program: not found/)
	const dir = await stream(raw, 'process.Process/Start', { process: { cmd: '/tmp' } })
	await dir.ended
	assert.equal(endOf(dir.events).exitCode, 126)
})

test('output of grandchildren still comes before the end; one that lets go of it does not hold the end', async () => {
	assert.equal((await sbx.commands.run('(sleep 0.5; echo late) & echo early')).stdout, 'early\nlate\n')
	const began = Date.now()
	assert.equal((await sbx.commands.run('sleep 35 >/dev/null 2>&1 & echo early')).stdout, 'early\n')
	assert.ok(Date.now() - began < 30000, `took ${Date.now() - began} ms`)
	assert.equal((await runAny(sbx, 'pkill -x -f "sleep 35"')).exitCode, 0, 'the background process is gone')
})

test('orphans are reaped', async () => {
	await sbx.commands.run('for i in $(seq 50); do (setsid sh -c "sleep 0.05" &) ; done')
	const left = 'ps -eo stat=,comm= | grep -c -e ^Z -e sleep || true'
	assert.ok(await until(async () => (await sbx.commands.run(left)).stdout.trim() === '0', 20000), 'some are left')
})

test('fifty commands at once', async () => {
	const all = await Promise.all(Array.from({ length: 50 }, (_, i) => sbx.commands.run(`echo ${i}`)))
	assert.deepEqual(
		all.map((r) => r.stdout),
		Array.from({ length: 50 }, (_, i) => `${i}\n`),
	)
	assert.deepEqual(await sbx.commands.list(), [])
})

test('a request cut into single bytes is understood', async () => {
	const http = await import('node:http')
	const { routeHeaders, server } = await import('../lib/client.mjs')
	const url = new URL(server.url)
	const bytes = envelope({ process: { cmd: 'echo', args: ['slowly'] }, stdin: false })
	const text = await new Promise((done, fail) => {
		const req = http.request(
			{
				host: url.hostname,
				port: url.port,
				method: 'POST',
				path: '/process.Process/Start',
				agent: false,
				headers: { ...routeHeaders(raw), 'Content-Type': 'application/connect+json' },
			},
			(res) => {
				const parts = []
				res.on('data', (p) => parts.push(p))
				res.once('end', () => done(Buffer.concat(parts).toString('latin1')))
			},
		)
		req.once('error', fail)
		req.setNoDelay(true)
		void (async () => {
			for (const b of bytes) {
				req.write(Buffer.from([b]))
				await new Promise((next) => setImmediate(next))
			}
			req.end()
		})()
	})
	assert.ok(text.includes(Buffer.from('slowly\n').toString('base64')))
})

// PTRACE_TRACEME makes the parent the tracer, and that is pid 1.
const TRACED = `import ctypes, os, signal, sys, time
def trace_me():
    assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0
`

test('F6: a program that has itself traced by pid 1 goes on, through signals and other programs', async () => {
	const python = (code) => runAny(sbx, `exec python3 - <<'E'\n${TRACED}${code}\nE`, { timeoutMs: 30000 })
	const handled = await python(`signal.signal(signal.SIGUSR1, lambda *_: print('handled', flush=True))
trace_me()
for _ in range(3):
    os.kill(os.getpid(), signal.SIGUSR1)`)
	assert.deepEqual([handled.stdout, handled.exitCode], ['handled\n'.repeat(3), 0])
	assert.equal((await python("trace_me()\nos.execv('/bin/echo', ['echo', 'another'])")).stdout, 'another\n')
	assert.equal((await python('trace_me()\nos.kill(os.getpid(), signal.SIGTERM)')).error, 'signal: terminated')
	assert.equal((await python('trace_me()\nos.abort()')).error, 'signal: aborted')
	// Nor does an orphan stop, that pid 1 has never started.
	const orphan = await python(`r, w = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        while os.getppid() != 1:
            time.sleep(0.01)
        trace_me()
        signal.signal(signal.SIGUSR1, lambda *_: os.write(w, b'handled'))
        os.kill(os.getpid(), signal.SIGUSR1)
    os._exit(0)
os.close(w)
print(os.read(r, 7).decode())`)
	assert.equal(orphan.stdout, 'handled\n')
})

// SPDX-License-Identifier: Apache-2.0
// PTYs: create, type, resize, kill, come back to one that runs; who owns it, what is refused.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, endOf, killRaw, outputOf, rpc, sdk, stream } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'

let sbx, raw

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 300000 })
	raw = await createRaw({ timeout: 300 })
})
after(async () => {
	await sbx?.kill()
	await killRaw(raw)
})

// A terminal of the SDK with all that it has shown.
async function terminal(opt = {}) {
	const t = { text: '' }
	const onData = (data) => {
		t.text += Buffer.from(data).toString()
	}
	t.handle = await sbx.pty.create({ cols: 80, rows: 24, timeoutMs: 0, ...opt, onData })
	t.type = (text) => sbx.pty.sendInput(t.handle.pid, new TextEncoder().encode(text))
	t.shows = async (what) =>
		assert.ok(await until(() => what.test(t.text), 10000), `${what} in ${JSON.stringify(t.text)}`)
	return t
}

test('a login shell with the size, directory and variables asked for', async () => {
	const t = await terminal({ cols: 132, rows: 43, cwd: '/tmp', envs: { MINE: 'x y' } })
	await t.type('stty size; pwd; echo "[$MINE] $TERM"; tty; shopt -q login_shell && echo log""in\n')
	await t.shows(/43 132/)
	await t.shows(/\n\/tmp\r/)
	await t.shows(/\[x y\] xterm-256color/)
	await t.shows(/\/dev\/pts\/\d/)
	await t.shows(/\nlogin\r/)
	await t.type('exit 3\n')
	const end = await t.handle.wait().catch((err) => err)
	assert.equal(end.exitCode, 3)
})

test('a resize is seen by the program that runs', async () => {
	const t = await terminal()
	/* a program of its own: the signal goes to the group in the foreground */
	await t.type(`sh -c 'trap "stty size; echo resi""zed" WINCH; echo rea""dy; while :; do sleep 0.1; done'\n`)
	await t.shows(/ready/)
	await sbx.pty.resize(t.handle.pid, { cols: 101, rows: 7 })
	await t.shows(/7 101\r\nresized/)
	assert.equal(await sbx.pty.kill(t.handle.pid), true)
	assert.equal(await sbx.pty.kill(t.handle.pid), false)
})

test('keys are signals: interrupt, end of file', async () => {
	const t = await terminal()
	await t.type('sleep 1000; echo st""atus $?\n')
	assert.ok(
		await until(async () => (await sbx.commands.run('pgrep -fx "sleep 1000" || true')).stdout.trim()),
		'it does not sleep',
	)
	await t.type('\x03')
	await t.type('echo after""wards\n')
	await t.shows(/afterwards/)
	await t.type('\x04')
	const end = await t.handle.wait().catch((err) => err)
	assert.ok('exitCode' in end)
})

test('a client that went away finds its terminal again', async () => {
	const t = await terminal()
	await t.type('export KEPT=still-here; cd /var\n')
	await t.handle.disconnect()
	let text = ''
	const again = await sbx.pty.connect(t.handle.pid, {
		onData: (data) => {
			text += Buffer.from(data).toString()
		},
	})
	assert.equal(again.pid, t.handle.pid)
	await sbx.pty.sendInput(t.handle.pid, new TextEncoder().encode('echo "$KEPT $PWD"\n'))
	assert.ok(await until(() => /still-here \/var/.test(text)), text)
	assert.ok((await sbx.commands.list()).some((p) => p.pid === t.handle.pid))
	await again.kill()
})

test('two clients see the same terminal', async () => {
	const start = await stream(raw, 'process.Process/Start', {
		process: { cmd: '/bin/bash', args: ['-i'] },
		pty: { size: { cols: 80, rows: 24 } },
		tag: 'both',
	})
	assert.ok(await until(() => start.events.length > 0), 'it does not start')
	const second = await stream(raw, 'process.Process/Connect', { process: { tag: 'both' } })
	assert.ok(await until(() => second.events.length > 0), 'the second one hears nothing')
	await rpc(raw, 'process.Process/SendInput', {
		process: { tag: 'both' },
		input: { pty: Buffer.from('echo sha""red; exit 5\n').toString('base64') },
	})
	for (const one of [start, second]) {
		assert.equal((await one.ended).how, 'end')
		assert.match(outputOf(one.events, 'pty'), /shared/)
		assert.equal(endOf(one.events).exitCode, 5)
	}
})

test('the terminal belongs to its user and is a real one', async () => {
	const run = await stream(
		raw,
		'process.Process/Start',
		{
			process: {
				cmd: '/bin/sh',
				args: [
					'-c',
					'stat -c %U "$(tty)"; id -un; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; ' +
						'ps -o tpgid= -o pgid= -p $$ | ' +
						'awk \'{print ($1 == $2) ? "fore" : "back"}\'',
				],
			},
			pty: { size: { cols: 80, rows: 24 } },
		},
		{ user: 'user' },
	)
	await run.ended
	assert.deepEqual(outputOf(run.events, 'pty').trim().split(/\r?\n/), ['user', 'user', 'all', 'fore'])
})

test('input of the wrong kind, and what a terminal cannot do, are refused', async () => {
	const tty = await stream(raw, 'process.Process/Start', {
		process: { cmd: '/bin/cat' },
		pty: { size: { cols: 80, rows: 24 } },
		tag: 'tty',
	})
	const pipe = await stream(raw, 'process.Process/Start', {
		process: { cmd: '/bin/cat' },
		stdin: true,
		tag: 'pipe',
	})
	assert.ok(await until(() => tty.events.length > 0 && pipe.events.length > 0), 'they do not start')
	const input = Buffer.from('x').toString('base64')
	const send = (tag, kind) =>
		rpc(raw, 'process.Process/SendInput', { process: { tag }, input: { [kind]: input } })
	assert.match((await send('tty', 'stdin')).json.message, /should be written to the pty/)
	assert.match((await send('pipe', 'pty')).json.message, /should be written to the stdin/)
	assert.match(
		(await rpc(raw, 'process.Process/CloseStdin', { process: { tag: 'tty' } })).json.message,
		/cannot close stdin for PTY/,
	)
	assert.match(
		(
			await rpc(raw, 'process.Process/Update', {
				process: { tag: 'pipe' },
				pty: { size: { cols: 1, rows: 1 } },
			})
		).json.message,
		/tty not assigned/,
	)
	assert.equal((await rpc(raw, 'process.Process/Update', { process: { tag: 'tty' } })).status, 200)
	for (const size of [
		{ cols: 70000, rows: 1 },
		{ cols: -1, rows: 1 },
		{ cols: 'wide', rows: 1 },
	])
		assert.equal(
			(await rpc(raw, 'process.Process/Update', { process: { tag: 'tty' }, pty: { size } })).status,
			400,
		)
	assert.equal(
		(
			await rpc(raw, 'process.Process/Update', {
				process: { pid: 999999 },
				pty: { size: { cols: 1, rows: 1 } },
			})
		).json.code,
		'not_found',
	)
	for (const tag of ['tty', 'pipe'])
		await rpc(raw, 'process.Process/SendSignal', { process: { tag }, signal: 'SIGNAL_SIGKILL' })
})

test('a large paste arrives whole', async () => {
	const t = await terminal()
	await t.type('stty -echo -icanon; echo re""ady; head -c 60000 | md5sum; stty sane\n')
	await t.shows(/ready/)
	const text = 'abcdefghij'.repeat(6000)
	await t.type(text)
	const { createHash } = await import('node:crypto')
	await t.shows(new RegExp(createHash('md5').update(text).digest('hex')))
	await t.handle.kill()
})

// SPDX-License-Identifier: Apache-2.0
// Commands and terminals.
const assert = require('node:assert/strict')

const bytes = (text) => new TextEncoder().encode(text)

async function terminal(c, opt = {}) {
	const sbx = await c.shell()
	const seen = { text: '' }
	const pty = await sbx.pty.create({
		cols: 80,
		rows: 24,
		onData: (data) => {
			seen.text += new TextDecoder().decode(data)
		},
		...opt,
	})
	return { sbx, pty, seen, type: (text) => sbx.pty.sendInput(pty.pid, bytes(text)) }
}

module.exports = {
	'commands.run': async (c) => {
		const sbx = await c.shell()
		const run = await sbx.commands.run('id -un; pwd; echo "$A ä"; echo e >&2', {
			user: 'root',
			cwd: '/tmp',
			envs: { A: "'q'" },
		})
		assert.deepEqual([run.exitCode, run.stdout, run.stderr], [0, "root\n/tmp\n'q' ä\n", 'e\n'])
	},
	'commands.error': async (c) => {
		const sbx = await c.shell()
		await assert.rejects(sbx.commands.run('echo o; echo e >&2; exit 3'), (err) => {
			assert.deepEqual([err.exitCode, err.stdout, err.stderr], [3, 'o\n', 'e\n'])
			return err instanceof c.core.CommandExitError
		})
	},
	'commands.stream': async (c) => {
		const sbx = await c.shell()
		let seen = ''
		const run = sbx.commands.run('echo first; until [ -e /tmp/go ]; do sleep 0.1; done; echo last', {
			onStdout: (text) => {
				seen += text
			},
		})
		await Promise.race([run, c.until(() => seen.includes('first'), 'the first line')])
		assert.equal(seen, 'first\n')
		await sbx.files.write('/tmp/go', '')
		assert.equal((await run).stdout, 'first\nlast\n')
	},
	'commands.background': async (c) => {
		const sbx = await c.shell()
		const command = 'until [ -e /tmp/seen ]; do sleep 0.1; done; echo done'
		const run = await sbx.commands.run(command, { background: true, envs: { A: 'b' } })
		const entry = (await sbx.commands.list()).find((p) => p.pid === run.pid)
		assert.deepEqual([entry.args.at(-1), entry.envs.A], [command, 'b'])
		await sbx.files.write('/tmp/seen', '')
		assert.equal((await run.wait()).stdout, 'done\n')
	},
	'commands.kill': async (c) => {
		const sbx = await c.shell()
		const run = await sbx.commands.run('sleep 300', { background: true })
		assert.equal(await sbx.commands.kill(run.pid), true)
		assert.equal(await sbx.commands.kill(run.pid), false)
		await assert.rejects(run.wait())
	},
	'commands.stdin': async (c) => {
		const sbx = await c.shell()
		const run = await sbx.commands.run('read -r line; echo "got $line"', { background: true, stdin: true })
		await sbx.commands.sendStdin(run.pid, 'a line\n')
		assert.equal((await run.wait()).stdout, 'got a line\n')
	},
	'commands.eof': async (c) => {
		const sbx = await c.shell()
		c.needs(sbx.commands.closeStdin)
		const run = await sbx.commands.run('cat', { background: true, stdin: true })
		await sbx.commands.sendStdin(run.pid, 'all')
		await sbx.commands.closeStdin(run.pid)
		assert.equal((await run.wait()).stdout, 'all')
	},
	'commands.input-stream': async (c) => {
		c.needs((await c.shell()).commands.streamInput)
	},
	'commands.connect': async (c) => {
		const sbx = await c.shell()
		const run = await sbx.commands.run('read -r line; echo "got $line"', { background: true, stdin: true })
		await run.disconnect()
		const again = await sbx.commands.connect(run.pid)
		await sbx.commands.sendStdin(run.pid, 'later\n')
		assert.equal((await again.wait()).stdout, 'got later\n')
	},
	'commands.timeout': async (c) => {
		const sbx = await c.shell()
		await assert.rejects(sbx.commands.run('sleep 300', { timeoutMs: 500 }), c.core.TimeoutError)
	},
	'pty.create': async (c) => {
		const { pty, seen, type } = await terminal(c, { cwd: '/tmp', envs: { A: 'b' } })
		await type('tty; pwd; echo "<$A>"\n')
		await c.until(() => /\/dev\/pts\/\d+[^]*\/tmp[^]*<b>/.test(seen.text), 'its output')
		await type('exit 0\n')
		assert.equal((await pty.wait()).exitCode, 0)
	},
	'pty.resize': async (c) => {
		const { sbx, pty, seen, type } = await terminal(c)
		await sbx.pty.resize(pty.pid, { cols: 123, rows: 45 })
		await type('stty size\n')
		await c.until(() => seen.text.includes('45 123'), 'the new size')
		await pty.kill()
	},
	'pty.kill': async (c) => {
		const { sbx, pty } = await terminal(c)
		c.needs(sbx.pty.kill)
		assert.equal(await sbx.pty.kill(pty.pid), true)
		await assert.rejects(pty.wait())
	},
	'pty.connect': async (c) => {
		const { sbx, pty, type } = await terminal(c)
		c.needs(sbx.pty.connect)
		await pty.disconnect()
		let seen = ''
		const again = await sbx.pty.connect(pty.pid, {
			onData: (data) => {
				seen += new TextDecoder().decode(data)
			},
		})
		await type('echo a$((1+1))b\n')
		await c.until(() => seen.includes('a2b'), 'its output')
		await again.kill()
	},
}

// SPDX-License-Identifier: Apache-2.0
// The unit that is installed: systemd takes it, and it ends the daemon alone.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { server } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'

const has = spawnSync('systemd-analyze', ['--version']).status === 0

test(
	'systemd takes the unit, which leaves the sandboxes alone when the daemon ends',
	{ skip: !has && 'systemd-analyze is not there' },
	() => {
		const text = fs.readFileSync(path.join(server.buildDir, 'packaging/atoll.service'), 'utf8')
		const set = (name) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1]
		assert.equal(set('Type'), 'notify')
		assert.equal(set('TimeoutStartSec'), 'infinity') /* the first start builds the templates */
		assert.equal(set('KillMode'), 'process') /* not what it started: sandboxes outlive it */
		assert.equal(
			set('Delegate'),
			undefined,
		) /* their cgroups are elsewhere: it can be started again beside them */
		assert.match(set('ExecStart'), /--on-stop keep/)
		assert.match(set('ExecStopPost'), /= stopping \]; then /) /* only when the machine goes down */
		const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-unit-'))
		try {
			const atoll = path.join(server.buildDir, 'src/cli/atoll')
			fs.writeFileSync(
				path.join(dir, 'atoll.service'),
				text
					.replace(/^ExecStart=\S+/m, `ExecStart=${atoll}`)
					.replace(/^Documentation=.*\n/m, ''),
			)
			const done = spawnSync('systemd-analyze', ['verify', path.join(dir, 'atoll.service')], {
				encoding: 'utf8',
			})
			assert.equal(done.status, 0, done.stderr)
			assert.ok(!/atoll\.service/.test(done.stderr), done.stderr)
		} finally {
			fs.rmSync(dir, { recursive: true })
		}
	},
)

// As systemd does: a datagram socket, and a line here for each report and the pid that sent it.
const MANAGER = `import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1].replace('@', chr(0)))
print('waiting', flush=True)
while True:
    text, cred, _, _ = s.recvmsg(4096, 256)
    print(struct.unpack('3i', cred[0][2][:12])[0], text.decode(), flush=True)`

async function withManager(address, run) {
	const child = spawn('python3', ['-c', MANAGER, address], { stdio: ['ignore', 'pipe', 'inherit'] })
	let text = ''
	child.stdout.on('data', (part) => {
		text += part
	})
	try {
		assert.ok(await until(() => text.startsWith('waiting')))
		await run(() => text.split('\n').slice(1, -1))
	} finally {
		child.kill()
	}
}

test('the service manager hears of the start when clients are served, and of the stop', async () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-notify-'))
	const own = newServer(server.buildDir, {}, { env: { NOTIFY_SOCKET: path.join(dir, 'socket') } })
	try {
		await withManager(path.join(dir, 'socket'), async (heard) => {
			await own.start()
			assert.ok(await until(() => heard().length > 0))
			assert.deepEqual(heard(), [`${own.pid} READY=1`])
			assert.equal((await fetch(`${own.url}/health`)).status, 204)
			const end = await own.stop()
			assert.ok(end.clean, JSON.stringify(end.left))
			assert.deepEqual(heard(), [`${own.pid} READY=1`, `${own.pid} STOPPING=1`])
		})
	} finally {
		await own.stop()
		fs.rmSync(dir, { recursive: true })
	}
})

test('a start that is refused is not reported as one', async () => {
	const address = `@atoll-notify-${process.pid}`
	const own = newServer(server.buildDir, {}, { env: { NOTIFY_SOCKET: address } })
	try {
		await withManager(address, async (heard) => {
			await own.start()
			own.signal('SIGTERM')
			await own.exited
			assert.ok(await until(() => heard().length === 2))
			const db = path.join(own.stateDir, 'front/atoll.db')
			for (const end of ['-wal', '-shm']) fs.rmSync(db + end, { force: true })
			fs.writeFileSync(db, 'this was a database once')
			await assert.rejects(own.start(), /has a damaged 'front\/atoll\.db'/)
			assert.equal(heard().length, 2, heard().join('\n'))
		})
	} finally {
		await own.stop()
		own.discard()
	}
})

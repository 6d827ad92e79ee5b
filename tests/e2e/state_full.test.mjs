// SPDX-License-Identifier: Apache-2.0
// A state directory whose disk is full: what cannot be noted is refused, and what is there stays as it was.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, endOf, outputOf, server, stream } from '../lib/client.mjs'
import { Server } from '../lib/server.mjs'

function sh(...argv) {
	const done = spawnSync(argv[0], argv.slice(1), { encoding: 'utf8' })
	assert.equal(done.status, 0, done.stderr)
}

// Down to the last block.
function fill(file) {
	const fd = fs.openSync(file, 'w')
	for (let size = 1 << 20; size >= 1; size = Math.floor(size / 2)) {
		try {
			for (;;) fs.writeSync(fd, Buffer.alloc(size))
		} catch (err) {
			assert.equal(err.code, 'ENOSPC')
		}
	}
	fs.closeSync(fd)
}

test(
	'with a full disk below the state directory nothing is acknowledged that was not noted, and ' +
		'sandboxes run on',
	async () => {
		const base = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-test-')),
			state = path.join(base, 'state')
		fs.mkdirSync(state)
		sh('mount', '-t', 'tmpfs', '-o', 'size=700m', 'tmpfs', state)
		const own = new Server(server.buildDir, base, { pool_size_mb: 600, pool_max_mb: 600 })
		const call = (method, where, body) => api(method, where, body, { base: own.url, key: own.key })
		const run = async (sbx, command) => {
			const got = await stream(
				sbx,
				'process.Process/Start',
				{ process: { cmd: '/bin/bash', args: ['-l', '-c', command] }, stdin: false },
				{ base: own.url, user: 'user' },
			)
			await got.ended
			assert.equal(endOf(got.events)?.status, 'exit status 0', outputOf(got.events, 'stderr'))
			return outputOf(got.events).trim()
		}
		try {
			await own.start()
			const opt = { base: own.url, key: own.key }
			const sbx = await createRaw({ timeout: 600 }, opt),
				volume = (await call('POST', '/volumes', { name: 'before', sizeMB: 10 })).json
			await run(sbx, 'echo kept >/home/user/f')
			fill(path.join(state, 'filler'))
			const refused = []
			for (let i = 0; i < 40; i++) {
				// what is left in the last page of its log may hold some
				const got = await call('POST', '/volumes', { name: `full${i}`, sizeMB: 1 })
				if (got.status !== 201) refused.push(got)
			}
			assert.ok(refused.length > 0)
			for (const got of refused) {
				assert.ok([503, 507].includes(got.status), got.text)
				assert.match(got.json.message, /full|space/i)
			}
			const made = (await call('GET', '/volumes')).json.map((v) => v.name)
			assert.equal(made.length, 41 - refused.length)
			const create = await call('POST', '/v2/sandboxes', {
				templateID: 'base',
				timeout: 600,
				metadata: { big: 'x'.repeat(60000) },
			})
			assert.ok([503, 507].includes(create.status), create.text)
			assert.match(create.json.message, /full|space/i)
			assert.equal((await call('GET', `/sandboxes/${sbx.sandboxID}`)).json.state, 'running')
			assert.equal(
				await run(sbx, 'cat /home/user/f; echo more >/home/user/g; cat /home/user/g'),
				'kept\nmore',
			)
			fs.rmSync(path.join(state, 'filler'))
			assert.equal((await call('POST', '/volumes', { name: 'after', sizeMB: 1 })).status, 201)
			assert.equal(
				(await call('POST', `/sandboxes/${sbx.sandboxID}/timeout`, { timeout: 500 })).status,
				204,
			)
			own.signal('SIGKILL')
			await own.exited
			await own.start()
			assert.deepEqual(
				(await call('GET', '/volumes')).json.map((v) => v.name).sort(),
				[...made, 'after'].sort(),
			)
			assert.equal(await run(sbx, 'cat /home/user/f'), 'kept')
			assert.equal((await call('DELETE', `/volumes/${volume.volumeID}`)).status, 204)
		} finally {
			own.signal('SIGTERM')
			await own.exited
			sh('umount', state) // before it is looked for what is left: that would be
			const end = await own.stop()
			assert.ok(end.clean, JSON.stringify(end.left))
		}
	},
)

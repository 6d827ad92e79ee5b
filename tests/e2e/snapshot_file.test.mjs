// SPDX-License-Identifier: Apache-2.0
// A snapshot as one file: out of one server, into another; and files that are not what they should be.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { api, createRaw, server, shell } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { poolOf, until } from '../lib/host.mjs'
import { runCode } from '../lib/interp.mjs'
import { built } from '../ckpt/drive.mjs'

const tools = built('tools')
const noMemory = tools.why && `CRIU is not there: ${tools.why}`
const CONFIG = { pool_size_mb: 3072, checkpoint_after_s: 3600 }

const call = (own, method, where, body, key = own.key) => api(method, where, body, { base: own.url, key })

function atoll(own, ...args) {
	const run = spawnSync(own.atoll(), ['snapshot', ...args, '--state', own.stateDir, '--run', own.runDir], {
		encoding: 'utf8',
		env: { ...process.env, E2B_API_URL: own.url, E2B_API_KEY: own.key, E2B_SANDBOX_URL: own.url },
	})
	return { status: run.status, out: run.stdout.trim(), err: run.stderr }
}

const pool = (own) => poolOf(own).filter((name) => name.includes('+'))

async function withServers(n, use) {
	const all = []
	try {
		for (let i = 0; i < n; i++) all.push(await newServer(server.buildDir, CONFIG).start())
		await use(...all)
	} finally {
		for (const own of all) assert.ok((await own.stop()).clean)
	}
}

// A snapshot with something on the disk and in memory, and the file of it.
async function make(own, body = {}) {
	const sbx = await createRaw(
		{ templateID: 'code-interpreter-v1', timeout: 600 },
		{ base: own.url, key: own.key },
	)
	await runCode(sbx, 'x = 41', {}, own.url)
	assert.equal(
		(
			await shell(
				sbx,
				'echo one >/home/user/f; rm /etc/motd; mkdir /home/user/d; ln -s /nowhere /home/user/l',
				{ base: own.url, user: 'root' },
			)
		).code,
		0,
	)
	const made = await call(own, 'POST', `/sandboxes/${sbx.sandboxID}/snapshots`, body)
	assert.equal(made.status, 201, made.text)
	const file = path.join(own.base, 'snapshot')
	const done = atoll(own, 'export', made.json.snapshotID, file)
	assert.equal(done.status, 0, done.err)
	return { sbx, file, id: made.json.snapshotID, memory: made.json.memory }
}

async function prove(own, id, memory) {
	const copy = await createRaw({ templateID: id, timeout: 600 }, { base: own.url, key: own.key })
	const seen = await shell(
		copy,
		'cat /home/user/f; ls /etc/motd; readlink /home/user/l; stat -c %F /home/user/d',
		{ base: own.url, user: 'user' },
	)
	assert.deepEqual(seen.stdout.trim().split('\n'), ['one', '/nowhere', 'directory'])
	const got = await runCode(copy, memory ? 'x + 1' : 'globals().get("x")', {}, own.url)
	assert.equal(got.text, memory ? '42' : undefined)
	assert.equal((await call(own, 'DELETE', `/sandboxes/${copy.sandboxID}`)).status, 204)
}

test('out of one server and into another, disk and memory', { skip: noMemory }, async () => {
	await withServers(2, async (one, two) => {
		const { file, id, memory } = await make(one, { name: 'mine:v1' })
		assert.equal(memory, true)
		const before = pool(one)
		assert.ok(
			before.every((name) => /\+[dm]$/.test(name)),
			before.join(' '),
		)
		assert.equal((await call(one, 'DELETE', `/templates/${encodeURIComponent(id)}`)).status, 204)
		assert.ok(await until(() => pool(one).length === 0, 20000, 200), pool(one).join(' '))
		// Back where it was.
		const back = atoll(one, 'import', file)
		assert.equal(back.status, 0, back.err)
		assert.equal(back.out, id)
		await prove(one, id, true)
		// Elsewhere only with the key.
		const no = atoll(two, 'import', file)
		assert.equal(no.status, 1)
		assert.match(no.err, /key/)
		assert.deepEqual(pool(two), [])
		fs.copyFileSync(path.join(one.stateDir, 'export.key'), path.join(two.stateDir, 'export.key'))
		const there = atoll(two, 'import', file, '--name', 'theirs')
		assert.equal(there.status, 0, there.err)
		assert.match(there.out, /\/theirs:default$/)
		await prove(two, there.out, true)
		assert.deepEqual(
			(await call(two, 'GET', '/snapshots')).json.map((s) => s.snapshotID),
			[there.out],
		)
	})
})

test(
	'files that are damaged, cut short, newer or something else are refused, and nothing is left',
	{ skip: noMemory },
	async () => {
		await withServers(1, async (own) => {
			const { file, sbx } = await make(own)
			const bytes = fs.readFileSync(file),
				before = pool(own)
			const bad = {
				damaged: () => {
					const b = Buffer.from(bytes)
					b[b.length >> 1] ^= 1
					return b
				},
				signature: () => {
					const b = Buffer.from(bytes)
					b[b.length - 1] ^= 1
					return b
				},
				short: () => bytes.subarray(0, bytes.length - 100),
				long: () => Buffer.concat([bytes, Buffer.alloc(10)]),
				newer: () => {
					const b = Buffer.from(bytes)
					b.writeUInt32LE(2, 16)
					return b
				},
				other: () => Buffer.from('something else altogether'.repeat(10)),
				empty: () => Buffer.alloc(0),
			}
			const why = {
				damaged: /damaged/,
				signature: /damaged/,
				short: /truncated/,
				long: /truncated/,
				newer: /newer/,
				other: /not a snapshot/,
				empty: /not a snapshot/,
			}
			for (const [name, content] of Object.entries(bad)) {
				fs.writeFileSync(`${file}.bad`, content())
				const no = atoll(own, 'import', `${file}.bad`)
				assert.equal(no.status, 1, name)
				assert.match(no.err, why[name], name)
				assert.deepEqual(pool(own), before, name)
			}
			assert.equal((await call(own, 'GET', '/snapshots')).json.length, 1)
			assert.equal(atoll(own, 'import', '/nowhere').status, 1)
			assert.match(
				atoll(own, 'export', 'nobodys', path.join(own.base, 'x')).err,
				/snapshot 'nobodys' does not exist/,
			)
			assert.match(atoll(own, 'export', 'nobodys', file).err, /already exists/)
			assert.ok(
				!fs.existsSync(path.join(own.base, 'x')) &&
					!fs.existsSync(path.join(own.base, 'x.partial')),
			)
			assert.equal((await call(own, 'DELETE', `/sandboxes/${sbx.sandboxID}`)).status, 204)
		})
	},
)

test("POST /admin/snapshots takes nothing that is somebody's, and only from an admin", async () => {
	await withServers(1, async (own) => {
		const { sbx } = await make(own)
		const name = pool(own)[0].split('+')[0]
		const good = {
			kept: name,
			memory: false,
			template: { key: '0'.repeat(32) },
			limits: { memory: 1 << 28, disk: 1 << 28, cpu: 1000, pids: 100 },
		}
		const team = (await call(own, 'POST', '/admin/teams', { name: 'others' })).json
		const { key } = (await call(own, 'POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' })).json
		assert.ok([401, 403].includes((await call(own, 'POST', '/admin/snapshots', good, key)).status))
		for (const [field, body] of [
			['kept', good],
			['kept', { ...good, kept: '../x' }],
			['kept', { ...good, kept: undefined }],
			['template', { ...good, kept: 'k0000000000000000000' }],
			['limits', { ...good, kept: 'k0000000000000000000', limits: undefined }],
		]) {
			const res = await call(own, 'POST', '/admin/snapshots', body)
			assert.equal(res.status, 400, res.text)
			assert.match(res.json.message, new RegExp(field), res.text)
		}
		assert.equal((await call(own, 'GET', '/snapshots')).json.length, 1)
		assert.equal((await call(own, 'DELETE', `/sandboxes/${sbx.sandboxID}`)).status, 204)
	})
})

// In front of the server: hands on what is asked, and hangs up when the answer comes.
function mute(own) {
	const { port } = new URL(own.url)
	const door = net.createServer((client) => {
		const to = net.connect(Number(port), '127.0.0.1')
		client.pipe(to)
		to.on('data', () => client.destroy())
		for (const sock of [client, to]) sock.on('error', () => {})
		client.on('close', () => to.destroy())
	})
	return new Promise((done) =>
		door.listen(0, '127.0.0.1', () =>
			done({ url: `http://127.0.0.1:${door.address().port}`, close: () => door.close() }),
		),
	)
}

test('an import whose answer is lost takes nothing away from the server that has it', { skip: noMemory }, () =>
	withServers(1, async (own) => {
		const { file, id } = await make(own)
		assert.equal((await call(own, 'DELETE', `/templates/${encodeURIComponent(id)}`)).status, 204)
		const door = await mute(own),
			where = path.join(own.stateDir, 'url'),
			was = fs.readFileSync(where)
		fs.writeFileSync(where, `${door.url}\n`) // where the command looks for the server
		let text = '',
			code
		try {
			const child = spawn(
				own.atoll(),
				['snapshot', 'import', file, '--state', own.stateDir, '--run', own.runDir],
				{ stdio: ['ignore', 'ignore', 'pipe'] },
			)
			child.stderr.on('data', (part) => {
				text += part
			})
			code = await new Promise((done) => child.once('close', done))
		} finally {
			fs.writeFileSync(where, was)
			door.close()
		}
		assert.equal(code, 1, text)
		assert.match(text, /it may have been imported anyway: check 'GET \/snapshots'/)
		const there = (await call(own, 'GET', '/snapshots')).json
		assert.equal(there.length, 1, text)
		await prove(own, there[0].snapshotID, true)
	}),
)

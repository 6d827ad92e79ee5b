// SPDX-License-Identifier: Apache-2.0
// Sandboxes whose kernel is gVisor's: started on request, with the same calls and walls, and nothing left of them.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { api, createRaw, envd, killRaw, server, shell } from '../lib/client.mjs'
import { alive, cgroupsOf, linksOf, until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'

const RUNSC = path.join(process.env.ATOLL_CACHE ?? '/var/cache/atoll', 'engines/gvisor/runsc')
const skip = !fs.existsSync(RUNSC) && "runsc is not installed ('scripts/setup test')"
const buildDir = server.buildDir
const FEW = { pool_size_mb: 512, pool_max_mb: 1024, max_sandboxes: 20, default_memory_mb: 1024 }

async function withServer(config, fn) {
	const own = newServer(buildDir, { ...FEW, ...config })
	await own.start()
	try {
		await fn(own, { base: own.url, key: own.key })
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
}

const asked = (more = {}) => ({ templateID: 'base', engine: 'gvisor', ...more })
const bundleOf = (own, id) => path.join(own.runDir, 'gvisor', id)
const sentryOf = (own, id) => Number(fs.readFileSync(path.join(bundleOf(own, id), 'pid'), 'utf8'))
const goferOf = (id) =>
	fs
		.readdirSync('/proc')
		.filter((pid) => /^\d+$/.test(pid))
		.find((pid) => {
			try {
				const argv = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')
				return argv.startsWith('runsc-gofer') && argv.includes(id)
			} catch {
				return false
			}
		})
const goneOf = (own, id, opt) => () =>
	api('GET', `/sandboxes/${id}`, undefined, opt).then(
		(got) => got.status === 404 && !fs.existsSync(bundleOf(own, id)),
	)

test('an engine is a name that the server knows', async () => {
	const no = await api('POST', '/sandboxes', { templateID: 'base', engine: 'xen' })
	assert.equal(no.status, 400)
	assert.equal(no.json.message, "field 'engine' must be 'namespaces' or 'gvisor'")
	assert.equal((await api('POST', '/sandboxes', { templateID: 'base', engine: 3 })).status, 400)
	const sbx = await createRaw({ engine: 'namespaces' })
	assert.equal((await api('GET', `/sandboxes/${sbx.sandboxID}`)).json.engine, 'namespaces')
	await killRaw(sbx)
})

test('the engine that a key requires is the only one', async () => {
	const { json: key } = await api('POST', '/api-keys', {
		name: 'walls',
		quota: { engine: 'namespaces', requireEngine: true },
	})
	assert.deepEqual([key.quota.engine, key.quota.requireEngine], ['namespaces', true])
	const no = await api('POST', '/sandboxes', { templateID: 'base', engine: 'gvisor' }, { key: key.key })
	assert.equal(no.status, 400)
	assert.match(no.json.message, /must be 'namespaces' here: the server requires this engine/)
	const bad = await api('POST', '/api-keys', { name: 'x', quota: { requireEngine: true } })
	assert.equal(bad.json.message, "field 'quota.requireEngine' needs 'quota.engine'")
	assert.equal((await api('DELETE', `/api-keys/${key.id}`)).status, 204)
})

test('no template is built with another engine than the required one', async () => {
	const { json: key } = await api('POST', '/api-keys', {
		name: 'no builds',
		quota: { engine: 'gvisor', requireEngine: true },
	})
	const no = await api('POST', '/v3/templates', { name: 'walled', cpuCount: 1, memoryMB: 512 }, { key: key.key })
	assert.equal(no.status, 400)
	assert.match(no.json.message, /templates are built with the engine 'namespaces'/)
	const { json: made } = await api('POST', '/v3/templates', { name: 'walled', cpuCount: 1, memoryMB: 512 })
	const start = await api(
		'POST',
		`/v2/templates/${made.templateID}/builds/${made.buildID}`,
		{ fromTemplate: 'base', steps: [] },
		{ key: key.key },
	)
	assert.equal(start.status, 400)
	assert.match(start.json.message, /the engine 'gvisor' is required here/)
	assert.equal((await api('DELETE', `/templates/${made.templateID}`)).status, 204)
	assert.equal((await api('DELETE', `/api-keys/${key.id}`)).status, 204)
})

test('a sandbox of gVisor', { skip, timeout: 240000 }, async (t) => {
	await withServer({}, async (own, opt) => {
		const sbx = await createRaw(asked({ timeout: 600 }), opt)
		const id = sbx.sandboxID

		await t.test('has a kernel of its own, the limits asked for, and no tmpfs of runsc', async () => {
			const got = await shell(
				sbx,
				'uname -r; awk "/MemTotal/{print $2}" /proc/meminfo; stat -f -c %T /tmp /',
				opt,
			)
			assert.match(got.stdout, /gvisor/)
			assert.equal((await api('GET', `/sandboxes/${id}`, undefined, opt)).json.engine, 'gvisor')
			const { json } = await api('GET', '/v2/sandboxes', undefined, opt)
			assert.equal(json.find((s) => s.sandboxID === id).engine, 'gvisor')
			assert.equal((await shell(sbx, 'mount | grep -c " /tmp "', opt)).stdout.trim(), '0')
		})

		await t.test('its sentry is a user of the slot, without the powers of the host', () => {
			const status = fs.readFileSync(`/proc/${sentryOf(own, id)}/status`, 'utf8')
			assert.ok(Number(/^Uid:\s+(\d+)/m.exec(status)[1]) >= 0x10000000)
			assert.match(status, /^Seccomp:\s+2$/m)
			assert.match(status, /^NoNewPrivs:\s+1$/m)
		})

		await t.test('serves ports on its loopback, and says when one is closed', async () => {
			await shell(sbx, 'setsid -f python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1', opt)
			assert.ok(
				await until(
					async () =>
						(await envd(sbx, 'GET', '/', undefined, { ...opt, port: '8000' }))
							.status === 200,
					20000,
				),
			)
			assert.equal((await envd(sbx, 'GET', '/', undefined, { ...opt, port: '8001' })).status, 502)
		})

		await t.test('reaches init only with the token', async () => {
			const code = `import socket
s = socket.create_connection(("127.0.0.1", 49982), 5)
s.sendall(b"x" * 40 + b"GET /health HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
try: print(s.recv(10))
except ConnectionError: print(b"")`
			const file = await envd(sbx, 'POST', '/files?path=/tmp/t.py', Buffer.from(code), {
				...opt,
				headers: { 'Content-Type': 'application/octet-stream' },
			})
			assert.equal(file.status, 200)
			assert.equal((await shell(sbx, 'python3 /tmp/t.py', opt)).stdout.trim(), "b''")
		})

		await t.test('is paused in memory, and goes on', async () => {
			assert.equal((await api('POST', `/sandboxes/${id}/pause`, {}, opt)).status, 204)
			const on = await api('POST', `/sandboxes/${id}/connect`, { timeout: 600 }, opt)
			assert.ok(on.status === 200 || on.status === 201, String(on.status))
			assert.equal((await shell(sbx, 'echo on', opt)).stdout.trim(), 'on')
		})

		await t.test('a warden that takes over finds it', async () => {
			own.signal('SIGKILL')
			await own.exited
			await own.start()
			assert.equal((await shell(sbx, 'echo still', opt)).stdout.trim(), 'still')
		})

		await t.test('nothing is left of it', async () => {
			const sentry = sentryOf(own, id)
			assert.equal((await killRaw(sbx, opt)).status, 204)
			assert.ok(await until(goneOf(own, id, opt)))
			assert.ok(await until(() => !alive(sentry)))
			assert.deepEqual(
				cgroupsOf(own.slot).filter((dir) => dir.includes(id)),
				[],
			)
			assert.ok(await until(() => linksOf(own.slot).length === 0))
		})

		await t.test('ends when its sentry or its gofer dies', async () => {
			const [a, b] = await Promise.all([createRaw(asked(), opt), createRaw(asked(), opt)])
			process.kill(sentryOf(own, a.sandboxID), 'SIGKILL')
			process.kill(Number(goferOf(b.sandboxID)), 'SIGKILL')
			for (const one of [a, b])
				assert.ok(await until(goneOf(own, one.sandboxID, opt), 20000), one.sandboxID)
		})

		await t.test('without internet it still answers, and reaches nothing', async () => {
			const mute = await createRaw(asked({ allow_internet_access: false }), opt)
			const got = await shell(mute, 'getent hosts example.com; echo $?', opt)
			assert.equal(got.stdout.trim(), '2')
			await killRaw(mute, opt)
		})
	})
})

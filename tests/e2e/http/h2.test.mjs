// SPDX-License-Identifier: Apache-2.0
// HTTP/2: what clients use it for, and what attackers do.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, createRaw, envelope, killRaw, server as shared } from '../../lib/client.mjs'
import { childrenOf, nameOf, rssOf, until } from '../../lib/host.mjs'
import { ask, CALM, fields, frame, FRAME, head, raw, session } from '../../lib/h2.mjs'
import { DOMAIN, newTlsServer, secureRequest, tlsEnv } from '../../lib/tls.mjs'

const FIRST = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../compat/first.cjs')
const resolves = spawnSync('getent', ['ahosts', `x.${DOMAIN}`]).status === 0
const MB = 1 << 20
const HEAVY = process.env.ATOLL_TEST_ASAN ? Infinity : 1 // a sanitizer keeps what was freed
let own, sbx, opt, name, token

before(async () => {
	own = await newTlsServer(shared.buildDir, { default_memory_mb: 1024, default_disk_mb: 2048 })
	await own.start()
	opt = { base: own.url, key: own.key }
	sbx = await createRaw({ timeout: 900 }, opt)
	name = `49983-${sbx.sandboxID}`
	token = { 'x-access-token': sbx.envdAccessToken }
})
after(async () => {
	await killRaw(sbx, opt)
	const end = await own.stop()
	assert.equal(end.how, 0)
	assert.ok(end.clean, JSON.stringify(end.left))
})

const frontRss = () => rssOf(childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front'))
const CONNECT = { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' }

async function h2Requests() {
	const res = await secureRequest(own, 'api', 'GET', '/metrics', { headers: { 'X-API-Key': own.key } })
	return Number(/^atoll_http2_requests_total (\d+)/m.exec(res.text)[1])
}

// A command inside, as an open stream.
function start(s, command, who = sbx) {
	const run = ask(s, `49983-${who.sandboxID}`, 'POST', '/process.Process/Start', {
		headers: { ...CONNECT, 'x-access-token': who.envdAccessToken },
		body: envelope({ process: { cmd: '/bin/bash', args: ['-c', command] }, stdin: false }),
	})
	run.first = new Promise((done) => run.req.once('data', done))
	return run
}

for (const client of ['e2b', 'e2b-v1calls']) {
	test(
		`the JS SDK (${client}) settles on it by itself`,
		{ skip: resolves ? false : 'libnss-myhostname is not installed' },
		async () => {
			const before = await h2Requests()
			const child = spawn(process.execPath, ['--no-warnings', FIRST, client], { env: tlsEnv(own) })
			let out = ''
			child.stdout.on('data', (part) => {
				out += part
			})
			child.stderr.on('data', (part) => {
				out += part
			})
			assert.equal(await new Promise((done) => child.once('exit', done)), 0, out)
			assert.ok((await h2Requests()) >= before + 15, `${(await h2Requests()) - before} requests`)
		},
	)
}

test('curl, over TLS and in the clear', async (t) => {
	if (!/HTTP2/.test(spawnSync('curl', ['--version'], { encoding: 'utf8' }).stdout ?? '')) {
		t.skip('this curl has no HTTP/2')
		return
	}
	const curl = (...args) =>
		spawnSync('curl', ['-s', '-o', '/dev/null', '-w', '%{http_version} %{http_code}', ...args], {
			encoding: 'utf8',
		}).stdout
	const to = ['--cacert', own.caFile, '--resolve', `api.${DOMAIN}:${own.tlsPort}:127.0.0.1`]
	assert.equal(curl(...to, `https://api.${own.domain}/health`), '2 204')
	assert.equal(curl(...to, '--http1.1', `https://api.${own.domain}/health`), '1.1 204')
	assert.equal(curl('--http2-prior-knowledge', `${own.url}/health`), '2 204')
	assert.equal(curl('--http2-prior-knowledge', '-d', '{}', `${own.url}/sandboxes`), '2 401')
})

test('one connection for the API and for ports of sandboxes: the :authority says which', async () => {
	const s = await session(own)
	const [list, health, closed, nobody, bad] = await Promise.all([
		ask(s, 'api', 'GET', '/v2/sandboxes', { headers: { 'x-api-key': own.key } }),
		ask(s, name, 'GET', '/health'),
		ask(s, `8123-${sbx.sandboxID}`, 'GET', '/'),
		ask(s, '49983-inobody', 'GET', '/health'),
		ask(s, 'x-inobody', 'GET', '/'),
	])
	assert.deepEqual(
		[list.status, health.status, closed.status, nobody.status, bad.status],
		[200, 204, 502, 502, 400],
	)
	assert.ok(JSON.parse(list.text).some((one) => one.sandboxID === sbx.sandboxID))
	const byHeader = await ask(s, `localhost.${DOMAIN}`.replace(`.${DOMAIN}`, '.localhost'), 'GET', '/health', {
		headers: { 'e2b-sandbox-id': sbx.sandboxID, 'e2b-sandbox-port': '49983' },
	})
	assert.equal(byHeader.status, 204)
	s.close()
})

test('64 MiB up and down, byte for byte, in constant memory', async () => {
	const s = await session(own)
	const data = crypto.randomBytes(64 * MB)
	const rss = frontRss()
	let most = 0
	const watch = setInterval(() => {
		most = Math.max(most, frontRss())
	}, 20)
	const up = await ask(s, name, 'POST', '/files?path=/tmp/big', {
		headers: { ...token, 'content-type': 'application/octet-stream' },
		body: data,
	})
	assert.equal(up.status, 200, up.text)
	const down = await ask(s, name, 'GET', '/files?path=/tmp/big', { headers: token })
	clearInterval(watch)
	assert.equal(down.status, 200)
	assert.equal(down.headers['content-length'], String(data.length))
	assert.ok(down.bytes.equals(data))
	assert.ok(most - rss < 16 * MB * HEAVY, `the front grew by ${(most - rss) >> 20} MiB`)
	s.close()
})

test('a body that is sent slowly arrives as it is sent', async () => {
	const s = await session(own)
	const run = ask(s, name, 'POST', '/files?path=/tmp/slow', {
		headers: { ...token, 'content-type': 'application/octet-stream' },
		body: null,
	})
	for (let i = 0; i < 5; i++) {
		run.req.write(`part ${i}\n`)
		assert.equal((await ask(s, name, 'GET', '/health')).status, 204)
	}
	run.req.end()
	assert.equal((await run).status, 200)
	assert.equal(
		(await ask(s, name, 'GET', '/files?path=/tmp/slow', { headers: token })).text,
		'part 0\npart 1\npart 2\npart 3\npart 4\n',
	)
	s.close()
})

test('output comes while the command runs, and a cancelled stream leaves the others alone', async () => {
	const s = await session(own)
	const one = start(s, 'echo one; sleep 100'),
		two = start(s, 'echo two; sleep 100')
	await Promise.all([one.first, two.first])
	one.req.close(8)
	await assert.doesNotReject(ask(s, name, 'GET', '/health'))
	assert.equal(two.req.closed, false)
	two.req.close(8)
	s.close()
})

test('a sandbox that is killed cuts its streams, not the connection', async () => {
	const other = await createRaw({ timeout: 300 }, opt)
	const s = await session(own)
	const run = start(s, 'sleep 100', other),
		mine = start(s, 'sleep 100')
	await Promise.all([run.first, mine.first])
	await killRaw(other, opt)
	await assert.rejects(run, /INTERNAL_ERROR/)
	assert.equal((await ask(s, `49983-${other.sandboxID}`, 'GET', '/health')).status, 502)
	assert.equal(mine.req.closed, false)
	mine.req.close(8)
	s.close()
})

test('a WebSocket is for HTTP/1.1: an upgrade by HTTP/2 is refused', async () => {
	const c = await raw(own)
	c.send(
		frame(
			FRAME.HEADERS,
			5,
			1,
			head('GET', '/', `8001-${sbx.sandboxID}`, [
				['upgrade', 'websocket'],
				['connection', 'upgrade'],
			]),
		),
	)
	assert.ok(
		await until(() =>
			c.frames.some((f) => f.stream === 1 && (f.type === FRAME.RST || f.type === FRAME.HEADERS)),
		),
	)
	assert.ok(c.frames.some((f) => f.stream === 1 && f.type === FRAME.RST && f.code === 1))
	c.sock.destroy()
})

test('what would be smuggled into HTTP/1.1 is refused', async () => {
	const c = await raw(own)
	const bad = [
		head('GET', '/a b', name),
		head('GET', '/\r\nx: y', name),
		head('GET', '/', name, [['x', 'a\r\nb: c']]),
		head('GET', '/', name, [['x y', '1']]),
		head('GET', '/', name, [['transfer-encoding', 'chunked']]),
		head('GET', '/', name, [
			['content-length', '1'],
			['content-length', '2'],
		]),
		head('GET', '/', name, [['host', 'other.test']]),
		head('GET', '/', name, [['X-Upper', '1']]),
		head('G T', '/', name),
		head('GET', 'health', name),
		fields([
			[':method', 'GET'],
			[':scheme', 'https'],
			[':path', '/health'],
		]),
		fields([
			['x', '1'],
			[':method', 'GET'],
		]),
		head('CONNECT', '/', name),
	]
	bad.forEach((h, i) => c.send(frame(FRAME.HEADERS, 5, 1 + 2 * i, h)))
	c.send(frame(FRAME.HEADERS, 5, 101, head('GET', '/health', name)))
	assert.ok(await until(() => c.frames.some((f) => f.stream === 101 && f.flags & 1)), 'the sound one is served')
	for (let i = 0; i < bad.length; i++) {
		const its = c.frames.filter((f) => f.stream === 1 + 2 * i)
		// Either reset, or a refusal of ours (which has a body): never the 204 of /health, which ends with
		// its head.
		assert.ok(
			its.some((f) => f.type === FRAME.RST) || its.some((f) => f.type === FRAME.DATA),
			`${i}: ${JSON.stringify(its)}`,
		)
	}
	c.sock.destroy()
})

async function assertServed(what) {
	const res = await secureRequest(own, 'api', 'GET', '/health')
	assert.equal(res.status, 204, what)
}

// Sends until the server has had enough.
async function flood(c, make, n = 20000) {
	for (let i = 0; i < n && !c.closed && c.goaway === null; i += 50) {
		if (!c.send(...Array.from({ length: 50 }, (_, k) => make(i + k))))
			await Promise.race([new Promise((done) => c.sock.once('drain', done)), c.over])
		await new Promise((done) => setImmediate(done))
	}
	assert.ok(await until(() => c.closed, 10000), 'the connection is ended')
}

test('rapid resets end the connection, and nothing is left of them', async () => {
	const before = frontRss()
	const c = await raw(own)
	const h = head('GET', '/v2/sandboxes', 'api', [['x-api-key', own.key]])
	await flood(c, (i) =>
		Buffer.concat([
			frame(FRAME.HEADERS, 5, 1 + 2 * i, h),
			frame(FRAME.RST, 0, 1 + 2 * i, Buffer.from([0, 0, 0, 8])),
		]),
	)
	assert.equal(c.goaway, CALM)
	const into = await raw(own)
	const p = head('GET', '/files?path=/tmp/slow', name, [['x-access-token', sbx.envdAccessToken]])
	await flood(into, (i) =>
		Buffer.concat([
			frame(FRAME.HEADERS, 5, 1 + 2 * i, p),
			frame(FRAME.RST, 0, 1 + 2 * i, Buffer.from([0, 0, 0, 8])),
		]),
	)
	assert.equal(into.goaway, CALM)
	await assertServed('after rapid resets')
	assert.ok(frontRss() - before < 16 * MB * HEAVY)
})

test('floods of control frames end the connection', async () => {
	const ping = frame(FRAME.PING, 0, 0, Buffer.from('12345678'))
	const kinds = {
		ping: () => ping,
		settings: () => frame(FRAME.SETTINGS, 0, 0),
		priority: (i) => frame(FRAME.PRIORITY, 0, 3 + 2 * (i % 100), Buffer.from([0, 0, 0, 0, 1])),
		window: () => frame(FRAME.WINDOW, 0, 0, Buffer.from([0, 0, 0, 1])),
		'empty data': () => frame(FRAME.DATA, 0, 1),
	}
	for (const [kind, make] of Object.entries(kinds)) {
		const c = await raw(own)
		c.send(
			frame(
				FRAME.HEADERS,
				4,
				1,
				head('POST', '/files?path=/tmp/x', name, [['x-access-token', sbx.envdAccessToken]]),
			),
		)
		await flood(c, make)
		await assertServed(kind)
	}
})

test('heads without an end, and heads that blow up, are bounded', async () => {
	const before = frontRss()
	const parts = await raw(own)
	parts.send(frame(FRAME.HEADERS, 1, 1, head('GET', '/', 'api')))
	await flood(parts, () => frame(FRAME.CONTINUATION, 0, 1, fields([['x', 'y'.repeat(1000)]])))
	const empty = await raw(own)
	empty.send(frame(FRAME.HEADERS, 1, 1, head('GET', '/', 'api')))
	await flood(empty, () => frame(FRAME.CONTINUATION, 0, 1))

	// One large field in the table, then a byte for each further copy of it: 4 MB of head in 1,100 bytes.
	const bomb = await raw(own)
	const value = 'a'.repeat(3900)
	const first = Buffer.concat([Buffer.from([0x40]), fields([['x', value]]).subarray(1)])
	for (let i = 0; i < 20; i++) {
		const h = Buffer.concat([
			head('GET', '/health', 'api'),
			i ? Buffer.alloc(0) : first,
			Buffer.alloc(1000, 0xbe),
		])
		bomb.send(frame(FRAME.HEADERS, 5, 1 + 2 * i, h))
	}
	assert.ok(
		await until(
			() =>
				bomb.closed ||
				bomb.frames.filter((f) => f.type === FRAME.HEADERS || f.type === FRAME.RST).length >=
					20,
		),
	)
	assert.ok(!bomb.frames.some((f) => f.type === FRAME.HEADERS && f.flags & 1), 'none of them is served')
	bomb.sock.destroy()
	await assertServed('after bombs')
	assert.ok(frontRss() - before < 16 * MB * HEAVY)
})

test('windows that never open hold little, and only their own', async () => {
	await secureRequest(own, name, 'POST', '/files?path=/tmp/stall', {
		headers: { 'X-Access-Token': sbx.envdAccessToken, 'Content-Type': 'application/octet-stream' },
		body: Buffer.alloc(8 * MB),
	})
	const before = frontRss()
	const conns = await Promise.all([1, 2, 3, 4].map(() => raw(own)))
	const h = head('GET', '/files?path=/tmp/stall', name, [['x-access-token', sbx.envdAccessToken]])
	for (const c of conns) {
		// windows of streams begin with nothing
		c.send(frame(FRAME.SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])))
		for (let i = 0; i < 200; i++) c.send(frame(FRAME.HEADERS, 5, 1 + 2 * i, h))
	}
	const answered = (c) => c.frames.filter((f) => f.type === FRAME.HEADERS).length
	assert.ok(await until(() => conns.every((c) => answered(c) === 200), 30000), conns.map(answered).join())
	assert.ok(conns.every((c) => !c.frames.some((f) => f.type === FRAME.DATA && f.n > 0)))
	const held = frontRss() - before // of 6.4 GB; each may read some 64 KiB ahead
	assert.ok(held < 96 * MB * HEAVY, `800 stalled streams hold ${held >> 20} MiB`)

	const s = await session(own)
	const good = await ask(s, name, 'GET', '/files?path=/tmp/stall', { headers: token })
	assert.equal(good.bytes.length, 8 * MB)
	s.close()
	// One that opens its window goes on.
	conns[0].send(frame(FRAME.WINDOW, 0, 1, Buffer.from([0, 0, 0x40, 0])))
	assert.ok(await until(() => conns[0].frames.some((f) => f.type === FRAME.DATA && f.stream === 1 && f.n > 0)))
	conns.forEach((c) => c.sock.destroy())
	assert.ok(
		await until(async () =>
			/^atoll_requests_open [01]$/m.test(
				(
					await secureRequest(own, 'api', 'GET', '/metrics', {
						headers: { 'X-API-Key': own.key },
					})
				).text,
			),
		),
	)
	assert.ok(
		await until(() => frontRss() - before < 24 * MB * HEAVY, 30000, 200),
		`${(frontRss() - before) >> 20} MiB are kept when they have gone`,
	)
})

// Answers at once and never ends: what streams of events do.
const HOLDER = `
import asyncio, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
async def serve(r, w):
    await r.readuntil(b'\\r\\n\\r\\n')
    w.write(b'HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\n\\r\\ndata: hello\\n\\n')
    await w.drain()
    await r.read()
async def main():
    s = await asyncio.start_server(serve, '127.0.0.1', 9000, backlog=1024)
    print('up', flush=True)
    await s.serve_forever()
asyncio.run(main())
`

test('1,000 open streams to a port inside, and the front stays below 60 MB', async () => {
	const s = await session(own)
	await ask(s, name, 'POST', '/files?path=/tmp/holder.py', {
		headers: { ...token, 'content-type': 'application/octet-stream' },
		body: HOLDER,
	})
	const server = start(s, 'exec python3 /tmp/holder.py')
	await server.first
	const port = `9000-${sbx.sandboxID}`
	assert.ok(
		await until(async () => {
			const one = ask(s, port, 'GET', '/')
			const up = await new Promise((done) =>
				one.req.once('response', (h) => done(h[':status'] === 200)),
			)
			one.req.close(8)
			return up
		}),
	)
	const sessions = await Promise.all(Array.from({ length: 5 }, () => session(own)))
	const streams = []
	for (let i = 0; i < 1000; i++) {
		const run = ask(sessions[i % 5], port, 'GET', '/events')
		run.first = new Promise((done, fail) => {
			run.req.once('data', done)
			run.catch(fail)
		})
		streams.push(run)
		if (i % 50 === 49) await Promise.all(streams.slice(-50).map((one) => one.first))
	}
	const closed = streams.filter((one) => one.req.closed)
	assert.equal(closed.length, 0, closed.length ? (await closed[0]).text : '')
	assert.ok(frontRss() < 60e6 * HEAVY, `${(frontRss() / 1e6).toFixed(1)} MB`)
	assert.equal((await ask(sessions[0], name, 'GET', '/health')).status, 204)
	sessions.forEach((one) => one.destroy())
	server.req.close(8)
	s.close()
})

test('a server that stops says goodbye, and finishes what is under way', async () => {
	const s = await session(own)
	const run = start(s, 'echo one; sleep 1; echo two')
	await run.first
	let goodbye = false
	s.once('goaway', () => {
		goodbye = true
	})
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	process.kill(front, 'SIGTERM')
	const res = await run
	assert.match(res.text, /dHdvC/) // "two\n"
	assert.ok(await until(() => goodbye))
	assert.ok(await until(() => s.closed))
	await assertServed('the next front')
	assert.equal((await api('GET', '/health', undefined, opt)).status, 204)
})

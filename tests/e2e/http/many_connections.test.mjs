// SPDX-License-Identifier: Apache-2.0
// Clients that only hold on: ten thousand idle connections, heads and bodies that never end. Others are served.
import { test, after, afterEach, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { execFileSync, spawn } from 'node:child_process'
import { api, createRaw, envd, killRaw, request, routeHeaders, server as shared, shell } from '../../lib/client.mjs'
import { alive, childrenOf, commOf, until } from '../../lib/host.mjs'
import { newServer } from '../../lib/server.mjs'

const MANY = 10000
const TOO_MANY = 16000
const HEAVY = process.env.ATOLL_TEST_ASAN ? Infinity : 1 // a sanitizer keeps what was freed
const PATIENCE = { timeout: 30000 } // told from being kept out; how fast it is, bench/ says
const fds = Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim())
const short = fds < TOO_MANY + 2000 ? `only ${fds} open files are allowed here` : false
const holders = new Set()
let own, sbx

before(async () => {
	own = await newServer(shared.buildDir, { head_timeout_s: 2, body_timeout_s: 2 }, { nofile: 1024 }).start()
	sbx = await createRaw({ timeout: 900 })
})
after(async () => {
	await killRaw(sbx)
	const end = await own.stop()
	assert.deepEqual([end.how, end.clean], [0, true], JSON.stringify(end))
})
afterEach(() => Promise.all([...holders].map((h) => h.end())))

// The clients live in a process of their own: both ends of ten thousand connections are more than one may have open.
const HOLDER = `
	const net = require('net'), [port, bytes] = process.argv.slice(1)
	let up = 0, answered = 0, gone = 0, first = null, left = 0, waiting = 0
	const open = (i) => {
		const s = net.connect(Number(port), '127.0.0.1'), born = Date.now()
		waiting++; left--
		s.once('connect', () => { up++; waiting--; s.write(bytes) })
		s.once('data', () => answered++)
		s.on('error', () => {})
		s.once('close', () => { gone++; first ??= { which: i, age: Date.now() - born } })
	}
	let n = 0
	setInterval(() => { while (left > 0 && waiting < 200) open(n++) }, 2)
	setInterval(() => process.stdout.write(JSON.stringify({ up, answered, gone, first }) + '\\n'), 50)
	process.stdin.on('data', (d) => { left += Number(d) })`

function holder(server, bytes) {
	const child = spawn(
		'sh',
		[
			'-c',
			'ulimit -n $(ulimit -Hn); exec "$0" -e "$@"',
			process.execPath,
			HOLDER,
			new URL(server.url).port,
			bytes,
		],
		{ stdio: ['pipe', 'pipe', 'inherit'] },
	)
	const self = { up: 0, answered: 0, gone: 0, first: null, open: (n) => child.stdin.write(`${n}\n`) }
	let rest = ''
	child.stdout.on('data', (d) => {
		const lines = (rest + d).split('\n')
		rest = lines.pop()
		if (lines.length) Object.assign(self, JSON.parse(lines.at(-1)))
	})
	self.end = () =>
		new Promise((done) => {
			if (!holders.delete(self)) return done()
			child.once('exit', done)
			child.kill('SIGKILL')
		})
	holders.add(self)
	return self
}

const HEALTH = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'

async function othersAreServed() {
	assert.equal((await request('GET', '/health', PATIENCE)).status, 204)
	assert.equal((await api('GET', '/sandboxes', undefined, PATIENCE)).status, 200)
	assert.equal((await envd(sbx, 'GET', '/metrics', undefined, PATIENCE)).status, 200)
}

async function gauge(name, server = shared) {
	const text = (await api('GET', '/metrics', undefined, { base: server.url, key: server.key, ...PATIENCE })).text
	return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)[1])
}

function frontOf(server) {
	return childrenOf(server.pid).find((pid) => commOf(pid) === 'atoll-front')
}

const filesOf = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length

// A client on another address that keeps its connection: it must never need a second one.
function keeper(server) {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1, localAddress: '127.0.0.2' })
	const self = { sockets: new Set(), end: () => agent.destroy() }
	self.ask = () =>
		new Promise((done, fail) => {
			const req = http.get(
				{
					agent,
					host: '127.0.0.1',
					port: new URL(server.url).port,
					path: '/health',
					...PATIENCE,
				},
				(res) => {
					res.resume().once('end', () => done(res.statusCode))
				},
			)
			req.once('socket', (s) => self.sockets.add(s))
			req.once('timeout', () => req.destroy(new Error('not served')))
			req.once('error', fail)
		})
	return self
}

test(
	'ten thousand idle connections are held and cheap; of more, the holder pays for its own',
	{ skip: short, timeout: 180000 },
	async () => {
		const before_ = await gauge('atoll_front_resident_bytes'),
			evicted = await gauge('atoll_connections_evicted_total')
		const early = keeper(shared)
		assert.equal(await early.ask(), 204)
		const clients = holder(shared, HEALTH)
		clients.open(MANY)
		assert.ok(await until(() => clients.answered >= MANY, 60000, 50), `${clients.answered} answered`)
		assert.equal(clients.gone, 0, 'all of them have a place')
		assert.ok((await gauge('atoll_connections')) >= MANY)
		await othersAreServed()
		assert.ok(
			(await gauge('atoll_front_resident_bytes')) - before_ < 45e6 * HEAVY,
			'memory of idle connections',
		)

		clients.open(TOO_MANY - MANY)
		assert.ok(await until(() => clients.answered >= TOO_MANY, 60000, 50), `${clients.answered} answered`)
		for (let i = 0; i < 5; i++) await othersAreServed()
		assert.equal(await early.ask(), 204)
		assert.equal(early.sockets.size, 1, 'idle for longer than all of the others, and still there')
		const now = (await gauge('atoll_connections_evicted_total')) - evicted
		assert.ok(now >= TOO_MANY - (await gauge('atoll_connections')), `${now} evicted`)
		assert.ok(await until(() => clients.gone >= now, 10000, 50), `${clients.gone} of ${now} closed`)
		assert.ok(filesOf(frontOf(shared)) < fds * 0.75, `${filesOf(frontOf(shared))} open files`)
		assert.ok(
			(await gauge('atoll_front_resident_bytes')) - before_ < 60e6 * HEAVY,
			'memory of idle connections',
		)
		early.end()
		await clients.end()
		assert.ok(await until(async () => (await gauge('atoll_connections')) < 100, 20000, 100))
	},
)

test('requests that wait in one sandbox do not keep others from theirs', { timeout: 120000 }, async () => {
	const at = { base: own.url, key: own.key },
		places = 1024 / 8
	const [hog, other] = await Promise.all([1, 2].map(() => createRaw({ templateID: 'base', timeout: 300 }, at)))
	try {
		const mute =
			'import socket, time; s = socket.socket(); s.bind(("", 8000)); s.listen(500); open("/tmp/on",' +
			' "w"); time.sleep(300)'
		assert.equal(
			(
				await shell(
					hog,
					`(python3 -c '${mute}' >/dev/null 2>&1 &); ` +
						'until [ -e /tmp/on ]; do sleep 0.1; done',
					at,
				)
			).code,
			0,
		)
		const clients = holder(
			own,
			'GET / HTTP/1.1\r\nHost: x\r\n' +
				`E2b-Sandbox-Id: ${hog.sandboxID}\r\nE2b-Sandbox-Port: 8000\r\n\r\n`,
		)
		clients.open(places + 10)
		assert.ok(
			await until(() => clients.answered >= 10, 30000, 20),
			JSON.stringify(clients),
		) /* "too many" */
		for (let i = 0; i < 5; i++)
			assert.equal(
				(await envd(other, 'GET', '/health', undefined, { ...at, ...PATIENCE })).status,
				204,
			)
		await clients.end()
		assert.ok(
			await until(
				async () =>
					(await envd(hog, 'GET', '/health', undefined, { ...at, ...PATIENCE }))
						.status === 204,
				30000,
				50,
			),
		)
	} finally {
		await Promise.all([hog, other].map((one) => killRaw(one, at)))
	}
})

test('upgraded connections of one sandbox leave room for those of others', { timeout: 120000 }, async () => {
	const at = { base: own.url, key: own.key },
		places = 1024 / 16
	const [hog, other] = await Promise.all([1, 2].map(() => createRaw({ templateID: 'base', timeout: 300 }, at)))
	const upgrade =
		`import socket
s = socket.socket(); s.bind(("", 8000)); s.listen(500); open("/tmp/on", "w"); keep = []
while True:
    c, _ = s.accept(); keep.append(c); c.recv(65536); c.sendall(b"HTTP/1.1 101 Go\\r\\nConnection: ` +
		`upgrade\\r\\nUpgrade: x\\r\\n\\r\\n")`
	const head = (sbx) =>
		`GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\nE2b-Sandbox-Id: ${sbx.sandboxID}` +
		`\r\nE2b-Sandbox-Port: 8000\r\n\r\n`
	try {
		for (const sbx of [hog, other])
			assert.equal(
				(
					await shell(
						sbx,
						`(python3 -c '${upgrade}' >/dev/null 2>&1 &); until [ -e /tmp/on ]; ` +
							`do sleep 0.1; done`,
						at,
					)
				).code,
				0,
			)
		const clients = holder(own, head(hog))
		clients.open(places + 10)
		assert.ok(
			await until(() => clients.answered >= places + 10, 30000, 20),
			JSON.stringify(clients),
		) /* some with "too many" */
		const first = await new Promise((done, fail) => {
			const s = net.connect(own.port, '127.0.0.1', () => s.write(head(other))).once('error', fail)
			s.once('data', (d) => {
				s.destroy()
				done(d.toString().split('\r\n')[0])
			})
		})
		assert.match(first, / 101 /)
		await clients.end()
	} finally {
		await Promise.all([hog, other].map((one) => killRaw(one, at)))
	}
})

test('newcomers are let in at once, for those idle for longest', async () => {
	const places = Math.floor(1024 / 2) + Math.floor(1024 / 16)
	const clients = holder(own, HEALTH)
	clients.open(places)
	assert.ok(
		await until(() => clients.answered === places && clients.gone <= 1, 20000, 20),
		JSON.stringify(clients),
	)
	const evicted = await gauge('atoll_connections_evicted_total', own)
	const keepers = Array.from({ length: 100 }, () => keeper(own))
	for (const k of keepers) assert.equal(await k.ask(), 204)
	assert.ok(await until(() => clients.gone >= 99, 5000, 20), `${clients.gone} gone`)
	assert.equal(clients.first.which, 0)
	assert.ok(clients.first.age < 10000, 'it had not been idle for long')
	assert.ok((await gauge('atoll_connections_evicted_total', own)) - evicted >= 98)
	for (const k of keepers) {
		assert.equal(await k.ask(), 204)
		assert.equal(k.sockets.size, 1)
		k.end()
	}
})

test('a request that is under way keeps its place, however long it takes', async () => {
	const mine = await createRaw({ timeout: 300 }, { base: own.url, key: own.key })
	const req = http.request({
		host: '127.0.0.1',
		port: own.port,
		method: 'POST',
		path: '/files?path=/tmp/slow',
		agent: false,
		headers: { ...routeHeaders(mine), 'Content-Type': 'application/octet-stream', 'Content-Length': 8 },
	})
	const answer = new Promise((done, fail) =>
		req.once('response', (res) => done(res.resume().statusCode)).once('error', fail),
	)
	req.write('half')
	assert.ok(await until(async () => (await gauge('atoll_requests_open', own)) >= 2, 5000, 20))
	const clients = holder(own, HEALTH)
	clients.open(1500)
	assert.ok(await until(() => clients.answered >= 1500, 20000, 20), `${clients.answered} answered`)
	req.end('half')
	assert.equal(await answer, 200)
	assert.equal((await envd(mine, 'GET', '/files?path=/tmp/slow', undefined, { base: own.url })).text, 'halfhalf')
	await killRaw(mine, { base: own.url, key: own.key })
})

test('heads and bodies that never end are cut off, and take no place from others', async () => {
	const heads = holder(own, 'GET /health HTTP/1.1\r\nHost: x\r\nX-')
	heads.open(700)
	assert.ok(await until(() => heads.up >= 700, 10000, 20))
	const k = keeper(own)
	assert.equal(await k.ask(), 204)
	k.end()
	const answer = await new Promise((done, fail) => {
		const sock = net.connect(own.port, '127.0.0.1', () =>
			sock.write(
				`POST /sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: ${own.key}\r\nContent-Type: ` +
					`application/json\r\nContent-Length: 100\r\n\r\n{"templ`,
			),
		)
		let text = ''
		sock.on('data', (d) => {
			text += d
		})
		sock.once('close', () => done(text))
		sock.once('error', fail)
	})
	assert.match(answer, /^HTTP\/1\.1 408 [^]*"code":408,"message":"request body took longer than 2 seconds"/)
	assert.ok(await until(() => heads.gone >= 700, 20000, 100), `${heads.gone} gone`)
	assert.equal(heads.answered, 700, 'all were told why')
})

test('those that were closed and do not hang up are limited too', async () => {
	const front = frontOf(own)
	const bytes = 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
	const socks = Array.from({ length: 900 }, () =>
		net.connect({ port: own.port, host: '127.0.0.1', allowHalfOpen: true }),
	)
	const answers = await Promise.all(
		socks.map(
			(s) =>
				new Promise((done) => {
					s.once('connect', () => s.write(bytes))
					s.once('data', (d) => done(String(d).slice(9, 12)))
					s.once('error', () => done('lost'))
				}),
		),
	)
	assert.equal(answers.filter((a) => a === '204').length, 900)
	assert.ok(filesOf(front) < 1024 / 4, `${filesOf(front)} open files`)
	socks.forEach((s) => s.destroy())
})

test('a client that asks and never listens is not buffered for', async () => {
	const one = `GET /metrics HTTP/1.1\r\nHost: x\r\nX-API-Key: ${shared.key}\r\n\r\n`
	const before_ = await gauge('atoll_front_resident_bytes'),
		asked = await answersSoFar()
	const url = new URL(shared.url)
	const socks = Array.from({ length: 20 }, () => {
		const s = net.connect(Number(url.port), url.hostname, () => {
			s.write(one.repeat(4000))
		})
		s.on('error', () => {})
		s.pause()
		return s
	})
	let last = -1
	assert.ok(
		await until(
			async () => {
				const n = (await answersSoFar()) - asked,
					still = n > 20 && n <= last + 1 // our own question counts
				last = n
				return still
			},
			30000,
			250,
		),
		'it goes on answering',
	)
	assert.ok(last < 20 * 4000, `${last} of ${20 * 4000} answered`)
	await othersAreServed()
	assert.ok((await gauge('atoll_front_resident_bytes')) - before_ < 30e6 * HEAVY)
	socks.forEach((s) => s.destroy())
})

async function answersSoFar() {
	const { text } = await api('GET', '/metrics', undefined, PATIENCE)
	return Number(
		/^atoll_requests_total\{method="GET",route="\/metrics",outcome="ok"\} (\d+)$/m.exec(text)?.[1] ?? 0,
	)
}

test('the fronts have not been restarted meanwhile', () => {
	for (const server of [shared, own]) {
		const starts = fs.readFileSync(server.log, 'utf8').match(/"event":"front started"/g)
		assert.equal(starts.length, 1)
		assert.ok(alive(frontOf(server)))
	}
})

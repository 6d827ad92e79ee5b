// SPDX-License-Identifier: Apache-2.0
// Host names over TLS: the official SDKs, resumption, renewal, and clients that do not finish their handshakes.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import https from 'node:https'
import net from 'node:net'
import path from 'node:path'
import tls from 'node:tls'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, createRaw, killRaw, server as shared } from '../../lib/client.mjs'
import { selfSigned } from '../../lib/certificate.mjs'
import { childrenOf, nameOf, rssOf, until } from '../../lib/host.mjs'
import { newServer } from '../../lib/server.mjs'
import { DOMAIN, namesEnv, newTlsServer, secureRequest, tlsEnv, tlsInit } from '../../lib/tls.mjs'

const FIRST = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../compat/first.cjs')
const resolves = spawnSync('getent', ['ahosts', `x.${DOMAIN}`]).status === 0
let own, sbx, opt

before(async () => {
	own = await newTlsServer(shared.buildDir)
	await own.start()
	opt = { base: own.url, key: own.key }
	sbx = await createRaw({ timeout: 600 }, opt)
})
after(async () => {
	await killRaw(sbx, opt)
	const end = await own.stop()
	assert.equal(end.how, 0)
	assert.ok(end.clean, JSON.stringify(end.left))
})

const front = () => childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')

// Ends this client's side as well: Node keeps sockets half open.
function connect(options = {}) {
	return new Promise((done, fail) => {
		const sock = tls.connect({
			host: '127.0.0.1',
			port: own.tlsPort,
			servername: `api.${DOMAIN}`,
			ca: own.ca,
			...options,
		})
		sock.once('secureConnect', () => done(sock))
		sock.once('error', fail)
	})
}

async function firstProgram(name, env) {
	const child = spawn(process.execPath, ['--no-warnings', FIRST, name], { env })
	let text = ''
	child.stdout.on('data', (part) => {
		text += part
	})
	child.stderr.on('data', (part) => {
		text += part
	})
	const code = await new Promise((done) => child.once('exit', done))
	assert.equal(code, 0, text)
}

for (const name of ['e2b', 'e2b-v1calls', 'e2b-old'])
	test(
		`first program on ${name}, with E2B_DOMAIN alone`,
		{ skip: resolves ? false : 'libnss-myhostname is not installed' },
		() => firstProgram(name, tlsEnv(own)),
	)

test('on port 443 the domain has no port, nor do the names of sandboxes', async () => {
	const at = `127.${[1, 2, 3].map(() => 1 + Math.floor(Math.random() * 250)).join('.')}` // nobody else's 443
	const other = newServer(shared.buildDir, { tls_listen: `${at}:443` })
	assert.equal(tlsInit(other, '--domain', 'short.test').status, 0)
	await other.start()
	try {
		const env = tlsEnv(other)
		assert.equal(env.E2B_DOMAIN, 'short.test')
		for (const name of ['e2b', 'e2b-old'])
			await firstProgram(name, { ...env, ...namesEnv('short.test', at) })
		const one = await createRaw({}, { base: other.url, key: other.key })
		assert.equal(one.domain, 'short.test')
	} finally {
		assert.equal((await other.stop()).how, 0)
	}
})

test('the answer names the domain with its port', async () => {
	assert.equal(sbx.domain, own.domain)
	const res = await secureRequest(own, 'api', 'GET', '/health')
	assert.equal(res.status, 204)
	const metrics = await secureRequest(own, 'api', 'GET', '/metrics', { headers: { 'X-API-Key': own.key } })
	const ends = Number(/^atoll_tls_certificate_expiry_seconds (\S+)/m.exec(metrics.text)[1])
	assert.ok(ends > Date.now() / 1000 + 390 * 86400)
})

test('ports of sandboxes by host name, WebSocket upgrades too', async () => {
	const name = `49983-${sbx.sandboxID}`
	assert.equal((await secureRequest(own, name, 'GET', '/health')).status, 204)
	assert.equal(
		(await secureRequest(own, name, 'GET', '/health', { headers: { Host: `${name}.${DOMAIN}` } })).status,
		204,
	)
	assert.equal((await secureRequest(own, `8123-${sbx.sandboxID}`, 'GET', '/')).status, 502)
	assert.equal((await secureRequest(own, '49983-inobody', 'GET', '/health')).status, 502)
	assert.equal((await secureRequest(own, 'x-inobody', 'GET', '/health')).status, 400)

	const code =
		'import socket\ns = socket.create_server(("127.0.0.1", 8001))\nprint("up", flush=True)\nc, _ = ' +
		's.accept()\nd = b""\n' +
		'while b"\\r\\n\\r\\n" not in d: d += c.recv(4096)\n' +
		('c.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\nConnection: ' +
			'Upgrade\\r\\n\\r\\nhello ")\n') +
		'while True:\n  x = c.recv(4096)\n  if not x: break\n  c.sendall(x.upper())\n'
	const token = { 'X-Access-Token': sbx.envdAccessToken }
	await secureRequest(own, name, 'POST', '/files?path=/tmp/up.py', {
		headers: { ...token, 'Content-Type': 'application/octet-stream' },
		body: code,
	})
	const start = Buffer.from(JSON.stringify({ process: { cmd: 'python3', args: ['/tmp/up.py'] }, stdin: false }))
	const head = Buffer.alloc(5)
	head.writeUInt32BE(start.length, 1)
	const run = https.request({
		host: '127.0.0.1',
		port: own.tlsPort,
		servername: `x.${DOMAIN}`,
		ca: own.ca,
		method: 'POST',
		path: '/process.Process/Start',
		agent: false,
		headers: {
			Host: `${name}.${DOMAIN}`,
			...token,
			'Content-Type': 'application/connect+json',
			'Connect-Protocol-Version': '1',
		},
	})
	run.on('error', () => {})
	let said = ''
	run.on('response', (res) =>
		res
			.on('data', (part) => {
				said += part
			})
			.on('error', () => {}),
	)
	run.end(Buffer.concat([head, start]))
	assert.ok(await until(() => said.includes('stdout'), 20000), said)
	const big = 'x'.repeat(300000)
	const got = await new Promise((done, fail) => {
		const req = https.request({
			host: '127.0.0.1',
			port: own.tlsPort,
			servername: `x.${DOMAIN}`,
			ca: own.ca,
			path: '/',
			agent: false,
			headers: { Host: `8001-${sbx.sandboxID}.${DOMAIN}`, Connection: 'Upgrade', Upgrade: 'echo' },
		})
		req.once('error', fail)
		req.once('response', (res) => fail(new Error(`answered ${res.statusCode}`)))
		req.once('upgrade', (res, socket, early) => {
			let text = early.toString()
			socket.on('data', (part) => {
				text += part
				if (text.length === 6 + big.length) {
					socket.destroy()
					done(text)
				}
			})
			socket.write(big)
		})
		req.end()
	})
	assert.equal(got, 'hello ' + big.toUpperCase())
	run.destroy()
})

test('TLS 1.1 and unknown protocols are refused, HTTP/1.1 is settled on', async () => {
	const old = spawnSync(
		'openssl',
		['s_client', '-connect', `127.0.0.1:${own.tlsPort}`, '-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'],
		{ input: '', encoding: 'utf8' },
	)
	assert.notEqual(old.status, 0)
	await assert.rejects(connect({ ALPNProtocols: ['spdy/3'] }))
	const sock = await connect({ ALPNProtocols: ['http/1.1'], maxVersion: 'TLSv1.2' })
	assert.equal(sock.alpnProtocol, 'http/1.1')
	assert.equal(sock.getProtocol(), 'TLSv1.2')
	sock.destroy()
})

test('plain HTTP on the TLS port is told so', async () => {
	const sock = net.connect(own.tlsPort, '127.0.0.1')
	sock.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
	let text = ''
	sock.on('data', (part) => {
		text += part
	})
	sock.on('error', () => {})
	await new Promise((done) => sock.once('close', done))
	assert.match(text, /^HTTP\/1\.1 400 [^]*https:\/\//)
})

// The last ticket of a connection, after one request: TLS 1.3 sends them behind the handshake.
async function ticket(maxVersion) {
	const sock = await connect({ maxVersion })
	let last = sock.getSession()
	sock.on('session', (session) => {
		last = session
	})
	sock.write('GET /health HTTP/1.1\r\nHost: api\r\n\r\n')
	await new Promise((done) => sock.once('data', done))
	sock.destroy()
	return last
}

test('sessions are resumed, also by the next life of the front', async () => {
	for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
		const session = await ticket(maxVersion)
		const before = front()
		const sock = await connect({ maxVersion, session })
		assert.equal(sock.isSessionReused(), true, `${maxVersion}: same front`)
		sock.destroy()
		const again = await ticket(maxVersion)
		process.kill(before, 'SIGKILL')
		assert.ok(await until(() => front() && front() !== before))
		const next = await connect({ maxVersion, session: again })
		assert.equal(next.isSessionReused(), true, `${maxVersion}: next front`)
		next.destroy()
	}
})

test('a killed front refuses nobody: connections wait for the next one', async () => {
	const before = front()
	process.kill(before, 'SIGKILL')
	const answers = await Promise.all(Array.from({ length: 20 }, () => secureRequest(own, 'api', 'GET', '/health')))
	assert.ok(answers.every((res) => res.status === 204))
	assert.notEqual(front(), before)
})

test('SIGHUP takes a renewed certificate, with the same authority; a broken one changes nothing', async () => {
	const serial = async () => (await secureRequest(own, '49983-inobody', 'GET', '/')).cert.serialNumber
	const first = await serial()
	const held = await connect()
	const ca = fs.readFileSync(own.caFile, 'utf8')
	assert.equal(tlsInit(own, '--days', '30').status, 0)
	assert.equal(fs.readFileSync(own.caFile, 'utf8'), ca)
	assert.equal(await serial(), first)
	own.signal('SIGHUP')
	assert.ok(await until(async () => (await serial()) !== first), 'the new certificate is shown')
	held.write('GET /health HTTP/1.1\r\nHost: api\r\n\r\n')
	assert.match(String(await new Promise((done) => held.once('data', done))), / 204 /)
	held.destroy()

	const second = await serial()
	const file = path.join(own.stateDir, 'tls/key.pem')
	const good = fs.readFileSync(file)
	fs.writeFileSync(file, 'no key')
	own.signal('SIGHUP')
	assert.ok(
		await until(() => fs.readFileSync(own.log, 'utf8').includes('the new TLS certificate cannot be used')),
	)
	assert.equal(await serial(), second)
	fs.writeFileSync(file, good)
	own.signal('SIGHUP')
})

test('700 clients that never shake hands keep nobody out', async () => {
	const socks = Array.from({ length: 700 }, () => net.connect(own.tlsPort, '127.0.0.1').on('error', () => {}))
	await Promise.all(socks.map((sock) => new Promise((done) => sock.once('connect', done).once('close', done))))
	// the beginning of a hello
	for (const sock of socks.slice(0, 350)) sock.write(Buffer.from('16030102000100', 'hex'))
	const res = await secureRequest(own, 'api', 'GET', '/health')
	assert.equal(res.status, 204)
	assert.equal((await api('GET', '/health', undefined, opt)).status, 204)
	for (const sock of socks) sock.destroy()
})

test('idle connections hold a bounded amount of memory, and give it back', async () => {
	const HEAVY = process.env.ATOLL_TEST_ASAN ? Infinity : 1
	const N = 2400,
		LIMIT = 2048
	const base = rssOf(front())
	const socks = []
	let gone = 0
	const idle = () =>
		new Promise((done, fail) => {
			const sock = tls.connect({
				host: '127.0.0.1',
				port: own.tlsPort,
				servername: `api.${DOMAIN}`,
				ca: own.ca,
				ALPNProtocols: ['http/1.1'],
			})
			sock.once('close', () => gone++)
			sock.once('error', fail)
			sock.once('secureConnect', () => sock.write('GET /health HTTP/1.1\r\nHost: api\r\n\r\n'))
			sock.once('data', () => done(sock))
			socks.push(sock)
		})
	for (let i = 0; i < N; i += 60) await Promise.all(Array.from({ length: 60 }, idle))
	assert.ok(await until(() => gone >= N - LIMIT - 100), `${gone} of ${N} were let go`)
	assert.ok(gone < N - LIMIT + 300, `${gone} of ${N} were let go`)
	const grown = rssOf(front()) - base
	assert.ok(grown < 64e6 * HEAVY, `${(grown / 1e6).toFixed(0)} MB`)
	assert.equal((await secureRequest(own, 'api', 'GET', '/health')).status, 204)
	for (const sock of socks) sock.destroy()
	if (HEAVY === 1)
		assert.ok(
			await until(() => rssOf(front()) - base < 8e6, 30000, 500),
			`${((rssOf(front()) - base) / 1e6).toFixed(0)} MB are kept`,
		)
})

test('tls init: what it makes, and what it refuses', async () => {
	const other = newServer(shared.buildDir)
	const dir = path.join(other.stateDir, 'tls')
	try {
		for (const bad of [
			['--domain', 'localhost'],
			['--domain', 'a b.test'],
			['--domain', '*.x.test'],
			['--domain', 'x.test:8443'],
			['--days', '0'],
			['x'],
		])
			assert.equal(tlsInit(other, ...bad).status, 2, bad.join(' '))
		const made = tlsInit(other, '--domain', 'sbx.test', '--days', '3')
		assert.equal(made.status, 0, made.stderr)
		assert.match(made.stdout, new RegExp(`NODE_EXTRA_CA_CERTS='${dir}/ca.pem'`))
		for (const [name, mode] of [
			['ca-key.pem', 0o600],
			['key.pem', 0o600],
			['ca.pem', 0o644],
			['cert.pem', 0o644],
		])
			assert.equal(fs.statSync(path.join(dir, name)).mode & 0o777, mode, name)
		const x509 = (...args) => spawnSync('openssl', args, { cwd: dir, encoding: 'utf8' })
		assert.match(
			x509('x509', '-in', 'cert.pem', '-noout', '-ext', 'subjectAltName').stdout,
			/DNS:sbx\.test, DNS:\*\.sbx\.test, DNS:localhost, IP Address:127\.0\.0\.1/,
		)
		assert.match(
			x509('verify', '-CAfile', 'ca.pem', '-verify_hostname', '49983-iabc.sbx.test', 'cert.pem')
				.stdout,
			/OK/,
		)
		assert.match(
			x509('x509', '-in', 'ca.pem', '-noout', '-text').stdout,
			/Name Constraints: critical\s+Permitted:\s+DNS:sbx\.test/,
		)
		// The authority is for that domain only, so another one needs another authority.
		const moved = tlsInit(other, '--domain', 'else.test')
		assert.equal(moved.status, 1)
		assert.match(moved.stderr, /--new-ca/)
		assert.equal(tlsInit(other, '--domain', 'else.test', '--new-ca').status, 0)
		assert.match(
			x509('verify', '-CAfile', 'ca.pem', '-verify_hostname', 'x.else.test', 'cert.pem').stdout,
			/OK/,
		)
	} finally {
		other.discard()
	}
})

test('without a certificate the server says what to do, and does not start', async () => {
	const other = newServer(shared.buildDir, { tls_listen: '127.0.0.1:0' })
	try {
		await assert.rejects(other.start(), /atoll tls init/)
	} finally {
		other.discard()
	}
})

test("a certificate of the operator's own", async () => {
	const other = newServer(shared.buildDir, { tls_listen: '127.0.0.1:0', domain: 'op.test' })
	const at = (name) => path.join(other.base, name)
	const san = 'DNS:op.test,DNS:*.op.test'
	selfSigned({ key: at('op.key'), cert: at('op.crt'), name: 'op.test', san, rsa: true })
	fs.chmodSync(at('op.key'), 0o600)
	Object.assign(other.config, { tls_cert: at('op.crt'), tls_key: at('op.key') })
	await other.start()
	try {
		const port = new URL(fs.readFileSync(path.join(other.stateDir, 'tls-url'), 'utf8').trim()).port
		assert.equal(fs.readFileSync(path.join(other.stateDir, 'domain'), 'utf8').trim(), `op.test:${port}`)
		const sock = await connect({ port, servername: 'api.op.test', ca: fs.readFileSync(at('op.crt')) })
		sock.destroy()
		const env = spawnSync(other.atoll(), ['env', '--tls', '--state', other.stateDir], { encoding: 'utf8' })
		assert.match(
			env.stdout,
			new RegExp(
				`export E2B_DOMAIN='op.test:${port}'\nunset E2B_API_URL E2B_SANDBOX_URL ` +
					`E2B_VOLUME_API_URL E2B_DEBUG`,
			),
		)
	} finally {
		assert.equal((await other.stop()).how, 0)
	}
})

// SPDX-License-Identifier: Apache-2.0
// Behind nginx and Caddy, each set up as docs/reverse-proxy.md says.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import http2 from 'node:http2'
import https from 'node:https'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createRaw, envd, envelope, killRaw, server } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'
import { DOMAIN, PROXIES, startProxy } from '../../lib/proxies.mjs'
import { namesEnv } from '../../lib/tls.mjs'
import { frame, webSocket } from '../../lib/websocket.mjs'

const FIRST = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../compat/first.cjs')
const ENVD = 49983
const sites = {}
let site, sbx // of the case that runs

before(async () => {
	for (const proxy of PROXIES) sites[proxy.name] = await startProxy(proxy, server)
	sbx = await createRaw({ timeout: 600 })
})

after(async () => {
	await killRaw(sbx)
	for (const one of Object.values(sites)) await one.stop?.()
})

function proxied(name, fn) {
	for (const proxy of PROXIES) {
		test(`${proxy.name}: ${name}`, async (t) => {
			site = sites[proxy.name]
			return site.missing ? t.skip(site.missing) : fn(t)
		})
	}
}

const portName = (inside, one = sbx) => `${inside}-${one.sandboxID}.${DOMAIN}`
const token = (one = sbx) => ({ 'X-Access-Token': one.envdAccessToken })

// An HTTP/1.1 request over TLS to a host name, which is the proxy's whatever it is.
function ask(host, options = {}) {
	return https.request({
		host: '127.0.0.1',
		port: site.port,
		servername: host,
		ca: site.ca,
		agent: false,
		...options,
		headers: { Host: `${host}:${site.port}`, ...options.headers },
	})
}

function call(method, host, url, { body, headers } = {}) {
	return new Promise((done, fail) => {
		const req = ask(host, {
			method,
			path: url,
			headers: { ...headers, ...(body && { 'Content-Length': body.length }) },
		})
		req.once('error', fail)
		req.once('response', (res) => {
			const parts = []
			res.on('data', (part) => parts.push(part))
			res.once('error', fail)
			res.once('end', () =>
				done({ status: res.statusCode, headers: res.headers, body: Buffer.concat(parts) }),
			)
		})
		req.end(body)
	})
}

const START = '/process.Process/Start'
const startBody = (command) => envelope({ process: { cmd: '/bin/bash', args: ['-l', '-c', command] }, stdin: false })
const startHeaders = (one) => ({
	...token(one),
	'Content-Type': 'application/connect+json',
	'Connect-Protocol-Version': '1',
})

// Starts a command; `text` is what came so far, `ended` tells 'complete' or 'cut'.
function startOver1(command, one) {
	return new Promise((done, fail) => {
		const req = ask(portName(ENVD, one), { method: 'POST', path: START, headers: startHeaders(one) })
		req.once('error', fail)
		req.once('response', (res) => {
			const self = { status: res.statusCode, text: '' }
			res.on('data', (part) => {
				self.text += part.toString('latin1')
			})
			res.on('error', () => {})
			self.ended = new Promise((over) =>
				res.once('close', () => over(res.complete ? 'complete' : 'cut')),
			)
			done(self)
		})
		req.end(startBody(command))
	})
}

function startOver2(command, one) {
	const session = http2.connect(`https://${portName(ENVD, one)}:${site.port}`, {
		ca: site.ca,
		lookup: (host, opt, cb) =>
			opt.all ? cb(null, [{ address: '127.0.0.1', family: 4 }]) : cb(null, '127.0.0.1', 4),
	})
	return new Promise((done, fail) => {
		session.once('error', fail)
		const req = session.request({ ':method': 'POST', ':path': START, ...startHeaders(one) })
		const self = { text: '' }
		let end = false
		req.once('error', fail)
		req.once('response', (head) => {
			self.status = head[':status']
			done(self)
		})
		req.on('data', (part) => {
			self.text += part.toString('latin1')
		})
		req.once('end', () => {
			end = true
		})
		self.ended = new Promise((over) =>
			req.once('close', () => {
				session.close()
				over(end && req.rstCode === 0 ? 'complete' : 'cut')
			}),
		)
		req.end(startBody(command))
	})
}

proxied('the API over TLS, and the checks of the document', async () => {
	const host = `api.${DOMAIN}`
	assert.equal((await call('GET', host, '/health')).status, 204)
	assert.equal((await call('GET', host, '/v2/sandboxes')).status, 401)
	const list = await call('GET', host, '/v2/sandboxes', { headers: { 'X-API-Key': server.key } })
	assert.equal(list.status, 200)
	assert.ok(JSON.parse(list.body).some((one) => one.sandboxID === sbx.sandboxID))
	const gone = await call('GET', `49983-i0000000000000000000.${DOMAIN}`, '/')
	assert.equal(gone.status, 502)
	assert.deepEqual(JSON.parse(gone.body), {
		sandboxId: 'i0000000000000000000',
		message: 'The sandbox was not found',
		code: 502,
	})
})

// Runs a program on an SDK that finds the domain at the proxy.
async function program(...args) {
	const env = {
		...process.env,
		E2B_DOMAIN: `${DOMAIN}:${site.port}`,
		NODE_EXTRA_CA_CERTS: site.caFile,
		...namesEnv(DOMAIN, '127.0.0.1'),
	}
	delete env.E2B_API_URL
	delete env.E2B_SANDBOX_URL
	const child = spawn(process.execPath, ['--no-warnings', ...args], {
		env,
		timeout: 80000,
		cwd: process.env.ATOLL_TEST_NPM,
	})
	let text = ''
	child.stdout.on('data', (part) => {
		text += part
	})
	child.stderr.on('data', (part) => {
		text += part
	})
	return { code: await new Promise((done) => child.once('close', done)), text }
}

for (const name of ['e2b', 'e2b-old']) {
	proxied(`the first program of ${name} by host names`, async () => {
		const got = await program(FIRST, name)
		assert.equal(got.code, 0, got.text)
		assert.match(got.text, /done/)
	})
}

proxied('the SDK is not told that a killed command has ended well', async () => {
	const got = await program(
		'-e',
		`
require('e2b').Sandbox.create('base', { timeoutMs: 60000 }).then(async (sandbox) => {
	const run = sandbox.commands.run('echo on; sleep 50', { onStdout: () => sandbox.kill() })
	await run.then((end) => console.log('ended', end), (e) => console.log('refused', e.name))
})`,
	)
	assert.match(got.text, /^refused \w+\n$/)
})

proxied('a WebSocket to a port inside', async () => {
	await envd(
		sbx,
		'POST',
		'/files?path=/tmp/ws.py',
		`
import base64, hashlib, socket
s = socket.create_server(("127.0.0.1", 9001)); print("up", flush=True)
c, _ = s.accept()
d = b""
while b"\\r\\n\\r\\n" not in d: d += c.recv(4096)
head = {k.lower(): v for k, v in (l.split(": ", 1) for l in d.decode().split("\\r\\n")[1:] if ": " in l)}
assert head["upgrade"].lower() == "websocket" and "upgrade" in head["connection"].lower(), head
accept = base64.b64encode(hashlib.sha1((head["sec-websocket-key"] + ` +
			`"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
c.sendall(("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: ` +
			`Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n").encode())
while True:
    h = c.recv(6, socket.MSG_WAITALL); n = h[1] & 127
    p = bytes(b ^ h[2 + i % 4] for i, b in enumerate(c.recv(n, ` +
			`socket.MSG_WAITALL))).upper()
    if h[0] & 15 == 8: c.sendall(bytes([0x88, 0])); break
    c.sendall(bytes([0x81, n]) + p)
`,
		{ headers: { 'Content-Type': 'application/octet-stream' } },
	)
	const run = await startOver1('exec python3 /tmp/ws.py')
	assert.ok(await until(() => run.text.includes('stdout'), 10000), run.text)
	const socket = await webSocket((headers) => ask(portName(9001), { headers }))
	const got = []
	socket.on('data', (part) => got.push(part))
	const said = () => Buffer.concat(got).toString('latin1')
	socket.write(frame(1, 'hello'))
	assert.ok(await until(() => said() === '\x81\x05HELLO', 5000), JSON.stringify(said()))
	socket.write(frame(1, 'again'))
	assert.ok(await until(() => said().endsWith('\x81\x05AGAIN'), 5000), JSON.stringify(said()))
	const closed = new Promise((done) => socket.once('close', done))
	socket.write(frame(8, ''))
	await closed
	assert.ok(said().endsWith('\x88\x00'))
	await run.ended
})

for (const [name, startOver] of [
	['HTTP/1.1', startOver1],
	['HTTP/2', startOver2],
]) {
	proxied(`output arrives as it is written, over ${name}`, async () => {
		// each line is written when the one before it has been seen
		const go = `/tmp/go-${site.port}-${name.replace('/', '-')}-`
		const run = await startOver(
			`for i in 1 2 3 4; do echo line; until [ -e ${go}$i ]; do sleep 0.05; done; done`,
		)
		assert.equal(run.status, 200)
		const lines = () => run.text.split('"stdout"').length - 1
		for (let i = 1; i <= 4; i++) {
			assert.ok(await until(() => lines() === i, 20000), `line ${i} was held back: ${run.text}`)
			assert.equal(
				(
					await envd(sbx, 'POST', `/files?path=${go}${i}`, 'go', {
						headers: { 'Content-Type': 'application/octet-stream' },
					})
				).status,
				200,
			)
		}
		assert.equal(await run.ended, 'complete')
		assert.equal(lines(), 4, run.text)
	})

	proxied(`killing the sandbox breaks the stream, over ${name}`, async () => {
		const one = await createRaw({ timeout: 60 })
		const run = await startOver('echo on; exec sleep 100', one)
		assert.ok(await until(() => run.text.includes('stdout'), 10000), run.text)
		const began = Date.now()
		assert.equal(
			(
				await call('DELETE', `api.${DOMAIN}`, `/sandboxes/${one.sandboxID}`, {
					headers: { 'X-API-Key': server.key },
				})
			).status,
			204,
		)
		const how = await run.ended
		assert.ok(Date.now() - began < 30000, 'the stream outlived the sandbox')
		assert.ok(!run.text.includes('"end"'), run.text)
		assert.equal(how, site.endsBroken)
		assert.equal((await call('GET', portName(ENVD, one), '/health')).status, 502)
	})
}

proxied('20 MB up and down, byte for byte', async () => {
	const body = crypto.randomBytes(20 * 1000 * 1000)
	const up = await call('POST', portName(ENVD), '/files?path=/tmp/big', {
		body,
		headers: { ...token(), 'Content-Type': 'application/octet-stream' },
	})
	assert.equal(up.status, 200, up.body.toString())
	const down = await call('GET', portName(ENVD), '/files?path=/tmp/big', { headers: token() })
	assert.equal(down.status, 200)
	assert.ok(down.body.equals(body), `${down.body.length} bytes came back`)
})

proxied('a client that goes away is not waited for', async () => {
	await envd(
		sbx,
		'POST',
		'/files?path=/tmp/endless.py',
		`
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 9002)); ` +
			`s.listen(); print("up", flush=True)
c, _ = s.accept()
c.recv(4096)
c.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n")
try:
    while True: c.sendall(b"tick\\n"); time.sleep(0.05)
except OSError: print("gone", flush=True)
`,
		{ headers: { 'Content-Type': 'application/octet-stream' } },
	)
	const run = await startOver1('exec python3 /tmp/endless.py')
	assert.ok(await until(() => run.text.includes('stdout'), 10000), run.text)
	await new Promise((done, fail) => {
		const req = ask(portName(9002))
		req.once('error', fail)
		req.once('response', (res) =>
			res.once('data', () => {
				req.destroy()
				done()
			}),
		)
		req.end()
	})
	assert.equal(await run.ended, 'complete')
	assert.equal(run.text.split('"stdout"').length - 1, 2, run.text)
})

proxied('it kept none of it in files of its own', async () => {
	assert.deepEqual(site.kept(), [])
	assert.doesNotMatch(site.log(), /buffered to a temporary file/)
})

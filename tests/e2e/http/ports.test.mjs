// SPDX-License-Identifier: Apache-2.0
// Ports of programs inside: whatever they speak and wherever they listen, they are reached as on any server.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import http from 'node:http'
import net from 'node:net'
import { api, createRaw, envd, killRaw, outputOf, request, server, start } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'
import { outside } from '../../lib/outside.mjs'
import { frame, webSocket } from '../../lib/websocket.mjs'

const OCTET = { 'Content-Type': 'application/octet-stream' }
const url = new URL(server.url)
const at = (port) => ({ Host: `${port}-${sbx.sandboxID}.localhost` })
let sbx

before(async () => {
	sbx = await createRaw({ timeout: 600 })
})
after(() => killRaw(sbx))

// Runs a Python program that prints "up" when it listens.
async function serve(name, code) {
	await envd(sbx, 'POST', `/files?path=/tmp/${name}.py`, code, { headers: OCTET })
	const run = await start(sbx, `exec python3 -u /tmp/${name}.py`)
	assert.ok(await until(() => run.events.some((e) => e.event.data?.stdout), 10000), JSON.stringify(run.events))
	return run
}

test('a WebSocket: handshake, frames both ways, close', async () => {
	const run = await serve(
		'ws',
		`
import base64, hashlib, socket
s = socket.create_server(("127.0.0.1", 9001)); print("up")
c, _ = s.accept()
d = b""
while b"\\r\\n\\r\\n" not in d: d += c.recv(4096)
head = dict(l.split(": ", 1) for l in d.decode().split("\\r\\n")[1:] if ": " in l)
head = {k.lower(): v for k, v in head.items()}
assert head["upgrade"].lower() == "websocket" and "upgrade" in head["connection"].lower(), head
accept = base64.b64encode(hashlib.sha1((head["sec-websocket-key"] + ` +
			`"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
c.sendall(("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: ` +
			`Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n").encode())
def take(n):
    b = b""
    while len(b) < n:
        x = c.recv(n - len(b))
        if not x: raise SystemExit
        b += x
    return b
while True:
    h = take(2); n = h[1] & 127
    if n == 126: n = int.from_bytes(take(2), "big")
    elif n == 127: n = int.from_bytes(take(8), "big")
    m = take(4); p = bytes(b ^ m[i % 4] for i, b in enumerate(take(n)))
    if h[0] & 15 == 8: c.sendall(bytes([0x88, len(p)]) + p); break
    out = p.upper()
    c.sendall(bytes([0x81]) + (bytes([len(out)]) if len(out) < 126 else bytes([126]) + ` +
			`len(out).to_bytes(2, "big")) + out)
`,
	)
	const socket = await webSocket((headers) =>
		http.request({
			host: url.hostname,
			port: url.port,
			agent: false,
			headers: { ...at(9001), ...headers },
		}),
	)
	const parts = []
	socket.on('data', (p) => parts.push(p))
	socket.write(frame(1, Buffer.from('hello')))
	socket.write(frame(1, Buffer.from('x'.repeat(1000))))
	socket.write(frame(8, Buffer.from([3, 232])))
	await new Promise((done) => socket.once('close', done))
	const got = Buffer.concat(parts)
	assert.equal(got.subarray(2, 7).toString(), 'HELLO')
	assert.equal(got.subarray(11, 1011).toString(), 'X'.repeat(1000))
	assert.deepEqual([...got.subarray(1011)], [0x88, 2, 3, 232])
	run.close()
})

for (const [where, bind] of [
	['127.0.0.1', '127.0.0.1'],
	['0.0.0.0', '0.0.0.0'],
	['[::1]', '::1'],
	['[::]', '::'],
]) {
	test(`a server that listens on ${where} inside`, async () => {
		const port = 9100 + ([...bind].reduce((n, c) => n + c.charCodeAt(0), 0) % 97)
		const run = await serve(
			`bind${port}`,
			`
import http.server, socket
class S(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in "${bind}" else socket.AF_INET
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        b = self.headers["Host"].encode()
        self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); ` +
				`self.wfile.write(b)
    def log_message(self, *a): pass
s = S(("${bind}", ${port}), H); print("up"); s.serve_forever()
`,
		)
		const res = await request('GET', '/', { headers: at(port) })
		assert.equal(res.status, 200)
		assert.equal(res.text, at(port).Host, 'Host is passed on as it came')
		run.close()
	})
}

test('an HTTP/1.0 server whose answer ends with the connection', async () => {
	const run = await serve(
		'old',
		`
import socket
s = socket.create_server(("127.0.0.1", 9002)); print("up")
while True:
    c, _ = s.accept(); d = b""
    while b"\\r\\n\\r\\n" not in d: d += c.recv(4096)
    c.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n" + b"old " * 50000); c.close()
`,
	)
	for (let i = 0; i < 2; i++) {
		const res = await request('GET', '/', { headers: at(9002) })
		assert.equal(res.status, 200)
		assert.equal(res.text, 'old '.repeat(50000))
	}
	run.close()
})

test('an answer that is cut is cut for the client too', async () => {
	const run = await serve(
		'cut',
		`
import socket
s = socket.create_server(("127.0.0.1", 9003)); print("up")
while True:
    c, _ = s.accept(); c.recv(4096)
    c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1000\\r\\n\\r\\nonly this"); c.close()
`,
	)
	await assert.rejects(request('GET', '/', { headers: at(9003) }))
	run.close()
})

// Each is sent only when the one before it has been seen: one that is held back holds up all.
test('server-sent events arrive one by one', async () => {
	const run = await serve(
		'sse',
		`
import socket
s = socket.create_server(("127.0.0.1", 9004)); print("up")
c, _ = s.accept(); c.recv(4096)
c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nCache-Control: no-cache\\r\\n\\r\\n")
for i in range(4):
    c.sendall(b"data: %d\\n\\n" % i)
    go, _ = s.accept(); go.recv(4096); go.sendall(b"HTTP/1.1 204 No Content\\r\\nConnection: close\\r\\n\\r\\n"); ` +
			`go.close()
c.close()
`,
	)
	let text = '',
		ended = false
	http.get({ host: url.hostname, port: url.port, headers: at(9004), agent: false }, (res) => {
		assert.equal(res.headers['content-type'], 'text/event-stream')
		res.on('data', (part) => {
			text += part
		})
		res.once('end', () => {
			ended = true
		})
	}).on('error', () => {})
	for (let i = 0; i < 4; i++) {
		assert.ok(
			await until(() => text.endsWith(`data: ${i}\n\n`), 10000, 10),
			`event ${i} was held back: ${JSON.stringify(text)}`,
		)
		assert.equal((await request('GET', '/go', { headers: at(9004) })).status, 204)
	}
	assert.ok(await until(() => ended), 'the end was held back')
	assert.equal(text, [0, 1, 2, 3].map((i) => `data: ${i}\n\n`).join(''))
	run.close()
})

test('large bodies both ways, byte for byte, while the front stays small', async () => {
	const run = await serve(
		'echo',
		`
import hashlib, http.server
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        h, n = hashlib.sha256(), 0
        if self.headers.get("Transfer-Encoding") == "chunked":
            while True:
                k = int(self.rfile.readline(), 16); d = self.rfile.read(k); self.rfile.readline()
                if k == 0: break
                h.update(d); n += k
        else:
            left = int(self.headers["Content-Length"])
            while left > 0:
                d = self.rfile.read(min(65536, left)); left -= len(d); h.update(d); n += len(d)
        b = ("%d %s" % (n, h.hexdigest())).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); ` +
			`self.wfile.write(b)
    def do_GET(self):
        n = int(self.path[1:]); self.send_response(200); ` +
			`self.send_header("Content-Length", str(n)); self.end_headers()
        d = bytes(range(256)) * 256
        while n > 0: self.wfile.write(d[:min(n, len(d))]); n -= len(d)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 9005), H); print("up"); ` +
			`s.serve_forever()
`,
	)
	const body = crypto.randomBytes(24 * 1024 * 1024)
	const want = `${body.length} ${crypto.createHash('sha256').update(body).digest('hex')}`
	for (const chunked of [false, true])
		assert.equal((await request('POST', '/', { headers: at(9005), body, chunked })).text, want)
	const size = 256 * 1024 * 1024
	const resident = async () =>
		Number(/atoll_front_resident_bytes (\d+)/.exec((await api('GET', '/metrics')).text)[1])
	const before_ = await resident()
	let n = 0
	await new Promise((done, fail) => {
		http.get(
			{ host: url.hostname, port: url.port, path: `/${size}`, headers: at(9005), agent: false },
			(res) => {
				res.on('data', (d) => {
					n += d.length
				})
				res.once('end', done)
				res.once('error', fail)
			},
		).once('error', fail)
	})
	assert.equal(n, size)
	// a sanitizer keeps what was freed
	assert.ok(process.env.ATOLL_TEST_ASAN || (await resident()) - before_ < 8 * 1024 * 1024)
	run.close()
})

test('a slow reader holds back the sender inside and nobody else', async () => {
	const run = await serve(
		'fast',
		`
import socket
s = socket.create_server(("127.0.0.1", 9006)); print("up")
c, _ = s.accept(); c.recv(4096)
c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1073741824\\r\\n\\r\\n")
n = 0
c.settimeout(2)
try:
    while n < 1073741824: n += c.send(b"x" * 65536)
except TimeoutError: pass
print("stuck", n)
`,
	)
	const sock = net.connect(Number(url.port), url.hostname, () =>
		sock.write(
			`GET / HTTP/1.1\r\n${Object.entries(at(9006))
				.map(([k, v]) => `${k}: ${v}`)
				.join()}\r\n\r\n`,
		),
	)
	sock.pause()
	const said = () =>
		Buffer.concat(run.events.map((e) => Buffer.from(e.event?.data?.stdout ?? '', 'base64'))).toString()
	assert.ok(await until(() => /stuck \d+/.test(said()), 20000, 200), said())
	assert.ok(Number(/stuck (\d+)/.exec(said())[1]) < 64 * 1024 * 1024)
	assert.equal((await request('GET', '/health')).status, 204)
	sock.destroy()
	run.close()
})

test('a mask stands in the place of Host, what it was is told, and a client cannot say so itself', async () => {
	const masked = await createRaw({ timeout: 120, network: { maskRequestHost: '${PORT}-app.example.test:8443' } })
	try {
		const run = await start(
			masked,
			`exec python3 -uc '
import http.server
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        b = " ".join(self.headers.get_all("Host") + self.headers.get_all("X-Forwarded-Host")).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); ` +
				`self.wfile.write(b)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 9300), H); print("up"); ` +
				`s.serve_forever()'`,
		)
		assert.ok(
			await until(() => run.events.some((e) => e.event.data?.stdout), 10000),
			JSON.stringify(run.events),
		)
		const Host = `9300-${masked.sandboxID}.localhost`
		const res = await request('GET', '/', { headers: { Host, 'X-Forwarded-Host': 'forged.example' } })
		assert.deepEqual([res.status, res.text], [200, `9300-app.example.test:8443 ${Host}`])
		assert.equal((await envd(masked, 'GET', '/health')).status, 204, 'its own ports are as ever')
		run.close()
	} finally {
		await killRaw(masked)
	}
})

test('a private port wants the traffic token; the API key does not help', async () => {
	const one = await createRaw({ timeout: 60, network: { allowPublicTraffic: false } })
	assert.ok(one.trafficAccessToken)
	const get = (headers) =>
		request('GET', '/', { headers: { Host: `8000-${one.sandboxID}.localhost`, ...headers } })
	for (const headers of [
		{},
		{ 'X-API-Key': server.key },
		{ 'E2b-Traffic-Access-Token': 'wrong' },
		{ 'X-Access-Token': one.envdAccessToken },
	]) {
		const res = await get(headers)
		assert.equal(res.status, 403)
		assert.match(res.json.message, /e2b-traffic-access-token/)
	}
	assert.equal((await get({ 'E2b-Traffic-Access-Token': one.trafficAccessToken })).status, 502)
	await killRaw(one)
})

test('a network is closed and opened again while the sandbox runs', async () => {
	const one = await createRaw({ timeout: 60 })
	const set = (body) => api('PUT', `/sandboxes/${one.sandboxID}/network`, body)
	const info = async () => (await api('GET', `/sandboxes/${one.sandboxID}`)).json
	assert.equal((await info()).allowInternetAccess, null)
	assert.equal((await set({ allow_internet_access: false })).status, 204)
	assert.equal((await info()).allowInternetAccess, false)
	assert.equal((await set({ denyOut: ['0.0.0.0/0'] })).status, 204)
	assert.deepEqual((await info()).network, { denyOut: ['0.0.0.0/0'] })
	assert.equal((await info()).allowInternetAccess, null)
	const refused = await set({ allowOut: ['not a domain'] })
	assert.equal(refused.status, 400)
	assert.match(refused.json.message, /network\.allowOut\[0\]/)
	assert.deepEqual((await info()).network, { denyOut: ['0.0.0.0/0'] }, 'a refused change changes nothing')
	assert.equal((await set({})).status, 204)
	await killRaw(one)
	assert.equal((await set({})).status, 404)
})

test('closing the network cuts open connections and refuses new ones; opening it lets them out again', async () => {
	const net_ = await outside({ hosts: 1 })
	const one = await createRaw({ timeout: 120 })
	const set = async (body) =>
		assert.equal((await api('PUT', `/sandboxes/${one.sandboxID}/network`, body)).status, 204)
	try {
		await envd(
			one,
			'POST',
			'/files?path=/tmp/try.py',
			`
import socket
try:
    c = socket.create_connection(("${net_.at(2)}", 7), 5); c.sendall(b"x"); print("out" if c.recv(1) == b"x" else "odd")
except OSError as e: print("shut")
`,
			{ headers: OCTET },
		)
		await envd(
			one,
			'POST',
			'/files?path=/tmp/hold.py',
			`
import socket, time
c = socket.create_connection(("${net_.at(2)}", 7), 5); c.settimeout(2)
for i in range(60):
    try:
        c.sendall(b"x"); c.recv(1); print("alive", flush=True)
    except OSError as e: print("cut", flush=True); break
    time.sleep(0.2)
`,
			{ headers: OCTET },
		)
		const attempt = async () => {
			const run = await start(one, 'python3 /tmp/try.py')
			await run.ended
			return outputOf(run.events).trim()
		}
		assert.ok(
			await until(async () => (await attempt()) === 'out', 10000, 300),
			'the way out does not work at all',
		)
		const hold = await start(one, 'exec python3 /tmp/hold.py')
		assert.ok(await until(() => outputOf(hold.events).includes('alive'), 10000))
		await set({ allow_internet_access: false })
		assert.equal(await attempt(), 'shut')
		assert.ok(await until(() => outputOf(hold.events).includes('cut'), 10000), outputOf(hold.events))
		await set({})
		assert.equal(await attempt(), 'out')
		await set({ denyOut: ['0.0.0.0/0'] })
		assert.equal(await attempt(), 'shut')
	} finally {
		await killRaw(one)
		net_.end()
	}
	const next = await createRaw({ timeout: 60 })
	assert.equal((await api('GET', `/sandboxes/${next.sandboxID}`)).json.allowInternetAccess, null)
	await killRaw(next)
})

// SPDX-License-Identifier: Apache-2.0
// A sandbox, its pages and its answers cannot reach the console's session: not read it, set it, or put a page in its
// place.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import http from 'node:http'
import { api, createRaw, envd, killRaw, request, server, start } from '../lib/client.mjs'
import { Visitor } from '../lib/console.mjs'
import { until } from '../lib/host.mjs'

const PORT = 8000
// Answers with the request's head, and tries to log the browser in and to stay in its cache.
const PROGRAM = `
import socket, threading
s = socket.create_server(("0.0.0.0", ${PORT})); print("up")
def one(c):
    d = b""
    while b"\\r\\n\\r\\n" not in d: d += c.recv(4096)
    up = b"upgrade: websocket" in d.lower()
    h = b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n" if up else \\
        b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nContent-Length: %d\\r\\n" % len(d)
    h += b"Cache-Control: public, max-age=31536000\\r\\nCDN-Cache-Control: public\\r\\n"
    h += b"Expires: Thu, 01 Jan 2037 00:00:00 GMT\\r\\n"
    for v in (b"atoll_session=evil; Path=/", b"__Host-atoll_session=evil; Path=/; Secure", b"ATOLL_SESSION=evil",
              b"=atoll_session=evil", b" atoll_session = evil", b"mine=1; Path=/"):
        h += b"Set-Cookie: " + v + b"\\r\\n"
    c.sendall(h + b"\\r\\n" + d); c.close()
while True:
    c, _ = s.accept(); threading.Thread(target=one, args=(c,), daemon=True).start()
`
let sbx, v, run
const byHeaders = (port = PORT) => ({ 'E2b-Sandbox-Id': sbx.sandboxID, 'E2b-Sandbox-Port': String(port) })
const byName = () => ({ Host: `${PORT}-${sbx.sandboxID}.localhost` })

before(async () => {
	sbx = await createRaw({ timeout: 600 })
	v = new Visitor()
	await v.login({ apiKey: server.key })
	await envd(sbx, 'POST', '/files?path=/tmp/echo.py', PROGRAM, {
		headers: { 'Content-Type': 'application/octet-stream' },
	})
	run = await start(sbx, 'exec python3 -u /tmp/echo.py')
	assert.ok(await until(() => run.events.some((e) => e.event.data?.stdout), 20000), JSON.stringify(run.events))
})
after(() => killRaw(sbx))

test('the session cookie never reaches a program in a sandbox; other cookies do', async () => {
	for (const how of [byHeaders(), byName()]) {
		const cookies = [
			v.cookie,
			`a=1; ${v.cookie}; b=2`,
			`${v.cookie}; a=1; b=2`,
			`a=1;b=2;${v.cookie}`,
			`a=1; b=2; =${v.cookie}; __Host-${v.cookie}; Atoll_Session=${v.token}`,
		]
		for (const cookie of cookies) {
			const res = await request('GET', '/', { headers: { Cookie: cookie, ...how } })
			assert.equal(res.status, 200, res.text)
			assert.ok(!res.text.includes(v.token), res.text)
			assert.equal(
				/^cookie: (.*)$/im.exec(res.text)?.[1].trim(),
				cookie === v.cookie ? undefined : 'a=1; b=2',
			)
		}
	}
	const files = await request('GET', '/files?path=/etc/hostname', {
		headers: { Cookie: v.cookie, 'X-Access-Token': sbx.envdAccessToken, ...byHeaders(49983) },
	})
	assert.equal(files.status, 200)
})

test('a WebSocket handshake hides it, too, and cannot set it', async () => {
	const { hostname, port } = new URL(server.url)
	const req = http.request({
		host: hostname,
		port,
		agent: false,
		headers: { ...byName(), Cookie: `${v.cookie}; a=1`, Connection: 'Upgrade', Upgrade: 'websocket' },
	})
	const [res, socket, first] = await new Promise((done, fail) => {
		req.once('upgrade', (...got) => done(got))
		req.once('response', (got) => fail(new Error(`answered ${got.statusCode}`)))
		req.once('error', fail)
		req.end()
	})
	const parts = [first]
	socket.on('data', (part) => parts.push(part))
	await new Promise((done) => socket.once('close', done))
	const text = Buffer.concat(parts).toString()
	assert.ok(!text.includes(v.token), text)
	assert.match(text, /^cookie: a=1/im)
	assert.deepEqual(res.headers['set-cookie'], ['mine=1; Path=/'])
})

test('a sandbox sets no session cookie, under either name', async () => {
	for (const how of [byHeaders(), byName()]) {
		const res = await request('GET', '/', { headers: how })
		assert.deepEqual(res.headers['set-cookie'], ['mine=1; Path=/'])
	}
})

test('no cache stores what a sandbox answers under the name of the API', async () => {
	const here = await request('GET', '/console/assets/app.js', { headers: byHeaders() })
	assert.equal(here.status, 200)
	assert.equal(here.headers['cache-control'], 'no-store')
	assert.match(here.headers.vary, /E2b-Sandbox-Id/)
	assert.match(here.headers['content-security-policy'], /^sandbox/)
	for (const name of ['expires', 'cdn-cache-control', 'age', 'pragma'])
		assert.equal(here.headers[name], undefined, name)
	const own = await request('GET', '/', { headers: byName() })
	assert.match(own.headers['cache-control'], /public/)
	assert.equal(own.headers['content-security-policy'], undefined)
	const file = await request('GET', '/files?path=/tmp/echo.py', {
		headers: { 'X-Access-Token': sbx.envdAccessToken, ...byHeaders(49983) },
	})
	assert.equal(file.headers['cache-control'], 'no-store')
	assert.match(file.headers['content-security-policy'], /^sandbox/)
})

test('a file of a volume is no page of the server, and not stored either', async () => {
	const volume = (await api('POST', '/volumes', { name: `console-${process.pid}` })).json
	const content = (method, body) =>
		request(method, `/volumecontent/${volume.volumeID}/file?path=/page.html`, {
			body,
			headers: {
				Authorization: `Bearer ${volume.token}`,
				'Content-Type': 'application/octet-stream',
			},
		})

	assert.equal((await content('PUT', '<script>alert(1)</script>')).status, 201)
	const { headers, status } = await content('GET')
	assert.equal(status, 200)
	assert.equal(headers['cache-control'], 'no-store')
	assert.equal(headers['x-content-type-options'], 'nosniff')
	assert.match(headers['content-security-policy'], /^sandbox/)
	assert.equal((await api('DELETE', `/volumes/${volume.volumeID}`)).status, 204)
})

test('what atoll-agent calls back with works for nobody else', async () => {
	for (const headers of [
		{ 'X-API-Key': `session_${v.token}` },
		{ Authorization: `Bearer session_${v.token}` },
		{ 'X-Admin-Token': `session_${v.token}` },
	])
		assert.equal((await request('GET', '/v2/sandboxes', { headers })).status, 401)
})

test('the agent layer acts for the session', async () => {
	const list = await v.ask('GET', '/agent/sessions')
	assert.equal(list.status, 200, list.text)
	const called = await v.ask(
		'POST',
		'/mcp',
		{
			jsonrpc: '2.0',
			id: 1,
			method: 'initialize',
			params: {
				protocolVersion: '2025-06-18',
				capabilities: {},
				clientInfo: { name: 't', version: '1' },
			},
		},
		{ headers: { Accept: 'application/json, text/event-stream' } },
	)
	assert.equal(called.status, 200, called.text)
})

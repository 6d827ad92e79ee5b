// SPDX-License-Identifier: Apache-2.0
// Request smuggling: what a server inside gets is one request, with one length, whatever was sent to the front; or
// nothing.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, envd, exchange, killRaw, request, start } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'

const PORT = 9000
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n'
let sbx, host, seen

before(async () => {
	sbx = await createRaw({ timeout: 300 })
	host = `${PORT}-${sbx.sandboxID}.localhost`
	// Answers whatever it gets, and tells all of it, connection by connection.
	await envd(
		sbx,
		'POST',
		'/files?path=/tmp/tell.py',
		`
import json, socket, threading
def serve(c):
    data = b""
    c.settimeout(0.4)
    try:
        while piece := c.recv(65536): data += piece
    except TimeoutError: pass
    print(json.dumps(data.decode("latin1")), flush=True)
    try: c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok")
    except OSError: pass
    c.close()
s = socket.create_server(("127.0.0.1", ${PORT}), backlog=64); print('"up"', flush=True)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
`,
		{ headers: { 'Content-Type': 'application/octet-stream' } },
	)
	const run = await start(sbx, 'exec python3 -u /tmp/tell.py')
	seen = () =>
		run.events
			.map((e) => e.event.data?.stdout ?? '')
			.map((part) => Buffer.from(part, 'base64').toString())
			.join('')
			.split('\n')
			.filter(Boolean)
			.map((line) => JSON.parse(line))
			.slice(1)
	assert.ok(await until(() => run.events.some((e) => e.event.data?.stdout), 10000), JSON.stringify(run.events))
})
after(() => killRaw(sbx))

// What came out of the front for these bytes, and what arrived inside.
async function send(bytes) {
	const had = seen().length
	const answer = await exchange(bytes, { wait: 4000 })
	const mark = await request('GET', '/mark', { headers: { Host: host } }) // behind everything that was under way
	assert.equal(mark.status, 200, mark.text)
	assert.ok(
		await until(
			() =>
				seen()
					.slice(had)
					.some((one) => one.startsWith('GET /mark ')),
			5000,
		),
	)
	return {
		answer,
		arrived: seen()
			.slice(had)
			.filter((one) => !one.startsWith('GET /mark ')),
	}
}

const requestLines = (text) => text.match(/[A-Z]+ \S* HTTP\/1\.\d/g) ?? []
const post = (headers, body) => (host) => `POST /a HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n\r\n${body}`
const LAST = `0\r\n\r\n${HIDDEN}`

const REFUSED = {
	'two lengths': post('Content-Length: 5\r\nContent-Length: 6', `hello${HIDDEN}`),
	'the same length twice': post('Content-Length: 5\r\nContent-Length: 5', `hello${HIDDEN}`),
	'a list of lengths': post('Content-Length: 5, 5', `hello${HIDDEN}`),
	'a length with a sign': post('Content-Length: +5', `hello${HIDDEN}`),
	'a length in hexadecimal': post('Content-Length: 0x5', `hello${HIDDEN}`),
	'length and chunks': post('Content-Length: 4\r\nTransfer-Encoding: chunked', LAST),
	'chunks and length': post(`Transfer-Encoding: chunked\r\nContent-Length: ${LAST.length}`, LAST),
	'another coding': post('Transfer-Encoding: xchunked', LAST),
	'two codings': post('Transfer-Encoding: chunked, identity', LAST),
	'two lines of codings': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', LAST),
	'a coding behind a tab, and a length': post('Transfer-Encoding:\tchunked\r\nContent-Length: 4', LAST),
	'a coding on a folded line': post('X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 4', LAST),
	'a folded value': post('Transfer-Encoding:\r\n chunked', LAST),
	'a blank before the colon': post('Transfer-Encoding : chunked\r\nContent-Length: 4', LAST),
	'a bare CR in a value': post('X: a\rTransfer-Encoding: chunked\r\nContent-Length: 4', LAST),
	'a bare LF as a line end': post('X: a\nTransfer-Encoding: chunked\r\nContent-Length: 4', LAST),
	'a NUL in a value': post('X: a\0b\r\nContent-Length: 0', HIDDEN),
	'chunks for HTTP/1.0': (host) =>
		`POST /a HTTP/1.0\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${LAST}`,
	'two hosts': (host) => `GET /a HTTP/1.1\r\nHost: ${host}\r\nHost: other\r\n\r\n${HIDDEN}`,
	'no host': () => `GET /a HTTP/1.1\r\n\r\n${HIDDEN}`,
	'a blank in the target': (host) => `GET /a b HTTP/1.1\r\nHost: ${host}\r\n\r\n${HIDDEN}`,
}

for (const [name, make] of Object.entries(REFUSED)) {
	test(`refused, and nothing arrives: ${name}`, async () => {
		const { answer, arrived } = await send(make(host))
		assert.match(answer, /^HTTP\/1\.1 (4\d\d|501|505) /)
		assert.equal(requestLines(answer).length + answer.match(/HTTP\/1\.1 \d\d\d/g).length, 1, answer)
		assert.deepEqual(arrived, [])
	})
}

// The head is fine and has gone on by the time that the body is seen to be wrong: its connection is cut there.
const CUT = {
	'a chunk that is longer than it says': `3\r\nhello\r\n${LAST}`,
	'a size that is no number': `5x\r\nhello\r\n${LAST}`,
	'a size beyond all bounds': `ffffffffffffffffff\r\nhello\r\n${LAST}`,
	'a bare LF behind a size': `5\nhello\r\n${LAST}`,
	'an extension without an end': `5;${'a'.repeat(70000)}\r\nhello\r\n${LAST}`,
	'trailers without an end': `5\r\nhello\r\n0\r\n${'X: y\r\n'.repeat(20000)}\r\n${HIDDEN}`,
	'a control character in an extension': `5;a\0b\r\nhello\r\n${LAST}`,
}

for (const [name, body] of Object.entries(CUT)) {
	test(`cut where it goes wrong: ${name}`, async () => {
		const { answer, arrived } = await send(post('Transfer-Encoding: chunked', body)(host))
		assert.match(answer, /^(HTTP\/1\.1 4\d\d |$)/)
		assert.ok(arrived.length <= 1 && !arrived.join().includes('/hidden'), JSON.stringify(arrived))
		assert.ok(
			!/\r\n0\r\n\r\n/.test(arrived[0] ?? ''),
			`it ends as if it were complete: ${JSON.stringify(arrived)}`,
		)
	})
}

// What has one meaning arrives with that meaning, in our own framing.
const ONE = {
	'extensions and trailers are left out': [
		'Transfer-Encoding: chunked',
		'5;a=b\r\nhello\r\n0\r\nX-Trailer: GET /hidden HTTP/1.1\r\n\r\n',
		'5\r\nhello\r\n0\r\n\r\n',
	],
	'a length that the connection is told to drop': [
		'Connection: Content-Length, close\r\nContent-Length: 5',
		'hello',
		'hello',
	],
	'a coding that the connection is told to drop': [
		'Connection: Transfer-Encoding, close\r\nTransfer-Encoding: chunked',
		'5\r\nhello\r\n0\r\n\r\n',
		'5\r\nhello\r\n0\r\n\r\n',
	],
	'a body that looks like a request': [`Content-Length: ${HIDDEN.length}`, HIDDEN, HIDDEN],
}

for (const [name, [headers, body, want]] of Object.entries(ONE)) {
	test(`arrives as one request: ${name}`, async () => {
		const { answer, arrived } = await send(
			post(headers.includes('close') ? headers : `Connection: close\r\n${headers}`, body)(host),
		)
		assert.match(answer, /^HTTP\/1\.1 200 /)
		assert.equal(arrived.length, 1, JSON.stringify(arrived))
		const [head, ...rest] = arrived[0].split('\r\n\r\n')
		assert.equal(rest.join('\r\n\r\n'), want)
		assert.equal(head.match(/^(content-length|transfer-encoding):/gim).length, 1, head)
		assert.doesNotMatch(head, /^(x-trailer|connection: (?!close))/im)
	})
}

test('two requests in a row are two for whoever they are for', async () => {
	const { answer, arrived } = await send(
		`GET /one HTTP/1.1\r\nHost: ${host}\r\n\r\n` +
			'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
	)
	assert.deepEqual(answer.match(/HTTP\/1\.1 \d\d\d/g), ['HTTP/1.1 200', 'HTTP/1.1 204'])
	assert.deepEqual(
		arrived.map((one) => requestLines(one)),
		[['GET /one HTTP/1.1']],
	)
})

test('an address in the target does not beat the Host', async () => {
	const other = await request('GET', 'http://api.localhost/sandboxes', { headers: { Host: host } })
	assert.equal(other.status, 200)
	assert.equal(other.text, 'ok')
})

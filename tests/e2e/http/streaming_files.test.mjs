// SPDX-License-Identifier: Apache-2.0
// Large files go through in constant memory: neither the front nor pid 1 of the sandbox ever holds them.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import http from 'node:http'
import { Readable } from 'node:stream'
import { addressOf, createRaw, killRaw, routeHeaders, server } from '../../lib/client.mjs'
import { childrenOf, initOf, nameOf, rssOf, traceOf } from '../../lib/host.mjs'

const SIZE = 200 << 20
const PIECE = crypto.randomBytes(1 << 20)
const ROOM = 12 << 20 /* how much a process may grow by, whatever the file */

let sbx, pids

before(async () => {
	sbx = await createRaw({ timeout: 600 })
	const front = childrenOf(server.pid).find((pid) => nameOf(pid) === 'atoll-front')
	pids = { front, init: initOf(traceOf(server.slot, await addressOf(sbx))) }
})
after(() => killRaw(sbx))

async function inConstantMemory(work) {
	const first = Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, rssOf(pid)]))
	const most = { ...first }
	const timer = setInterval(() => {
		for (const [name, pid] of Object.entries(pids)) most[name] = Math.max(most[name], rssOf(pid))
	}, 10)
	try {
		await work()
	} finally {
		clearInterval(timer)
	}
	if (process.env.ATOLL_TEST_ASAN) return
	for (const name of Object.keys(pids))
		assert.ok(most[name] - first[name] < ROOM, `${name} grew from ${first[name]} to ${most[name]}`)
}

function call(method, path, headers, body) {
	const url = new URL(server.url)
	return new Promise((done, fail) => {
		const req = http.request({
			host: url.hostname,
			port: url.port,
			method,
			path,
			agent: false,
			headers: { ...routeHeaders(sbx), ...headers },
		})
		req.once('error', fail)
		req.once('response', (res) => {
			const hash = crypto.createHash('sha256')
			let bytes = 0
			res.on('data', (part) => {
				hash.update(part)
				bytes += part.length
			})
			res.once('error', fail)
			res.once('end', () => done({ status: res.statusCode, bytes, hash: hash.digest('hex') }))
		})
		if (body) body.pipe(req)
		else req.end()
	})
}

function* pieces(head = '', tail = '') {
	if (head) yield Buffer.from(head)
	for (let n = 0; n < SIZE; n += PIECE.length) yield PIECE
	if (tail) yield Buffer.from(tail)
}

const expected = (() => {
	const hash = crypto.createHash('sha256')
	for (const piece of pieces()) hash.update(piece)
	return hash.digest('hex')
})()

const forms = {
	'octet-stream, chunked': ['application/octet-stream', '', ''],
	multipart: [
		'multipart/form-data; boundary=xyz',
		'--xyz\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n',
		'\r\n--xyz--\r\n',
	],
}
for (const [name, [type, head, tail]] of Object.entries(forms)) {
	test(`${SIZE >> 20} MB up and down: ${name}`, async () => {
		await inConstantMemory(async () => {
			const up = await call(
				'POST',
				'/files?path=/tmp/large',
				{ 'Content-Type': type },
				Readable.from(pieces(head, tail)),
			)
			assert.equal(up.status, 200)
		})
		await inConstantMemory(async () => {
			const down = await call('GET', '/files?path=/tmp/large', {})
			assert.deepEqual([down.status, down.bytes, down.hash], [200, SIZE, expected])
		})
	})
}

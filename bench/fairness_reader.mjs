// SPDX-License-Identifier: Apache-2.0
// The clients of a flood, see fairness.mjs: node fairness_reader.mjs URL SANDBOX HOW STREAMS. They read as fast as they
// can and throw everything away, until they are killed. A line comes out once each of them has got something.
import http from 'node:http'
import { envelope, routeHeaders } from '../tests/lib/client.mjs'

const [, , url, sandbox, how, streams] = process.argv
const { hostname, port } = new URL(url),
	sbx = JSON.parse(sandbox)
const CONNECT = { 'Content-Type': 'application/connect+json', 'Connect-Protocol-Version': '1' }
const YES = { cmd: '/usr/bin/yes', args: ['a line of a log that nobody will ever read'] }

const ASKS = {
	watch: { path: '/filesystem.Filesystem/WatchDir', headers: CONNECT, body: envelope({ path: '/tmp/churn' }) },
	print: { path: '/process.Process/Start', headers: CONNECT, body: envelope({ process: YES, stdin: false }) },
	terminal: {
		path: '/process.Process/Start',
		headers: CONNECT,
		body: envelope({ process: YES, pty: { size: { cols: 80, rows: 24 } } }),
	},
	execute: {
		path: '/execute',
		port: '49999',
		headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify({ code: 'while True: print("x" * 70)' }),
	},
	download: { method: 'GET', path: '/files?path=/tmp/big', again: true },
	upload: {
		path: '/files?path=/tmp/up',
		headers: { 'Content-Type': 'application/octet-stream' },
		body: Buffer.alloc(16 << 20),
		again: true,
	},
}

function ask(n, what, first) {
	const req = http.request({
		host: hostname,
		port,
		method: what.method ?? 'POST',
		agent: false,
		path: what.path + (how === 'upload' ? n : ''),
		headers: { ...routeHeaders(sbx, what.port), ...what.headers },
	})
	req.once('error', (err) => {
		throw err
	})
	req.once('response', (res) => {
		res.once('data', first)
		res.on('data', () => {})
		if (what.again)
			res.once('end', () => {
				first()
				ask(n, what, () => {})
			})
	})
	req.end(what.body)
}

await Promise.all(Array.from({ length: Number(streams) }, (_, n) => new Promise((done) => ask(n, ASKS[how], done))))
console.log('ready')

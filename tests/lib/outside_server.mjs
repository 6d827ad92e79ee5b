// SPDX-License-Identifier: Apache-2.0
// The servers of tests/lib/outside.mjs, inside its network namespace. Events go to stdout as lines of JSON; new DNS
// maps come in by stdin.
import dgram from 'node:dgram'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import readline from 'node:readline'

const { addresses, tls, dns } = JSON.parse(process.argv[2])
let names = dns

const say = (ev) => process.stdout.write(`${JSON.stringify(ev)}\n`)

function listen(server, port, host) {
	server.on('connection', () => say({ touch: `tcp ${host} ${port}` }))
	return new Promise((done, fail) => {
		server.once('error', fail)
		server.listen(port, host, done)
	})
}

function echoTcp(host, port) {
	return listen(
		net.createServer({ allowHalfOpen: true }, (s) => {
			s.on('error', () => {})
			s.pipe(s)
		}),
		port,
		host,
	)
}

function echoUdp(host, port) {
	const s = dgram.createSocket('udp4')
	s.on('message', (m, from) => {
		say({ touch: `udp ${host} ${port}` })
		s.send(m, from.port, from.address)
	})
	return new Promise((done) => s.bind(port, host, done))
}

// GET /bytes/N gives N bytes; /reset cuts the connection; all else what the request was.
function onRequest(host, port) {
	return (req, res) => {
		const { method, url, headers, rawHeaders } = req
		const size = /^\/bytes\/(\d+)$/.exec(url)
		say({ address: host, port, method, url, headers, name: req.socket.servername || undefined })
		if (size) {
			res.writeHead(200, { 'Content-Length': size[1] })
			res.end(Buffer.alloc(Number(size[1]), 'x'))
			return
		}
		const parts = []
		req.on('data', (p) => parts.push(p))
		req.on('end', () => {
			res.setHeader('Content-Type', 'application/json')
			res.end(
				JSON.stringify({
					address: host,
					port,
					method,
					url,
					headers,
					rawHeaders,
					body: Buffer.concat(parts).toString('latin1').slice(0, 4096),
					bytes: Buffer.concat(parts).length,
				}),
			)
		})
	}
}

function onUpgrade(req, sock) {
	sock.on('error', () => {})
	if (req.url === '/refuse') {
		sock.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno')
		return
	}
	sock.write(
		`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${req.headers.upgrade}\r\n` +
			`X-Saw: ${req.headers.authorization ?? '-'}\r\n\r\n`,
	)
	sock.pipe(sock)
}

function web(host, port, secure) {
	const server = secure
		? https.createServer(
				{ key: fs.readFileSync(tls.key), cert: fs.readFileSync(tls.cert) },
				onRequest(host, port),
			)
		: http.createServer(onRequest(host, port))
	server.on('upgrade', onUpgrade)
	server.on('clientError', (err, s) => s.destroy())
	server.on('tlsClientError', () => {})
	return listen(server, port, host)
}

function questionOf(m) {
	const labels = []
	let at = 12
	while (m[at]) {
		labels.push(m.subarray(at + 1, at + 1 + m[at]).toString('latin1'))
		at += 1 + m[at]
	}
	return { name: labels.join('.').toLowerCase(), type: m.readUInt16BE(at + 1), end: at + 5 }
}

// A answers only; what is not in the map does not exist. A name may map to {cname}.
function answerTo(m) {
	const q = questionOf(m)
	say({ query: { name: q.name, type: q.type } })
	const known = names[q.name]
	const list = q.type === 1 && Array.isArray(known) ? known : []
	const head = Buffer.alloc(12)
	m.copy(head, 0, 0, 2)
	head.writeUInt16BE(0x8180 | (known ? 0 : 3), 2)
	head.writeUInt16BE(1, 4)
	head.writeUInt16BE(list.length, 6)
	const records = list.map((a) =>
		Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...a.split('.').map(Number)]),
	)
	return Buffer.concat([head, m.subarray(12, q.end), ...records])
}

function serveDns(host) {
	const s = dgram.createSocket('udp4')
	s.on('message', (m, from) => s.send(answerTo(m), from.port, from.address))
	return new Promise((done) => s.bind(53, host, done))
}

for (const host of addresses) {
	await Promise.all([7, 7000].map((port) => echoTcp(host, port)))
	await Promise.all([7, 443].map((port) => echoUdp(host, port)))
	await Promise.all([80, 8080].map((port) => web(host, port, false)))
	if (tls) await Promise.all([443, 8443].map((port) => web(host, port, true)))
	else await Promise.all([443, 8443].map((port) => echoTcp(host, port)))
	await serveDns(host)
}
readline.createInterface({ input: process.stdin }).on('line', (line) => {
	names = JSON.parse(line)
})
say({ ready: true })

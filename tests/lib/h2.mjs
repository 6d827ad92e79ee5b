// SPDX-License-Identifier: Apache-2.0
// HTTP/2 for tests: requests through Node's client, and bare frames for what no client would send.
import http2 from 'node:http2'
import tls from 'node:tls'
import { DOMAIN } from './tls.mjs'

export const FRAME = {
	DATA: 0,
	HEADERS: 1,
	PRIORITY: 2,
	RST: 3,
	SETTINGS: 4,
	PING: 6,
	GOAWAY: 7,
	WINDOW: 8,
	CONTINUATION: 9,
}
export const CALM = 11 // ENHANCE_YOUR_CALM
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

// One connection, for requests to any name below the domain.
export function session(server, options = {}) {
	return new Promise((done, fail) => {
		const s = http2.connect(`https://127.0.0.1:${server.tlsPort}`, {
			ca: server.ca,
			servername: `api.${DOMAIN}`,
			...options,
		})
		s.once('connect', () => done(s))
		s.once('error', fail)
		s.on('error', () => {})
	})
}

// Resolves with the answer, or rejects when the stream is reset before its end.
export function ask(s, name, method, path, { headers = {}, body, read = true } = {}) {
	const req = s.request(
		{
			':method': method,
			':path': path,
			':authority': name.includes('.') ? name : `${name}.${DOMAIN}`,
			...headers,
		},
		{ endStream: body === undefined },
	)
	const got = new Promise((done, fail) => {
		let head
		const parts = []
		req.once('response', (h) => {
			head = h
		})
		if (read) req.on('data', (part) => parts.push(part))
		req.once('error', fail)
		req.once('close', () => {
			const text = Buffer.concat(parts).toString()
			if (!head) fail(new Error(`closed with ${req.rstCode}`))
			else
				done({
					status: head[':status'],
					headers: head,
					text,
					bytes: Buffer.concat(parts),
					code: req.rstCode,
				})
		})
	})
	if (body !== undefined && body !== null) req.end(body)
	got.catch(() => {})
	return Object.assign(got, { req })
}

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
	const head = Buffer.alloc(9)
	head.writeUIntBE(payload.length, 0, 3)
	head[3] = type
	head[4] = flags
	head.writeUInt32BE(stream, 5)
	return Buffer.concat([head, payload])
}

function text(z) {
	const bytes = Buffer.from(z)
	if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
	const n = bytes.length - 127
	return Buffer.concat([Buffer.from([127, (n & 127) | 128, ((n >> 7) & 127) | 128, n >> 14]), bytes])
}

// Fields of a head, written out in full. Names that start with ':' are put first by the caller.
export function fields(list) {
	return Buffer.concat(list.map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])))
}

export function head(method, path, name, more = []) {
	return fields([
		[':method', method],
		[':scheme', 'https'],
		[':path', path],
		[':authority', `${name}.${DOMAIN}`],
		...more,
	])
}

// A bare connection: frames go out as they are given, those that come in are counted.
export function raw(server) {
	return new Promise((done, fail) => {
		const sock = tls.connect({
			host: '127.0.0.1',
			port: server.tlsPort,
			servername: `api.${DOMAIN}`,
			ca: server.ca,
			ALPNProtocols: ['h2'],
		})
		const self = {
			sock,
			frames: [],
			goaway: null,
			closed: false,
			send: (...bufs) => sock.write(Buffer.concat(bufs)),
		}
		let rest = Buffer.alloc(0)
		sock.on('data', (part) => {
			rest = Buffer.concat([rest, part])
			while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
				const n = rest.readUIntBE(0, 3)
				const f = {
					type: rest[3],
					flags: rest[4],
					stream: rest.readUInt32BE(5),
					payload: rest.subarray(9, 9 + n),
				}
				rest = rest.subarray(9 + n)
				if (f.type === FRAME.GOAWAY) self.goaway = f.payload.readUInt32BE(4)
				self.frames.push({
					type: f.type,
					flags: f.flags,
					stream: f.stream,
					code: f.type === FRAME.RST ? f.payload.readUInt32BE(0) : undefined,
					n,
				})
			}
		})
		self.over = new Promise((over) =>
			sock.once('close', () => {
				self.closed = true
				over()
			}),
		)
		sock.once('secureConnect', () => {
			sock.write(Buffer.concat([PREFACE, frame(FRAME.SETTINGS, 0, 0)]))
			done(self)
		})
		sock.once('error', fail)
		sock.on('error', () => {})
	})
}

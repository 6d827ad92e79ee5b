// SPDX-License-Identifier: Apache-2.0
// The client's side of a WebSocket (RFC 6455), as little of it as tests need.
import crypto from 'node:crypto'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

// The socket of a connection that was upgraded. ask(headers) gives the request, not sent yet.
export async function webSocket(ask) {
	const key = crypto.randomBytes(16).toString('base64')
	const [res, socket] = await new Promise((done, fail) => {
		const req = ask({
			Connection: 'keep-alive, Upgrade',
			Upgrade: 'websocket',
			'Sec-WebSocket-Key': key,
			'Sec-WebSocket-Version': '13',
		})
		req.once('upgrade', (r, s) => done([r, s]))
		req.once('response', (r) => fail(new Error(`answered ${r.statusCode}`)))
		req.once('error', fail)
		req.end()
	})
	const want = crypto.createHash('sha1').update(`${key}${GUID}`).digest('base64')
	const got = res.headers['sec-websocket-accept']
	if (got !== want) throw new Error(`Sec-WebSocket-Accept is ${got}, not ${want}`)
	return socket
}

// A frame of less than 64 KiB, masked.
export function frame(op, data) {
	const mask = crypto.randomBytes(4),
		n = data.length
	const length = n < 126 ? [0x80 | n] : [0x80 | 126, n >> 8, n & 255]
	const masked = Buffer.from(data).map((b, i) => b ^ mask[i % 4])
	return Buffer.concat([Buffer.from([0x80 | op, ...length]), mask, masked])
}

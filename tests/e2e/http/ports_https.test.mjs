// SPDX-License-Identifier: Apache-2.0
// Ports of programs inside that speak HTTPS themselves (network.httpsPorts), with certificates that nobody knows.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { api, createRaw, envd, killRaw, request, server, start } from '../../lib/client.mjs'
import { clientPackage } from '../../lib/npm.mjs'
import { selfSigned } from '../../lib/certificate.mjs'
import { until } from '../../lib/host.mjs'

const OCTET = { 'Content-Type': 'application/octet-stream' }
const url = new URL(server.url)
const TLS = 9443,
	PLAIN = 9480,
	OTHER = 9444
const at = (port) => ({ Host: `${port}-${sbx.sandboxID}.localhost` })
let sbx, run

// HTTPS on two ports of which one is in the list, HTTP on one that is in it, too. Upgrades are echoed in capitals.
const PROGRAM =
	`
const fs = require('fs'), http = require('http'), https = require('https')
const answer = (req, res) => {
	const parts = []
	req.on('data', (d) => parts.push(d)).on('end', () => {
		const body = Buffer.concat(parts)
		res.setHeader('X-Saw', [req.method, req.url, req.headers.host, req.headers['x-forwarded-host'] ?? '',` +
	` !!req.socket.encrypted, body.length].join(' '))
		res.end(body.length ? body : 'hello')
	})
}
const tls = { key: fs.readFileSync('/tmp/key.pem'), cert: fs.readFileSync('/tmp/cert.pem') }
const s = https.createServer(tls, answer)
s.on('upgrade', (req, socket, head) => {
	socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: caps\\r\\nConnection: ` +
	`Upgrade\\r\\n\\r\\nFIRST ')
	const say = (d) => socket.write(d.toString().toUpperCase())
	if (head.length) say(head)
	socket.on('data', say).on('end', () => socket.end('LAST'))
})
s.listen(${TLS}, '127.0.0.1', () => https.createServer(tls, answer).listen(${OTHER}, '127.0.0.1', () => ` +
	`http.createServer(answer).listen(${PLAIN}, '127.0.0.1', () => console.log('up'))))
`

before(async () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-https-'))
	selfSigned({ key: `${dir}/key.pem`, cert: `${dir}/cert.pem`, name: 'nobody.invalid' })
	sbx = await createRaw({ timeout: 600, network: { httpsPorts: [TLS, PLAIN] } })
	for (const name of ['key.pem', 'cert.pem'])
		await envd(sbx, 'POST', `/files?path=/tmp/${name}`, fs.readFileSync(`${dir}/${name}`), {
			headers: OCTET,
		})
	fs.rmSync(dir, { recursive: true })
	await envd(sbx, 'POST', '/files?path=/tmp/serve.cjs', PROGRAM, { headers: OCTET })
	run = await start(sbx, 'exec node /tmp/serve.cjs')
	assert.ok(await until(() => run.events.some((e) => e.event.data?.stdout), 20000), JSON.stringify(run.events))
})
after(async () => {
	run?.close()
	await killRaw(sbx)
})

test('a server with HTTPS of its own is reached as any other, and bodies go both ways', async () => {
	const res = await request('GET', '/a?b=c', { headers: at(TLS) })
	assert.deepEqual(
		[res.status, res.text, res.headers['x-saw']],
		[200, 'hello', `GET /a?b=c ${at(TLS).Host}  true 0`],
	)
	const body = crypto.randomBytes(3_000_000)
	const sum = (b) => crypto.createHash('sha256').update(b).digest('hex')
	const big = await new Promise((done, fail) => {
		const req = http.request(
			{
				host: url.hostname,
				port: url.port,
				method: 'POST',
				path: '/',
				agent: false,
				headers: { ...at(TLS), 'Transfer-Encoding': 'chunked' },
			},
			(r) => {
				const parts = []
				r.on('data', (d) => parts.push(d))
					.on('end', () => done(Buffer.concat(parts)))
					.on('error', fail)
			},
		)
		req.on('error', fail)
		req.end(body)
	})
	assert.equal(sum(big), sum(body))
	const all = await Promise.all(
		Array.from({ length: 20 }, (_, i) => request('POST', `/${i}`, { headers: at(TLS), body: `n${i}` })),
	)
	assert.deepEqual(
		all.map((r) => r.text),
		all.map((_, i) => `n${i}`),
	)
})

test(
	'an upgraded connection goes through TLS, with what comes right behind the answer and after the ' +
		'end of the other side',
	async () => {
		const [res, socket, head] = await new Promise((done, fail) => {
			const req = http.request({
				host: url.hostname,
				port: url.port,
				agent: false,
				headers: { ...at(TLS), Connection: 'Upgrade', Upgrade: 'caps' },
			})
			req.once('upgrade', (...all) => done(all))
			req.once('response', (r) => fail(new Error(`answered ${r.statusCode}`)))
			req.once('error', fail)
			req.end()
		})
		assert.equal(res.headers.upgrade, 'caps')
		let got = head.toString()
		socket.on('data', (d) => {
			got += d
		})
		socket.write('some words ')
		assert.ok(await until(() => got.includes('WORDS ')), got)
		socket.end('x'.repeat(100_000))
		await new Promise((done) => socket.once('close', done))
		assert.equal(got, `FIRST SOME WORDS ${'X'.repeat(100_000)}LAST`)
	},
)

test(
	'a port that is not in the list gets plain HTTP, and one in the list that does not speak TLS is ' +
		'said to be so',
	async () => {
		const plain = await request('GET', '/', { headers: at(PLAIN) })
		assert.deepEqual([plain.status, plain.json.code], [502, 502], plain.text)
		assert.match(plain.json.message, /does not speak HTTPS/)
		const other = await request('GET', '/', { headers: at(OTHER) })
		assert.notEqual(other.status, 200, 'TLS was spoken to a port that nobody has named')
		const closed = await request('GET', '/', { headers: at(9499) })
		assert.match(closed.json.message, /port is not open/)
	},
)

test('the list is told, outlives a change of the rules, and the SDK can give it', async () => {
	const told = async (id) => (await api('GET', `/sandboxes/${id}`)).json.network
	assert.deepEqual((await told(sbx.sandboxID)).httpsPorts, [TLS, PLAIN])
	assert.equal((await api('PUT', `/sandboxes/${sbx.sandboxID}/network`, { denyOut: ['192.0.2.1'] })).status, 204)
	assert.deepEqual(await told(sbx.sandboxID), { httpsPorts: [TLS, PLAIN], denyOut: ['192.0.2.1'] })
	assert.equal((await request('GET', '/', { headers: at(TLS) })).text, 'hello')
	const { Sandbox } = clientPackage()
	const other = await Sandbox.create({
		apiKey: server.key,
		apiUrl: server.url,
		sandboxUrl: server.url,
		network: { httpsPorts: [3000] },
	})
	assert.deepEqual((await told(other.sandboxId)).httpsPorts, [3000])
	await other.kill()
})

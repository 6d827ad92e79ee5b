// SPDX-License-Identifier: Apache-2.0
// A port inside a sandbox through the server against the same program on the host's loopback; open streams; TLS
// handshakes.
import fs from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import path from 'node:path'
import tls from 'node:tls'
import { execFileSync, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { rssOf } from '../tests/lib/host.mjs'
import { DOMAIN } from '../tests/lib/tls.mjs'
import { Caller, cpuSeconds, frontOf, inParallel, ratioOf, stats } from './measure.mjs'

const PROGRAM = path.join(path.dirname(fileURLToPath(import.meta.url)), 'port_server.py')
const PORT = 9000
const STREAMS = 1000

export const CONFIG = { log_level: 'warn', default_memory_mb: 2048, default_pids: 2048 }

// The program on the host.
async function direct() {
	const child = spawn('python3', [PROGRAM, '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
	const port = await new Promise((done, fail) => {
		createInterface(child.stdout).once('line', (line) => done(Number(line.split(' ')[1])))
		child.once('error', fail)
	})
	return { port, stop: () => child.kill() }
}

// The same inside: written there, and started as a command whose stream stays open.
async function inside(server, sbx, session) {
	const ask = (head, body) =>
		new Promise((done, fail) => {
			const req = session.request({
				':method': 'POST',
				':authority': `49983-${sbx.sandboxID}.${DOMAIN}`,
				'x-access-token': sbx.envdAccessToken,
				...head,
			})
			req.once('error', fail)
			req.once('data', () => done(req))
			req.end(body)
		})
	;(
		await ask(
			{ ':path': '/files?path=/tmp/port_server.py', 'content-type': 'application/octet-stream' },
			fs.readFileSync(PROGRAM),
		)
	).resume()
	const start = Buffer.from(
		JSON.stringify({
			process: { cmd: 'python3', args: ['/tmp/port_server.py', String(PORT)] },
			stdin: false,
		}),
	)
	const envelope = Buffer.alloc(5)
	envelope.writeUInt32BE(start.length, 1)
	const run = await ask(
		{
			':path': '/process.Process/Start',
			'content-type': 'application/connect+json',
			'connect-protocol-version': '1',
		},
		Buffer.concat([envelope, start]),
	)
	await new Promise((done) => run.once('data', done)) // "up"
	run.resume()
	return { stop: () => run.close(8) }
}

function curl(url, ...args) {
	const out = execFileSync(
		'curl',
		[
			'-sS',
			'-o',
			'/dev/null',
			'-w',
			'%{http_code} %{http_version} %{speed_download} %{speed_upload}',
			...args,
			url,
		],
		{ encoding: 'utf8' },
	)
	const [code, version, down, up] = out.split(' ')
	if (code !== '200') throw new Error(`${url}: ${out}`)
	return { version, mbps: Math.max(Number(down), Number(up)) / 1e6 }
}

// Each way once a round, direct ones among them. The first round is for caches and windows.
function speeds(ways, size, rounds, file) {
	const sums = Object.fromEntries(Object.keys(ways).map((name) => [name, { down: [], up: [] }]))
	for (const way of ['down', 'up']) {
		for (let i = 0; i <= rounds; i++) {
			for (const [name, { url, args }] of Object.entries(ways)) {
				const got =
					way === 'down'
						? curl(`${url}/zeros/${size}`, ...args)
						: curl(
								`${url}/sink`,
								...args,
								'-H',
								'Expect:',
								'-H',
								'Content-Type: application/octet-stream',
								'-X',
								'POST',
								'-T',
								file,
							)
				if (i > 0) sums[name][way].push(got.mbps)
			}
		}
	}
	const of = (name, way) => ({ ...stats(sums[name][way]), ratio: ratioOf(sums[name][way], sums.direct[way]) })
	return Object.fromEntries(
		Object.keys(ways).map((name) => [name, { down: of(name, 'down'), up: of(name, 'up') }]),
	)
}

// One request after the other; fresh: a connection each, as a server inside gets them.
async function trips(n, options, fresh) {
	const agent = new http.Agent({ keepAlive: !fresh, maxSockets: 1 })
	const samples = []
	for (let i = 0; i < n + 20; i++) {
		const began = performance.now()
		await new Promise((done, fail) => {
			const req = http.get({ host: '127.0.0.1', path: '/small', agent, ...options })
			req.once('error', fail)
			req.once('response', (res) => res.resume().once('end', done))
		})
		if (i >= 20) samples.push(performance.now() - began)
	}
	agent.destroy()
	return stats(samples)
}

async function tripsH2(n, session, authority) {
	const samples = []
	for (let i = 0; i < n + 20; i++) {
		const began = performance.now()
		await new Promise((done, fail) => {
			const req = session.request({ ':path': '/small', ':authority': authority })
			req.once('error', fail)
			req.resume().once('end', done)
		})
		if (i >= 20) samples.push(performance.now() - began)
	}
	return stats(samples)
}

function openSession(server) {
	return new Promise((done, fail) => {
		const s = http2.connect(`https://127.0.0.1:${server.tlsPort}`, {
			ca: server.ca,
			servername: `api.${DOMAIN}`,
		})
		s.once('connect', () => done(s))
		s.once('error', fail)
	})
}

// Memory of the front with so many streams open, on a few connections.
async function manyStreams(server, authority) {
	const pid = frontOf(server),
		before = rssOf(pid)
	const sessions = await Promise.all(Array.from({ length: 5 }, () => openSession(server)))
	let open = 0,
		bad = 0
	await inParallel(
		STREAMS,
		20,
		(i) =>
			new Promise((done) => {
				const req = sessions[i % sessions.length].request({
					':path': '/events',
					':authority': authority,
				})
				req.once('data', () => {
					open++
					done()
				})
				req.once('error', () => {
					bad++
					done()
				})
				req.once('end', () => open--)
			}),
	)
	const most = rssOf(pid)
	sessions.forEach((s) => s.destroy())
	return { open, bad, before, most }
}

// How many handshakes a second, and what one costs the front.
async function handshakes(server, n, resumed) {
	const options = { host: '127.0.0.1', port: server.tlsPort, servername: `api.${DOMAIN}`, ca: server.ca }
	const pid = frontOf(server)
	let sessions = []
	const one = (session) =>
		new Promise((done, fail) => {
			const sock = tls.connect({ ...options, session })
			sock.once('error', fail)
			sock.once('session', (next) => {
				// comes behind the handshake: the connection is really there
				if (resumed && session && !sock.isSessionReused())
					fail(new Error('a session was not resumed'))
				sock.destroy()
				done(next)
			})
		})
	if (resumed) sessions = await Promise.all(Array.from({ length: 8 }, () => one()))
	const cpu = cpuSeconds(pid),
		began = performance.now()
	await inParallel(n, 8, async (i) => {
		sessions[i % 8] = await one(resumed ? sessions[i % 8] : undefined)
	})
	const seconds = (performance.now() - began) / 1000
	return { n, perSecond: n / seconds, cpuMs: ((cpuSeconds(pid) - cpu) * 1000) / n }
}

export async function ports(server, quick) {
	const size = quick ? 128 << 20 : 512 << 20
	const caller = new Caller(server, 1)
	const sbx = JSON.parse((await caller.call('POST', '/v2/sandboxes', { templateID: 'base', timeout: 1800 })).body)
	const authority = `${PORT}-${sbx.sandboxID}.${DOMAIN}`
	const session = await openSession(server)
	const host = await direct()
	const guest = await inside(server, sbx, session)
	const file = path.join(server.base, 'upload')
	fs.writeFileSync(file, '')
	fs.truncateSync(file, size)
	const secure = ['--cacert', server.caFile, '--resolve', `${authority}:${server.tlsPort}:127.0.0.1`]
	const ways = {
		direct: { url: `http://127.0.0.1:${host.port}`, args: [] },
		plain: { url: server.url, args: ['-H', `Host: ${authority}`] },
		tls1: { url: `https://${authority}:${server.tlsPort}`, args: ['--http1.1', ...secure] },
		tls2: { url: `https://${authority}:${server.tlsPort}`, args: ['--http2', ...secure] },
	}
	try {
		const memory = { before: rssOf(frontOf(server)) }
		const result = { size, speed: speeds(ways, size, 9, file) }
		memory.after = rssOf(frontOf(server))
		const n = quick ? 200 : 1000
		result.trip = {
			direct: await trips(n, { port: host.port }, true),
			plain: await trips(n, { port: new URL(server.url).port, headers: { Host: authority } }, false),
			tls2: await tripsH2(n, session, authority),
		}
		result.streams = await manyStreams(server, authority)
		result.full = await handshakes(server, quick ? 300 : 2000, false)
		result.resumed = await handshakes(server, quick ? 300 : 2000, true)
		result.memory = memory
		return result
	} finally {
		guest.stop()
		host.stop()
		session.destroy()
		await caller.call('DELETE', `/sandboxes/${sbx.sandboxID}`)
		caller.close()
	}
}

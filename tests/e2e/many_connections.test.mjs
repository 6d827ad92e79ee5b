// SPDX-License-Identifier: Apache-2.0
// Clients that only hold on: ten thousand idle connections, heads and bodies that never end. Others are served.
import { test, after, afterEach, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import net from 'node:net'
import { execFileSync, spawn } from 'node:child_process'
import { api, createRaw, envd, killRaw, request, server } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'

const url = new URL(server.url)
const MANY = 10000
const HEAVY = process.env.ATOLL_TEST_ASAN ? Infinity : 1		// a sanitizer keeps what was freed
const PATIENCE = { timeout: 30000 }	// told from being kept out; how fast it is, bench/ says
const fds = Number(execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim())
const short = fds < MANY + 2000 ? `only ${fds} open files are allowed here` : false
const holders = new Set()
let sbx

before(async () => {
	sbx = await createRaw({ timeout: 900 })
})
after(() => killRaw(sbx))
afterEach(() => Promise.all([...holders].map((h) => h.end())))

// The clients live in a process of their own: both ends of ten thousand connections are more than one may have open.
function holder(n, bytes, spread) {
	const code = `
		const net = require('net'); let up = 0, gone = 0
		const open = () => { const s = net.connect(${url.port}, '${url.hostname}'); s.resume(); s.on('error', () => {})
			s.on('connect', () => { up++; s.write(${JSON.stringify(bytes)}) }); s.on('close', () => gone++) }
		let i = 0; const t = setInterval(() => { for (let k = 0; k < ${spread} && i < ${n}; k++, i++) open(); if (i >= ${n}) clearInterval(t) }, 10)
		setInterval(() => process.stdout.write(JSON.stringify({ up, gone }) + '\\n'), 200)`
	const child = spawn('sh', ['-c', 'ulimit -n $(ulimit -Hn); exec "$0" -e "$1"', process.execPath, code], { stdio: ['ignore', 'pipe', 'inherit'] })
	const self = { up: 0, gone: 0 }
	let rest = ''
	child.stdout.on('data', (d) => {
		const lines = (rest + d).split('\n')
		rest = lines.pop()
		if (lines.length)
			Object.assign(self, JSON.parse(lines.at(-1)))
	})
	self.end = () => new Promise((done) => {
		if (!holders.delete(self))
			done()
		child.once('exit', done)
		child.kill('SIGKILL')
	})
	holders.add(self)
	return self
}

async function othersAreServed() {
	assert.equal((await request('GET', '/health', PATIENCE)).status, 204)
	assert.equal((await api('GET', '/sandboxes', undefined, PATIENCE)).status, 200)
	assert.equal((await envd(sbx, 'GET', '/metrics', undefined, PATIENCE)).status, 200)
}

const gauge = async (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await api('GET', '/metrics')).text)[1])

test('ten thousand idle connections: held, cheap, and nobody waits', { skip: short, timeout: 120000 }, async () => {
	const before_ = await gauge('atoll_front_resident_bytes')
	const clients = holder(MANY, '', 100)
	assert.ok(await until(() => clients.up >= MANY, 60000, 100), `${clients.up} connections`)
	assert.ok(await until(async () => await gauge('atoll_connections') >= MANY * 0.9, 10000, 200))
	for (let i = 0; i < 5; i++)
		await othersAreServed()
	assert.ok(await gauge('atoll_front_resident_bytes') - before_ < 45e6 * HEAVY, 'memory of idle connections')
	await clients.end()
	assert.ok(await until(async () => await gauge('atoll_connections') < 100, 20000, 200))
})

test('more than there are places for: the longest idle give theirs up', { skip: short, timeout: 120000 }, async () => {
	const clients = holder(16000, '', 200)
	assert.ok(await until(() => clients.up + clients.gone >= 15000, 60000, 100), `${clients.up} up, ${clients.gone} gone`)
	for (let i = 0; i < 5; i++)
		await othersAreServed()
	await clients.end()
	await until(async () => await gauge('atoll_connections') < 100, 20000, 200)
})

test('heads that never end are cut off after a while', { timeout: 120000 }, async () => {
	const clients = holder(300, 'GET /health HTTP/1.1\r\nHost: x\r\nX-', 100)
	assert.ok(await until(() => clients.up >= 300, 10000, 100))
	await othersAreServed()
	assert.ok(await until(() => clients.gone >= 300, 60000, 500), `${clients.gone} gone`)
	await clients.end()
})

test('a body of the API that never ends is cut off after a minute', { timeout: 120000 }, async () => {
	const began = Date.now()
	const answer = await new Promise((done, fail) => {
		const sock = net.connect(Number(url.port), url.hostname, () => sock.write(
			`POST /sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: ${server.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"templ`))
		let text = ''
		sock.on('data', (d) => {
			text += d
		})
		sock.once('close', () => done(text))
		sock.once('error', fail)
	})
	assert.match(answer, /^HTTP\/1\.1 408 /)
	assert.match(answer, /"code":408/)
	assert.ok(Date.now() - began > 50000 && Date.now() - began < 80000)
})

test('a client that asks and never listens is not buffered for', async () => {
	const one = `GET /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: ${server.key}\r\n\r\n`
	const before_ = await gauge('atoll_front_resident_bytes')
	const socks = Array.from({ length: 20 }, () => {
		const s = net.connect(Number(url.port), url.hostname, () => {
			for (let i = 0; i < 20; i++)
				s.write(one.repeat(200))
		})
		s.on('error', () => {})
		s.pause()
		return s
	})
	await new Promise((done) => setTimeout(done, 3000))
	await othersAreServed()
	assert.ok(await gauge('atoll_front_resident_bytes') - before_ < 30e6 * HEAVY)
	socks.forEach((s) => s.destroy())
})

test('the front has not been restarted meanwhile', () => {
	const starts = fs.readFileSync(server.log, 'utf8').match(/"event":"front started"/g)
	assert.equal(starts.length, 1)
})

// SPDX-License-Identifier: Apache-2.0
// A sandbox that may reach one name tries to reach another: nothing of it arrives, whatever it says on the way. The
// evil host is really there, in a network of the test's own, and an unruled sandbox reaches it: that is the control.
import { test, after } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRaw, endOf, envd, killRaw, outputOf, server, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { until } from '../lib/host.mjs'
import { certificates, outside } from '../lib/outside.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const GOOD = 'good.example.com',
	EVIL = 'evil.example.org'
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-escape-net-'))
const out = await outside({ hosts: 3, tls: certificates(dir, [GOOD, EVIL]) })
out.setDns({ [GOOD]: [out.at(2)], [EVIL]: [out.at(3)] })
const own = await newServer(server.buildDir, { dns_servers: out.at(4) }).start()
const opt = { base: own.url, key: own.key }
after(async () => {
	await own.stop()
	out.end()
	fs.rmSync(dir, { recursive: true, force: true })
})

async function run(sbx, args) {
	const put = await envd(
		sbx,
		'POST',
		'/files?path=/tmp/attempts.py&username=user',
		fs.readFileSync(path.join(HERE, 'network_attempts.py')),
		{ base: own.url, headers: { 'Content-Type': 'application/octet-stream' } },
	)
	assert.equal(put.status, 200)
	const got = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: 'python3', args: ['/tmp/attempts.py', ...args] }, stdin: false },
		{ base: own.url, user: 'root' },
	)
	await got.ended
	assert.equal(endOf(got.events)?.exitCode ?? 0, 0, outputOf(got.events, 'stderr'))
	return outputOf(got.events)
		.trim()
		.split('\n')
		.map((l) => l.split(' '))
}

const sbx = await createRaw({ timeout: 300, network: { denyOut: ['0.0.0.0/0'], allowOut: [GOOD] } }, opt)
const rows = await run(sbx, [GOOD, EVIL, out.at(3), `10.${200 + own.slot}.0.1`])
await killRaw(sbx, opt)
const seen = { touches: [...out.touches], requests: [...out.requests], queries: [...out.queries] }

for (const [n, name, outcome] of rows) {
	test(`attempt: network/${name}: a sandbox with domain rules reaches no other name (${outcome})`, () => {
		const word = `canary${n.padStart(4, '0')}x`
		assert.deepEqual(
			seen.requests.filter((r) => JSON.stringify(r).includes(word) && r.address !== out.at(2)),
			[],
			'a request arrived at another host',
		)
		assert.deepEqual(
			seen.queries.filter((q) => q.name.toLowerCase().includes(word)),
			[],
			'a name server was told',
		)
	})
}

test('all of them were made', () => assert.ok(rows.length > 250, `${rows.length}`))

test('not one packet, request or query came to the evil host', () => {
	assert.deepEqual(
		seen.touches.filter((t) => t.includes(` ${out.at(3)} `)),
		[],
	)
	assert.deepEqual(
		seen.requests.filter((r) => r.address === out.at(3)),
		[],
	)
	assert.deepEqual(
		seen.queries.filter(
			(q) => q.name.toLowerCase().includes('evil') || q.name.toLowerCase().includes('canary'),
		),
		[],
	)
})

test('and the host that is allowed was asked for nobody else', () => {
	const hosts = seen.requests.map((r) =>
		String(r.headers.host).toLowerCase().replace(/:\d+$/, '').replace(/\.$/, ''),
	)
	assert.deepEqual([...new Set(hosts)], [GOOD])
})

test('control: without rules the same program gets there', async () => {
	const free = await createRaw({ timeout: 300 }, opt)
	try {
		const code =
			`import socket; s = socket.create_connection(("${out.at(3)}", 80), 5); s.sendall(b"GET ` +
			`/control HTTP/1.1\\r\\nHost: ${EVIL}\\r\\n\\r\\n"); print(len(s.recv(100)))`
		const got = await stream(
			free,
			'process.Process/Start',
			{ process: { cmd: 'python3', args: ['-c', code] }, stdin: false },
			{ base: own.url },
		)
		await got.ended
		assert.ok(
			await until(() => out.requests.some((r) => r.address === out.at(3))),
			`${outputOf(got.events)}${outputOf(got.events, 'stderr')}`,
		) // told by another process
	} finally {
		await killRaw(free, opt)
	}
})

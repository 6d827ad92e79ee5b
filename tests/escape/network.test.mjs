// SPDX-License-Identifier: Apache-2.0
// A sandbox that may reach one name tries to reach another: nothing of it arrives, whatever it says on the way.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createRaw, endOf, envd, killRaw, outputOf, server, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { certificates, outside } from '../lib/outside.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const GOOD = 'good.example.com', EVIL = 'evil.example.org', CANARY = 'canary0123456789'
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-escape-net-'))
let out, own

before(async () => {
	out = await outside({ hosts: 3, tls: certificates(dir, [GOOD, EVIL]) })
	out.setDns({ [GOOD]: [out.at(2)], [EVIL]: [out.at(3)] })
	own = await newServer(server.buildDir, { dns_servers: out.at(4) }).start()
})
after(async () => {
	await own?.stop()
	out?.end()
	fs.rmSync(dir, { recursive: true, force: true })
})

test('no attempt reaches the host that is not allowed, by connection, packet or query', { timeout: 240000 }, async () => {
	const opt = { base: own.url, key: own.key }
	const sbx = await createRaw({ timeout: 300, network: { denyOut: ['0.0.0.0/0'], allowOut: [GOOD] } }, opt)
	try {
		const program = fs.readFileSync(path.join(HERE, 'network_attempts.py'))
		const put = await envd(sbx, 'POST', '/files?path=/tmp/attempts.py&username=user', program, { base: own.url, headers: { 'Content-Type': 'application/octet-stream' } })
		assert.equal(put.status, 200)
		const run = await stream(sbx, 'process.Process/Start', { process: { cmd: 'python3', args: ['/tmp/attempts.py', GOOD, EVIL, out.at(3), `10.${200 + own.slot}.0.1`] }, stdin: false },
			{ base: own.url, user: 'root' })
		await run.ended
		assert.equal(endOf(run.events)?.exitCode ?? 0, 0, outputOf(run.events, 'stderr'))
		assert.ok(Number(outputOf(run.events)) > 120, outputOf(run.events))
		assert.deepEqual(out.touches.filter((t) => t.includes(` ${out.at(3)} `)), [])
		assert.deepEqual(out.requests.filter((r) => r.address === out.at(3)), [])
		assert.deepEqual(out.queries.filter((q) => q.name.includes('evil') || q.name.includes(CANARY)), [])
		const hosts = out.requests.map((r) => String(r.headers.host).toLowerCase().replace(/:\d+$/, '').replace(/\.$/, ''))
		assert.deepEqual([...new Set(hosts)], [GOOD], 'and the host that is allowed was asked for nobody else')
	} finally {
		await killRaw(sbx, opt)
	}
})

// SPDX-License-Identifier: Apache-2.0
// What a client sees of a sandbox that goes away: broken streams, then 502 with the exact body.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, envd, killRaw, request, rpc, sdk, start, stream, withRaw, withSandbox } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'

function dead(res, id) {
	assert.equal(res.status, 502, res.text)
	assert.equal(res.headers['content-type'], 'application/json; charset=utf-8')
	assert.deepEqual(res.json, { sandboxId: id, message: 'The sandbox was not found', code: 502 })
}

test('kill breaks open streams without an end', async () => {
	const sbx = await createRaw({})
	const runs = await Promise.all([1, 2, 3].map(() => start(sbx, 'while :; do echo x; sleep 0.1; done')))
	assert.ok(await until(() => runs.every((r) => r.events.length > 1)), 'nothing comes')
	assert.equal((await killRaw(sbx)).status, 204)
	for (const run of runs) {
		const over = await run.ended
		assert.equal(over.how, 'cut')
		assert.equal(over.trailer, null)
	}
	dead(await envd(sbx, 'GET', '/health'), sbx.sandboxID)
})

test('kill breaks a download and an upload', async () => {
	const sbx = await createRaw({})
	const big = await start(sbx, 'head -c 80000000 /dev/zero > /tmp/big')
	assert.equal((await big.ended).how, 'end')
	const http = await import('node:http')
	const { server, routeHeaders } = await import('../../lib/client.mjs')
	const url = new URL(server.url)
	const cut = new Promise((done) => {
		const req = http.request({
			host: url.hostname,
			port: url.port,
			path: '/files?path=/tmp/big',
			agent: false,
			headers: routeHeaders(sbx),
		})
		req.once('error', () => done('cut'))
		req.once('response', (res) => {
			res.pause()
			res.once('close', () => done(res.complete ? 'clean' : 'cut'))
			res.once('error', () => done('cut'))
			killRaw(sbx).then(() => res.resume())
		})
		req.end()
	})
	assert.equal(await cut, 'cut')
	dead(await envd(sbx, 'GET', '/files?path=/tmp/big'), sbx.sandboxID)
})

test('the SDK says that the sandbox was killed', async () => {
	const { TimeoutError } = sdk()
	await withSandbox({}, async (sbx) => {
		const run = await sbx.commands.run('sleep 60', { background: true })
		await sbx.kill()
		const err = await run.wait().catch((e) => e)
		assert.ok(err instanceof TimeoutError)
		assert.match(err.message, /sandbox was killed or reached its end of life/)
	})
})

test('every port and path of a dead or unknown sandbox answers 502', async () => {
	const sbx = await createRaw({})
	await killRaw(sbx)
	for (const id of [sbx.sandboxID, 'i1234567890123456789']) {
		const ghost = { ...sbx, sandboxID: id }
		dead(await envd(ghost, 'GET', '/health'), id)
		dead(await envd(ghost, 'GET', '/files?path=/etc/passwd'), id)
		dead(await envd(ghost, 'GET', '/', undefined, { port: 8080 }), id)
		dead(await rpc(ghost, 'process.Process/List', {}), id)
		dead(await request('GET', '/health', { headers: { Host: `49983-${id}.localhost` } }), id)
	}
	const { Sandbox } = sdk()
	await assert.rejects(Sandbox.connect(sbx.sandboxID))
})

test('a client that goes away does not end the process', async () => {
	await withRaw({}, async (sbx) => {
		const run = await start(sbx, 'sleep 0.4; echo done > /tmp/done; sleep 30')
		assert.ok(await until(() => run.events.length > 0), 'it does not start')
		run.close()
		const got = await until(
			async () => (await envd(sbx, 'GET', '/files?path=/tmp/done')).text === 'done\n',
			5000,
		)
		assert.ok(got)
		const list = await rpc(sbx, 'process.Process/List', {})
		assert.equal(list.json.processes.length, 1)
	})
})

test('a slow reader slows only its own process', async () => {
	await withRaw({}, async (sbx) => {
		const http = await import('node:http')
		const { server, routeHeaders, envelope } = await import('../../lib/client.mjs')
		const url = new URL(server.url)
		const req = http.request({
			host: url.hostname,
			port: url.port,
			method: 'POST',
			path: '/process.Process/Start',
			agent: false,
			headers: { ...routeHeaders(sbx), 'Content-Type': 'application/connect+json' },
		})
		req.once('error', () => {})
		req.once('response', (res) => res.pause()) /* never read */
		req.end(envelope({ process: { cmd: '/usr/bin/yes' }, stdin: false }))
		const began = Date.now()
		for (let i = 0; i < 5; i++) {
			const run = await start(sbx, 'echo alive')
			assert.equal((await run.ended).how, 'end')
		}
		assert.ok(Date.now() - began < 30000)
		req.destroy()
	})
})

test('keepalive messages come when asked for', async () => {
	await withRaw({}, async (sbx) => {
		const run = await start(sbx, 'sleep 3', { headers: { 'Keepalive-Ping-Interval': '1' } })
		assert.equal((await run.ended).how, 'end')
		assert.ok(run.events.filter((e) => e.event.keepalive).length >= 2)
	})
})

test('errors before the first message are HTTP 200 and an end of stream', async () => {
	await withRaw({}, async (sbx) => {
		const run = await stream(sbx, 'process.Process/Connect', { process: { pid: 999999 } })
		assert.equal(run.status, 200)
		const over = await run.ended
		assert.equal(over.how, 'end')
		assert.equal(over.trailer.error.code, 'not_found')
		assert.match(over.trailer.error.message, /process with pid 999999 not found/)
	})
})

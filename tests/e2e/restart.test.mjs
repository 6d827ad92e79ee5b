// SPDX-License-Identifier: Apache-2.0
// Sandboxes outlive the daemons: SIGKILL of the front, SIGKILL of the warden, both under load.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import net from 'node:net'
import { api, createRaw, envd, killRaw, outputOf, rpc, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { alive, childrenOf, nameOf, sleep, until } from '../lib/host.mjs'

const buildDir = JSON.parse(process.env.ATOLL_TEST_SERVER).buildDir

function via(own) {
	const opt = { base: own.url, key: own.key }
	return {
		create: (body) => createRaw({ timeout: 600, ...body }, opt),
		kill: (sbx) => killRaw(sbx, opt),
		api: (method, path, body) => api(method, path, body, opt),
		rpc: (sbx, method, message) => rpc(sbx, method, message, { base: own.url }),
		envd: (sbx, method, path, body, more) => envd(sbx, method, path, body, { base: own.url, ...more }),
		start: (sbx, command) => startAt(own, sbx, command),
	}
}

function startAt(own, sbx, command) {
	return stream(sbx, 'process.Process/Start', { process: { cmd: '/bin/bash', args: ['-l', '-c', command] }, stdin: false }, { base: own.url })
}

const frontOf = (pid) => childrenOf(pid).find((child) => nameOf(child) === 'atoll-front')

// Connects ten times a second; a refused connection is what must never happen.
function prober(own) {
	const seen = { refused: 0, tries: 0 }
	const { port } = new URL(own.url)
	const timer = setInterval(() => {
		const sock = net.connect(Number(port), '127.0.0.1', () => sock.destroy())
		seen.tries++
		sock.once('error', (err) => {
			if (err.code === 'ECONNREFUSED')
				seen.refused++
		})
	}, 20)
	return { seen, stop: () => clearInterval(timer) }
}

test('SIGKILL of the front loses no sandbox, and the listener never refuses', async () => {
	const own = await newServer(buildDir).start()
	const at = via(own)
	try {
		const sbx = await at.create({ metadata: { kept: 'yes' }, envVars: { KEPT: 'env' } })
		const paused = await at.create()
		assert.equal((await at.api('POST', `/sandboxes/${paused.sandboxID}/pause`, {})).status, 204)
		const bg = await at.start(sbx, 'while :; do date +%s%N > /tmp/beat; sleep 0.05; done')
		await until(() => bg.events.length > 0)
		const { pid } = bg.events[0].event.start
		await at.envd(sbx, 'POST', '/files?path=/tmp/kept', 'kept', { headers: { 'Content-Type': 'application/octet-stream' } })
		const probe = prober(own)
		for (let round = 0; round < 3; round++) {
			const front = frontOf(own.pid)
			assert.ok(front, 'no front below the warden')
			process.kill(front, 'SIGKILL')
			assert.ok(await until(() => frontOf(own.pid) && frontOf(own.pid) !== front, 5000), 'no new front')
			const health = await until(async () => (await at.envd(sbx, 'GET', '/health').catch(() => ({}))).status === 204, 5000)
			assert.ok(health, 'the sandbox does not answer again')
		}
		probe.stop()
		assert.equal(probe.seen.refused, 0, `${probe.seen.refused} of ${probe.seen.tries} connections refused`)
		const info = await at.api('GET', `/sandboxes/${sbx.sandboxID}`)
		assert.equal(info.status, 200)
		assert.deepEqual(info.json.metadata, { kept: 'yes' })
		assert.equal(info.json.envdAccessToken, sbx.envdAccessToken)
		const list = await at.rpc(sbx, 'process.Process/List', {})
		assert.ok(list.json.processes.some((p) => p.pid === pid), 'the background process is gone')
		assert.equal((await at.envd(sbx, 'GET', '/files?path=/tmp/kept')).text, 'kept')
		const run = await at.start(sbx, 'echo $KEPT')
		await run.ended
		assert.equal(outputOf(run.events), 'env\n')
		assert.equal((await at.api('GET', `/sandboxes/${paused.sandboxID}`)).json.state, 'paused')
		assert.equal((await at.api('POST', `/sandboxes/${paused.sandboxID}/connect`, { timeout: 60 })).status, 201)
		assert.equal((await at.kill(sbx)).status, 204)
		assert.equal((await at.kill(paused)).status, 204)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('the front can be killed under load: every later request is served', async () => {
	const own = await newServer(buildDir).start()
	const at = via(own)
	try {
		const all = await Promise.all([1, 2, 3].map(() => at.create()))
		let stop = false
		let good = 0
		const load = all.map(async (sbx) => {
			while (!stop) {
				const run = await at.start(sbx, 'true').catch(() => null)
				if (run && (await run.ended).how === 'end')
					good++
			}
		})
		for (let i = 0; i < 3; i++) {
			await sleep(400)
			process.kill(frontOf(own.pid), 'SIGKILL')
			await sleep(600)
		}
		stop = true
		await Promise.all(load)
		assert.ok(good > 10, `only ${good} commands went through`)
		for (const sbx of all) {
			const run = await at.start(sbx, 'echo still')
			await run.ended
			assert.equal(outputOf(run.events), 'still\n')
			assert.equal((await at.kill(sbx)).status, 204)
		}
		assert.ok(alive(own.pid))
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('SIGKILL of the warden loses no sandbox: started again, it finds them', async () => {
	const own = await newServer(buildDir).start()
	let at = via(own)
	try {
		const sbx = await at.create({ metadata: { kept: 'yes' } })
		const paused = await at.create()
		const short = await at.create({ timeout: 3 })
		await at.api('POST', `/sandboxes/${paused.sandboxID}/pause`, {})
		const bg = await at.start(sbx, 'while :; do date +%s%N > /tmp/beat; sleep 0.05; done')
		await until(() => bg.events.length > 0)
		const { pid } = bg.events[0].event.start
		own.signal('SIGKILL')
		await own.exited
		await sleep(3500)	/* the short one expires while nobody watches */
		await own.start()
		at = via(own)
		const info = await at.api('GET', `/sandboxes/${sbx.sandboxID}`)
		assert.equal(info.status, 200, info.text)
		assert.deepEqual(info.json.metadata, { kept: 'yes' })
		assert.ok(await until(async () => (await at.envd(sbx, 'GET', '/health')).status === 204, 5000))
		const list = await at.rpc(sbx, 'process.Process/List', {})
		assert.ok(list.json.processes.some((p) => p.pid === pid), 'the background process is gone')
		const beat = (await at.envd(sbx, 'GET', '/files?path=/tmp/beat')).text
		await sleep(300)
		assert.notEqual((await at.envd(sbx, 'GET', '/files?path=/tmp/beat')).text, beat, 'it does not run on')
		assert.equal((await at.api('GET', `/sandboxes/${paused.sandboxID}`)).json.state, 'paused')
		assert.ok(await until(async () => (await at.api('GET', `/sandboxes/${short.sandboxID}`)).status === 404, 5000), 'the expired one lives on')
		const fresh = await at.create()
		const run = await at.start(fresh, 'echo new')
		await run.ended
		assert.equal(outputOf(run.events), 'new\n')
		for (const s of [sbx, paused, fresh])
			assert.equal((await at.kill(s)).status, 204)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('on_stop = keep: SIGTERM leaves the sandboxes, the next start finds them', async () => {
	const own = await newServer(buildDir, { on_stop: 'keep' }).start()
	let at = via(own)
	let sbx
	try {
		sbx = await at.create()
		const bg = await at.start(sbx, 'sleep 300')
		await until(() => bg.events.length > 0)
		own.signal('SIGTERM')
		assert.equal(await own.exited, 0)
		await own.start()
		at = via(own)
		const list = await at.rpc(sbx, 'process.Process/List', {})
		assert.equal(list.json.processes.length, 1)
		assert.equal((await at.kill(sbx)).status, 204)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

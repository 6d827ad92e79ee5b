// SPDX-License-Identifier: Apache-2.0
// list, info, kill, timeout, connect, pause, resume, expiry.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import {
	INFO_FIELDS,
	addressOf,
	api,
	createRaw,
	endOf,
	envd,
	killRaw,
	rpc,
	sdk,
	server,
	start,
	withRaw,
	withSandbox,
} from '../lib/client.mjs'
import { remains, sleep, traceOf, until } from '../lib/host.mjs'

const UNKNOWN = 'i0000000000000000000'
const call = (sbx, verb, body) => api('POST', `/sandboxes/${sbx.sandboxID}/${verb}`, body)
const info = async (sbx) => (await api('GET', `/sandboxes/${sbx.sandboxID}`)).json
const left = (got) => (Date.parse(got.endAt) - Date.now()) / 1000

function is404(res) {
	assert.equal(res.status, 404, res.text)
	assert.equal(res.json.code, 404)
	assert.equal(typeof res.json.message, 'string')
}

test('every call on an unknown id is 404 with code 404', async () => {
	const gone = await api('GET', `/sandboxes/${UNKNOWN}`)
	is404(gone)
	assert.equal(gone.json.message, `sandbox "${UNKNOWN}" doesn't exist or you don't have access to it`)
	is404(await api('DELETE', `/sandboxes/${UNKNOWN}`))
	is404(await api('POST', `/sandboxes/${UNKNOWN}/timeout`, { timeout: 10 }))
	is404(await api('POST', `/sandboxes/${UNKNOWN}/connect`, { timeout: 10 }))
	is404(await api('POST', `/v2/sandboxes/${UNKNOWN}/connect`, {}))
	is404(await api('POST', `/sandboxes/${UNKNOWN}/pause`, {}))
	is404(await api('POST', `/sandboxes/${UNKNOWN}/resume`, {}))
	const { Sandbox } = sdk()
	await assert.rejects(Sandbox.getInfo(UNKNOWN))
	assert.equal(await Sandbox.kill(UNKNOWN), false)
})

test('kill is 204 once, then 404; nothing of the sandbox is left', async () => {
	const sbx = await createRaw({})
	const trace = traceOf(server.slot, await addressOf(sbx))
	assert.ok(trace.pids.length > 0 && trace.cgroups.length > 0, JSON.stringify(trace))
	assert.equal((await killRaw(sbx)).status, 204)
	is404(await killRaw(sbx))
	is404(await api('GET', `/sandboxes/${sbx.sandboxID}`))
	const gone = await until(() => remains(trace).length === 0, 30000)
	assert.ok(gone, `left: ${remains(trace)}`)
})

test('ids with the client id appended are accepted, with two suffixes refused', async () => {
	await withRaw({}, async (sbx) => {
		assert.equal((await api('GET', `/sandboxes/${sbx.sandboxID}-${sbx.clientID}`)).status, 200)
		assert.equal((await api('GET', `/sandboxes/${sbx.sandboxID}-a-b`)).status, 400)
	})
})

test('list: both versions, newest first, all fields', async () => {
	const tag = `t${Date.now()}`
	const all = []
	for (let i = 0; i < 3; i++) all.push(await createRaw({ metadata: { tag, n: String(i) } }))
	try {
		const v1 = await api('GET', `/sandboxes?metadata=${encodeURIComponent(`tag=${tag}`)}`)
		const v2 = await api('GET', `/v2/sandboxes?metadata=${encodeURIComponent(`tag=${tag}`)}`)
		for (const res of [v1, v2]) {
			assert.equal(res.status, 200)
			assert.deepEqual(
				res.json.map((s) => s.sandboxID),
				all.map((s) => s.sandboxID).reverse(),
			)
			for (const row of res.json) {
				for (const key of [...INFO_FIELDS, 'metadata']) assert.ok(key in row, key)
				assert.equal(row.metadata.tag, tag)
			}
		}
		assert.equal(v2.headers['x-total-running'], '3')
		assert.equal(v2.headers['x-next-token'], undefined)
		const asc = await api('GET', `/v2/sandboxes?order=asc&metadata=${encodeURIComponent(`tag=${tag}`)}`)
		assert.deepEqual(
			asc.json.map((s) => s.sandboxID),
			all.map((s) => s.sandboxID),
		)
		const one = await api('GET', `/v2/sandboxes?metadata=${encodeURIComponent(`tag=${tag}&n=1`)}`)
		assert.deepEqual(
			one.json.map((s) => s.sandboxID),
			[all[1].sandboxID],
		)
	} finally {
		await Promise.all(all.map((s) => killRaw(s)))
	}
})

test('list: pages through the SDK, metadata with odd characters', async () => {
	const { Sandbox } = sdk()
	const metadata = { page: `p ${Date.now()} &=%/ä` }
	const all = await Promise.all([1, 2, 3].map(() => createRaw({ metadata })))
	try {
		const pages = Sandbox.list({ query: { metadata, state: ['running'] }, limit: 2 })
		const got = []
		while (pages.hasNext) got.push(...(await pages.nextItems()))
		assert.deepEqual(new Set(got.map((s) => s.sandboxId)), new Set(all.map((s) => s.sandboxID)))
		assert.equal(got.length, 3)
		assert.deepEqual(got[0].metadata, metadata)
		assert.deepEqual(await Sandbox.list({ query: { metadata: { page: 'other' } } }).nextItems(), [])
	} finally {
		await Promise.all(all.map((s) => killRaw(s)))
	}
})

test('list: bad queries are 400', async () => {
	for (const query of ['limit=0', 'limit=101', 'limit=x', 'state=dead', 'order=up', 'nextToken=zzz'])
		assert.equal((await api('GET', `/v2/sandboxes?${query}`)).status, 400, query)
})

test('timeout sets the end, shorter and longer', async () => {
	await withRaw({ timeout: 100 }, async (sbx) => {
		for (const timeout of [20, 200]) {
			assert.equal((await call(sbx, 'timeout', { timeout })).status, 204)
			assert.ok(Math.abs(left(await info(sbx)) - timeout) < 2)
		}
		for (const timeout of [-1, 'x', null]) {
			const res = await call(sbx, 'timeout', { timeout })
			assert.equal(res.status, 400, String(timeout))
			assert.match(res.json.message, /timeout/)
		}
	})
})

test('connect: 200 with the same token, only ever extends', async () => {
	await withRaw({ timeout: 100 }, async (sbx) => {
		const short = await call(sbx, 'connect', { timeout: 10 })
		assert.equal(short.status, 200, short.text)
		assert.equal(short.json.sandboxID, sbx.sandboxID)
		assert.equal(short.json.envdAccessToken, sbx.envdAccessToken)
		assert.ok(left(await info(sbx)) > 90)
		const long = await api('POST', `/v2/sandboxes/${sbx.sandboxID}/connect`, { timeout: 500 })
		assert.equal(long.status, 200)
		assert.ok(left(await info(sbx)) > 490)
	})
})

test('connect through the SDK sees the same files', async () => {
	const { Sandbox } = sdk()
	await withSandbox({}, async (sbx) => {
		await sbx.files.write('shared.txt', 'seen by both')
		const other = await Sandbox.connect(sbx.sandboxId)
		assert.equal(await other.files.read('shared.txt'), 'seen by both')
	})
})

test('pause freezes, connect thaws: processes and files survive', async () => {
	await withRaw({ timeout: 120, metadata: { paused: 'yes' } }, async (sbx) => {
		const ticks = await start(sbx, 'i=0; while :; do i=$((i+1)); echo $i > /tmp/ticks; sleep 0.05; done')
		assert.ok(await until(() => ticks.events.length > 0))
		const pid = ticks.events[0].event.start.pid
		const read = async () => Number((await envd(sbx, 'GET', '/files?path=/tmp/ticks')).text)
		assert.ok(await until(async () => (await read()) > 2))
		assert.equal((await call(sbx, 'pause', {})).status, 204)
		const again = await call(sbx, 'pause', {})
		assert.equal(again.status, 409)
		assert.equal(again.json.code, 409)
		assert.equal((await info(sbx)).state, 'paused')
		assert.equal((await envd(sbx, 'GET', '/health')).status, 502, 'a paused sandbox is not running')
		await sleep(700) // time passes while it is frozen
		const resumed = await call(sbx, 'connect', { timeout: 60 })
		assert.equal(resumed.status, 201, resumed.text)
		assert.equal(resumed.json.envdAccessToken, sbx.envdAccessToken)
		assert.equal((await info(sbx)).state, 'running')
		const list = await rpc(sbx, 'process.Process/List', {})
		assert.ok(list.json.processes.some((p) => p.pid === pid))
		const first = await read()
		assert.ok(await until(async () => (await read()) > first), 'it runs on')
		ticks.close()
	})
})

test('a sandbox that is busy with the disk is paused all the same', async () => {
	await withRaw({ timeout: 120 }, async (sbx) => {
		const busy = await start(
			sbx,
			'while :; do dd if=/dev/zero of=/tmp/x bs=1M count=100 conv=fsync 2>/dev/null; done',
		)
		assert.ok(await until(() => busy.events.length > 0))
		for (let i = 0; i < 10; i++) {
			const paused = await call(sbx, 'pause', {})
			assert.equal(paused.status, 204, paused.text)
			assert.equal((await call(sbx, 'connect', { timeout: 60 })).status, 201)
			await sleep(50) // the next pause meets it at another moment of its work
		}
		busy.close()
	})
})

test('resume: 201 when paused, 409 when running; a paused sandbox can be killed', async () => {
	const sbx = await createRaw({})
	const trace = traceOf(server.slot, await addressOf(sbx))
	assert.equal((await call(sbx, 'resume', { timeout: 60 })).status, 409)
	assert.equal((await call(sbx, 'pause')).status, 204)
	assert.equal((await call(sbx, 'resume', { timeout: 60 })).status, 201)
	assert.equal((await call(sbx, 'pause')).status, 204)
	assert.equal((await killRaw(sbx)).status, 204)
	is404(await api('GET', `/sandboxes/${sbx.sandboxID}`))
	assert.ok(await until(() => remains(trace).length === 0, 30000), 'frozen processes stay')
})

test('pauses and resumes at once join instead of failing', async () => {
	await withRaw({}, async (sbx) => {
		for (let round = 0; round < 3; round++) {
			const pauses = await Promise.all(Array.from({ length: 6 }, () => call(sbx, 'pause', {})))
			const ok = pauses.filter((r) => r.status === 204).length
			assert.ok(
				ok >= 1 && pauses.every((r) => r.status === 204 || r.status === 409),
				pauses.map((r) => r.status).join(),
			)
			assert.equal((await info(sbx)).state, 'paused')
			const resumes = await Promise.all(Array.from({ length: 6 }, () => call(sbx, 'resume', {})))
			assert.ok(
				resumes.some((r) => r.status === 201) &&
					resumes.every((r) => r.status === 201 || r.status === 409),
				resumes.map((r) => r.status).join(),
			)
			assert.equal((await info(sbx)).state, 'running')
		}
		/* one that is still being paused counts as paused: it can be resumed */
		const [pause, resume] = await Promise.all([
			call(sbx, 'pause', {}),
			sleep(1).then(() => call(sbx, 'resume', { timeout: 60 })),
		])
		assert.ok([204, 503].includes(pause.status), pause.text)
		assert.ok([201, 409].includes(resume.status), resume.text)
	})
})

test('a stranger who asks for the health of a sandbox does not wake it', async () => {
	await withRaw({ autoPause: true, autoResume: { enabled: true } }, async (sbx) => {
		assert.equal((await call(sbx, 'pause', {})).status, 204)
		for (const token of [undefined, 'wrong']) {
			const res = await envd({ ...sbx, envdAccessToken: token }, 'GET', '/health')
			assert.equal(res.status, 403, res.text)
			assert.equal((await info(sbx)).state, 'paused')
		}
		assert.equal((await envd(sbx, 'GET', '/health')).status, 204)
		assert.equal((await info(sbx)).state, 'running')
		assert.equal((await envd({ ...sbx, envdAccessToken: undefined }, 'GET', '/health')).status, 204)
	})
})

test('pause and resume through the SDK', async () => {
	const { Sandbox } = sdk()
	await withSandbox({}, async (sbx) => {
		await sbx.files.write('kept.txt', 'over the pause')
		await sbx.pause()
		assert.equal(await sbx.isRunning(), false)
		const paused = await Sandbox.list({ query: { state: ['paused'] } }).nextItems()
		assert.ok(paused.some((s) => s.sandboxId === sbx.sandboxId))
		const back = await Sandbox.connect(sbx.sandboxId)
		assert.equal(await back.isRunning(), true)
		assert.equal(await back.files.read('kept.txt'), 'over the pause')
	})
})

test('expiry really ends the sandbox', async () => {
	const sbx = await createRaw({ timeout: 5 })
	const run = await start(sbx, 'sleep 60')
	assert.ok(await until(() => run.events.length > 0))
	const trace = traceOf(server.slot, await addressOf(sbx))
	assert.ok(trace.pids.length > 0 && trace.cgroups.length > 0, JSON.stringify(trace))
	const began = Date.now()
	const over = await run.ended
	assert.ok(Date.now() - began < 30000)
	assert.equal(over.how, 'cut')
	is404(await api('GET', `/sandboxes/${sbx.sandboxID}`))
	assert.equal((await envd(sbx, 'GET', '/health')).status, 502)
	const listed = await api('GET', '/v2/sandboxes')
	assert.ok(!listed.json.some((s) => s.sandboxID === sbx.sandboxID))
	assert.ok(await until(() => remains(trace).length === 0, 30000), `left: ${remains(trace)}`)
	assert.equal(endOf(run.events), undefined)
})

test('timeout 0 expires now', async () => {
	const sbx = await createRaw({})
	assert.equal((await call(sbx, 'timeout', { timeout: 0 })).status, 204)
	assert.ok(await until(async () => (await api('GET', `/sandboxes/${sbx.sandboxID}`)).status === 404, 20000))
})

test('health of the API needs no key', async () => {
	const res = await api('GET', '/health', undefined, { key: null })
	assert.equal(res.status, 204)
})

test('refreshes extend only', async () => {
	await withRaw({ timeout: 100 }, async (sbx) => {
		assert.equal((await call(sbx, 'refreshes', { duration: 20 })).status, 204)
		assert.ok(left(await info(sbx)) > 90)
		assert.equal((await call(sbx, 'refreshes', { duration: 300 })).status, 204)
		assert.ok(left(await info(sbx)) > 290)
	})
})

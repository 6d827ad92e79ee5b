// SPDX-License-Identifier: Apache-2.0
// What an operator sees: one id through all logs, counters that add up, logs and numbers of each sandbox.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { api, createRaw, envd, killRaw, outputOf, request, rpc, server, start } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { runCode } from '../lib/interp.mjs'

let sbx

before(async () => {
	sbx = await createRaw({ timeout: 600 })
})
after(() => killRaw(sbx))

// without a line that is just being written
const logText = () => fs.readFileSync(server.log, 'utf8').replace(/[^\n]*$/, '')
const logLines = () =>
	logText()
		.split('\n')
		.filter((l) => l.startsWith('{'))
		.map((l) => JSON.parse(l))
const linesOf = (id) => logLines().filter((l) => (l.kv ?? '').split(' ').includes(`request=${id}`))

// Prometheus text as { name: [{ labels, value }] }; throws on a line that is not well-formed.
function parse(text) {
	const all = {}
	for (const line of text.split('\n').filter(Boolean)) {
		if (line.startsWith('#')) {
			assert.match(line, /^# (HELP|TYPE) atoll_\w+ \S/)
			continue
		}
		const m = /^(atoll_\w+)(?:\{(.*)\})? (\S+)$/.exec(line)
		assert.ok(m, line)
		const labels = Object.fromEntries(
			[...(m[2] ?? '').matchAll(/(\w+)="([^"]*)"/g)].map((p) => [p[1], p[2]]),
		)
		assert.ok(Number.isFinite(Number(m[3])), line)
		;(all[m[1]] ??= []).push({ labels, value: Number(m[3]) })
	}
	return all
}

const metrics = async () => parse((await api('GET', '/metrics')).text)
const value = (all, name, want = {}) =>
	(all[name] ?? [])
		.filter((s) => Object.entries(want).every(([k, v]) => s.labels[k] === v))
		.reduce((sum, s) => sum + s.value, 0)

test('an id of the client goes through front and warden and comes back', async () => {
	const id = `trace-${process.pid}_A`
	const made = await createRaw({ timeout: 60 }, { headers: { 'X-Request-Id': id } })
	const gone = await api('DELETE', `/sandboxes/${made.sandboxID}`, undefined, {
		headers: { 'X-Request-Id': `${id}2` },
	})
	assert.equal(gone.headers['x-request-id'], `${id}2`)
	const programs = (of) => [...new Set(linesOf(of).map((l) => l.program))].sort()
	await until(() => [id, `${id}2`].every((of) => programs(of).length >= 2)) // the log is behind the answers
	for (const of of [id, `${id}2`]) assert.deepEqual(programs(of), ['atoll-front', 'atolld'], of)
	const some = (is) => until(() => linesOf(id).some(is))
	assert.ok(
		await some(
			(l) =>
				l.event === 'request' &&
				/method=POST route=\/v2\/sandboxes status=201 ms=[\d.]+ team=[0-9a-f-]{36}/.test(l.kv),
		),
	)
	assert.ok(await some((l) => l.event === 'sandbox started' && l.program === 'atolld'))
})

test('ids that are not harmless are replaced', async () => {
	for (const bad of ['', 'a b', 'x'.repeat(65), 'a"b', 'ä', '../x', 'a;b']) {
		const res = await api('GET', '/sandboxes', undefined, {
			headers: { 'X-Request-Id': Buffer.from(bad).toString('latin1') },
		})
		assert.match(res.headers['x-request-id'], /^[0-9a-f]{16}$/)
	}
	const res = await api('GET', '/sandboxes', undefined, { headers: { 'X-Request-Id': 'x'.repeat(64) } })
	assert.equal(res.headers['x-request-id'], 'x'.repeat(64))
})

test('the id reaches init, which notes it with the process', async () => {
	const run = await start(sbx, 'exit 3', { headers: { 'X-Request-Id': 'into-the-box' } })
	await run.ended
	const res = await api('GET', `/v2/sandboxes/${sbx.sandboxID}/logs?direction=forward`)
	const mine = res.json.logs.filter((l) => l.fields.request === 'into-the-box')
	assert.deepEqual(mine.map((l) => l.fields.type).sort(), ['process', 'request'])
	const started = mine.find((l) => l.fields.type === 'process')
	assert.equal(started.message, 'process started')
	assert.equal(started.fields.program, '/bin/bash')
	const ended = res.json.logs.find((l) => l.message === 'process ended' && l.fields.pid === started.fields.pid)
	assert.equal(ended.fields.exit_code, '3')
	assert.ok(!res.text.includes('exit 3'), 'arguments are not written down')
})

test('every line of the log is JSON, without queries and without keys', async () => {
	const id = `queries-${process.pid}`
	await envd(sbx, 'GET', '/files?path=/tmp/value-of-a-query')
	await api('GET', '/v2/sandboxes?metadata=secret%3Dvalue-of-a-query', undefined, {
		headers: { 'X-Request-Id': id },
	})
	assert.ok(await until(() => linesOf(id).length > 0), 'the request is in the log')
	const text = logText()
	for (const line of text.split('\n').filter((l) => l && !l.startsWith('atoll'))) {
		const j = JSON.parse(line)
		assert.ok(j.time && j.level && j.program && j.event)
	}
	assert.ok(!text.includes('value-of-a-query'))
	assert.ok(!text.includes(server.key))
	assert.ok(!text.includes(sbx.envdAccessToken))
})

test('counters by route, outcome and class move with the requests', async () => {
	const before = await metrics()
	await api('GET', '/sandboxes')
	await api('GET', '/sandboxes')
	await api('GET', '/sandboxes/i0000000000000000000')
	await api('POST', '/sandboxes', { templateID: 1 })
	await api('GET', '/none')
	const now = await metrics()
	const grown = (name, want) => value(now, name, want) - value(before, name, want)
	assert.equal(grown('atoll_requests_total', { route: '/sandboxes', method: 'GET', outcome: 'ok' }), 2)
	assert.equal(
		grown('atoll_requests_total', { route: '/sandboxes/{id}', method: 'GET', outcome: 'client_error' }),
		1,
	)
	assert.equal(grown('atoll_requests_total', { route: 'none', outcome: 'client_error' }), 1)
	assert.equal(grown('atoll_request_errors_total', { class: 'not_found' }), 2)
	assert.equal(grown('atoll_request_errors_total', { class: 'bad_request' }), 1)
	assert.equal(grown('atoll_request_seconds_count', { route: '/sandboxes', method: 'GET' }), 2)
})

test('histograms are cumulative and agree with their count', async () => {
	const all = await metrics()
	for (const [name, samples] of Object.entries(all).filter(([n]) => n.endsWith('_bucket'))) {
		const series = {}
		for (const s of samples) {
			const { le, ...rest } = s.labels
			;(series[JSON.stringify(rest)] ??= []).push([le === '+Inf' ? Infinity : Number(le), s.value])
		}
		for (const [labels, points] of Object.entries(series)) {
			points.forEach(([le, v], i) =>
				assert.ok(
					i === 0 || (le > points[i - 1][0] && v >= points[i - 1][1]),
					`${name} ${labels}`,
				),
			)
			assert.equal(points.at(-1)[1], value(all, name.replace(/bucket$/, 'count'), JSON.parse(labels)))
		}
	}
})

test('lives of sandboxes are counted: starts, ends by reason, the time to create', async () => {
	const before = await metrics()
	const one = await createRaw({ timeout: 60 })
	await createRaw({ timeout: 1 })
	await killRaw(one)
	assert.ok(
		await until(
			async () =>
				value(await metrics(), 'atoll_sandbox_ends_total', { reason: 'expired' }) >
				value(before, 'atoll_sandbox_ends_total', { reason: 'expired' }),
			15000,
		),
		'it does not expire',
	)
	const now = await metrics()
	const grown = (name, want) => value(now, name, want) - value(before, name, want)
	assert.equal(grown('atoll_sandbox_starts_total', { outcome: 'ok' }), 2)
	assert.equal(grown('atoll_sandbox_ends_total', { reason: 'killed' }), 1)
	assert.equal(grown('atoll_sandbox_ends_total', { reason: 'expired' }), 1)
	assert.equal(grown('atoll_sandbox_create_seconds_count'), 2)
	assert.equal(grown('atoll_warden_seconds_count', { op: 'start' }), 2)
	assert.ok(value(now, 'atoll_sandboxes', { state: 'running' }) >= 1)
})

test('bytes into and out of sandboxes are counted', async () => {
	const before = await metrics()
	const bytes = Buffer.alloc(300000, 'x')
	await envd(sbx, 'POST', '/files?path=/tmp/counted', bytes, {
		headers: { 'Content-Type': 'application/octet-stream' },
	})
	assert.equal((await envd(sbx, 'GET', '/files?path=/tmp/counted')).body.length, bytes.length)
	const now = await metrics()
	for (const direction of ['up', 'down'])
		assert.ok(
			value(now, 'atoll_proxy_bytes_total', { direction }) -
				value(before, 'atoll_proxy_bytes_total', { direction }) >=
				bytes.length,
		)
	assert.ok(value(now, 'atoll_proxy_requests_total', { port: 'envd', outcome: 'ok' }) >= 2)
})

test('C6: the first metrics of a sandbox have a disk in use', async () => {
	const one = await createRaw({ timeout: 60, metadata: { fresh: 'yes' } })
	const first = await until(async () => (await api('GET', `/sandboxes/${one.sandboxID}/metrics`)).json[0], 30000)
	await killRaw(one)
	assert.ok(first?.diskUsed > 0, JSON.stringify(first))
})

test('each sandbox has its numbers, and they move under load', async () => {
	const run = await start(sbx, 'while :; do :; done')
	const points = () => api('GET', `/sandboxes/${sbx.sandboxID}/metrics`)
	assert.ok(
		await until(async () => (await points()).json.some((p) => p.cpuUsedPct > 2), 60000, 500),
		'the load is not seen',
	) // its share may be small for a while
	const [p] = (await points()).json
	for (const field of [
		'timestamp',
		'timestampUnix',
		'cpuCount',
		'cpuUsedPct',
		'memUsed',
		'memTotal',
		'memCache',
		'diskUsed',
		'diskTotal',
		'processCount',
	])
		assert.ok(field in p, field)
	const many = await api('GET', `/sandboxes/metrics?sandbox_ids=${sbx.sandboxID},i0000000000000000000`)
	assert.deepEqual(Object.keys(many.json.sandboxes), [sbx.sandboxID])
	const all = await metrics()
	for (const name of ['cpu_percent', 'memory_bytes', 'memory_limit_bytes', 'disk_bytes', 'disk_limit_bytes'])
		assert.equal(
			all[`atoll_sandbox_${name}`].filter((s) => s.labels.sandbox === sbx.sandboxID).length,
			1,
			name,
		)
	assert.ok(value(all, 'atoll_sandbox_memory_bytes', { sandbox: sbx.sandboxID }) > 0)
	const now = Math.floor(Date.now() / 1000)
	assert.deepEqual((await api('GET', `/sandboxes/${sbx.sandboxID}/metrics?start=1&end=2`)).json, [])
	assert.ok(
		(await api('GET', `/sandboxes/${sbx.sandboxID}/metrics?start=${now - 60}&end=${now + 1}`)).json.length >
			0,
	)
	assert.equal(
		(
			await rpc(sbx, 'process.Process/SendSignal', {
				process: { pid: run.events[0].event.start.pid },
				signal: 'SIGNAL_SIGKILL',
			})
		).status,
		200,
	)
	assert.equal((await run.ended).how, 'end')
})

test('code and commands are counted by outcome and class of error, with their time', async () => {
	const before = await metrics()
	const moved = async (name, want) => value(await metrics(), name, want) - value(before, name, want)
	for (const [code, error] of [
		['1+1', undefined],
		['1/0', 'ZeroDivisionError'],
		['import nowhere_to_be_found', 'ModuleNotFoundError'],
		['class Odd(Exception): pass\nraise Odd("x")', 'Odd'],
		['def (', 'SyntaxError'],
	])
		assert.equal((await runCode(sbx, code)).error?.name, error)
	for (const command of ['true', 'exit 3', 'kill -9 $$']) await (await start(sbx, command)).ended
	assert.ok(await until(async () => (await moved('atoll_executions_total', { kind: 'command' })) === 3, 5000, 50))
	assert.deepEqual(
		await Promise.all(
			[
				{ kind: 'code', outcome: 'ok' },
				{ kind: 'code', outcome: 'error' },
				{ kind: 'command', outcome: 'ok' },
				{ kind: 'command', outcome: 'error' },
			].map((want) => moved('atoll_executions_total', want)),
		),
		[1, 4, 1, 2],
	)
	assert.deepEqual(
		await Promise.all(
			['value', 'import', 'syntax', 'other', 'exit_status', 'signal', 'type'].map((name) =>
				moved('atoll_execution_errors_total', { class: name }),
			),
		),
		[1, 1, 1, 1, 1, 1, 0],
	)
	assert.equal(await moved('atoll_execution_seconds_count', { kind: 'code' }), 5)
	assert.ok((await moved('atoll_execution_seconds_sum', { kind: 'code' })) > 0)
	const all = await metrics()
	assert.ok(
		value(all, 'atoll_sandboxes_max') >= value(all, 'atoll_sandboxes', { state: 'running' }) &&
			value(all, 'atoll_host_memory_bytes') > value(all, 'atoll_sandboxes_memory_bytes'),
	)
	assert.ok(!(await api('GET', '/metrics')).text.includes('Odd'), 'what code calls its errors is no label')
})

test('the numbers of a sandbox are within a tenth of a known load', async () => {
	const one = await createRaw({ timeout: 120 })
	try {
		const points = async () => (await api('GET', `/sandboxes/${one.sandboxID}/metrics`)).json
		assert.ok(await until(async () => (await points()).length >= 2, 20000, 300))
		const idle = (await points()).at(-1)
		const got = await start(
			one,
			`python3 -c "
import time
x = bytearray(150 << 20)
for i in range(0, len(x), 4096): x[i] = 1
while time.process_time() < 4: pass
print(time.process_time(), flush=True)
time.sleep(1000)"`,
		)
		assert.ok(await until(() => outputOf(got.events), 60000), 'it does not compute')
		const done = Date.now()
		assert.ok(
			await until(async () => Date.parse((await points()).at(-1).timestamp) > done, 20000, 300),
			'no sample of all of it',
		)
		const all = await points(),
			from = all.findIndex((p) => p.timestamp === idle.timestamp)
		const cpu = all
			.slice(from + 1)
			.reduce(
				(sum, p, i) =>
					sum +
					((p.cpuUsedPct / 100) *
						p.cpuCount *
						(new Date(p.timestamp) - new Date(all[from + i].timestamp))) /
						1000,
				0,
			)
		const mem = Math.max(...all.slice(from).map((p) => p.memUsed)) - idle.memUsed
		// and a little for the start of the interpreter
		assert.ok(cpu > 3.6 && cpu < 4.4 + 0.4, `${cpu} s of processor time, not 4`)
		assert.ok(
			mem > 0.9 * (150 << 20) && mem < 1.1 * (160 << 20),
			`${mem >> 20} MiB, not 150 and an interpreter`,
		)
	} finally {
		await killRaw(one)
	}
})

test('the log of a sandbox: both shapes, lifecycle, requests, refusals', async () => {
	const one = await createRaw({ timeout: 60 })
	await envd(one, 'GET', '/files?path=/none')
	await request('POST', '/process.Process/List', {
		body: {},
		headers: { 'E2b-Sandbox-Id': one.sandboxID, 'E2b-Sandbox-Port': '49983', 'X-Access-Token': 'wrong' },
	})
	await api('POST', `/sandboxes/${one.sandboxID}/timeout`, { timeout: 90 })
	const v1 = await api('GET', `/sandboxes/${one.sandboxID}/logs`)
	assert.equal(v1.json.logs.length, v1.json.logEntries.length)
	for (const { timestamp, line } of v1.json.logs) {
		assert.ok(Date.parse(timestamp))
		assert.ok(JSON.parse(line).level.toUpperCase())
		assert.equal(JSON.parse(line).logger, 'atoll')
	}
	const types = v1.json.logEntries.map((l) => [l.fields.type, l.message])
	assert.deepEqual(types[0], ['lifecycle', 'sandbox created'])
	assert.ok(types.some(([t, m]) => t === 'request' && m === 'GET /files'))
	assert.ok(types.some(([t]) => t === 'security'))
	assert.ok(types.some(([, m]) => m === 'timeout set'))
	const warn = await api('GET', `/v2/sandboxes/${one.sandboxID}/logs?level=warn`)
	assert.ok(warn.json.logs.length >= 2 && warn.json.logs.every((l) => l.level === 'warn' || l.level === 'error'))
	const one_ = await api('GET', `/v2/sandboxes/${one.sandboxID}/logs?limit=1`)
	assert.equal(one_.json.logs.length, 1)
	assert.equal(one_.json.logs[0].message, 'timeout set')
	await killRaw(one)
	const later = await api('GET', `/v2/sandboxes/${one.sandboxID}/logs`)
	assert.equal(later.status, 200)
	assert.equal(later.json.logs[0].message, 'sandbox killed')
	assert.equal((await api('GET', '/sandboxes/i0000000000000000000/logs')).status, 404)
})

test('following a log finds what is new, once', async () => {
	const logs = `/v2/sandboxes/${sbx.sandboxID}/logs?direction=forward`
	const all = (await api('GET', logs)).json.logs
	const cursor = Date.parse(all.at(-1).timestamp) + 1
	assert.ok(await until(() => Date.now() > cursor, 1000, 1))
	await envd(sbx, 'GET', '/files?path=/etc/hostname')
	const fresh = (await api('GET', `${logs}&cursor=${cursor}`)).json.logs
	assert.deepEqual(
		fresh.map((l) => l.message),
		['GET /files'],
	)
})

test('a hidden path of init stays hidden', async () => {
	for (const route of ['/atoll/events', '/atoll/%65vents', '//atoll/events', '/x/../atoll/events']) {
		const res = await envd(sbx, 'GET', route)
		assert.equal(res.status, 404, route)
		assert.ok(!res.text.includes('process started'), route)
	}
})

test('last activity moves with use, not with a look', async () => {
	const one = await createRaw({ timeout: 60 })
	const at = async () => Date.parse((await api('GET', `/sandboxes/${one.sandboxID}`)).json.lastActivityAt)
	const first = await at()
	assert.ok(await until(() => Date.now() > first + 50)) // a change would show
	await envd(one, 'GET', '/health')
	assert.equal(await at(), first)
	const run = await start(one, 'sleep 1')
	assert.ok(await until(async () => (await at()) > first + 200, 900, 20), 'what runs is use')
	const during = await at()
	await run.ended
	assert.ok(await until(async () => Date.now() - (await at()) >= 50, 5000, 20), 'use goes on after the end')
	const end = await at()
	assert.ok(end >= during)
	const listed = (await api('GET', '/v2/sandboxes')).json.find((s) => s.sandboxID === one.sandboxID)
	assert.equal(Date.parse(listed.lastActivityAt), end)
	await killRaw(one)
})

test('the log level changes at run time, in front and warden', async () => {
	const levels = (since) =>
		logLines()
			.slice(since)
			.filter((l) => l.level === 'debug')
			.map((l) => l.program)
	assert.deepEqual((await api('GET', '/admin/log-level')).json, { level: 'info' })
	assert.deepEqual((await api('PUT', '/admin/log-level', { level: 'debug' })).json, { level: 'debug' })
	const since = logLines().length
	await request('GET', '/health')
	await killRaw(await createRaw({ timeout: 60 }))
	assert.ok(await until(() => ['atoll-front', 'atolld'].every((p) => levels(since).includes(p)), 5000))
	assert.deepEqual((await api('PUT', '/admin/log-level', { level: 'info' })).json, { level: 'info' })
})

test('this server as a node', async () => {
	const [node] = (await api('GET', '/nodes')).json
	assert.equal(node.status, 'ready')
	assert.ok(node.sandboxCount >= 1)
	assert.ok(node.metrics.cpuCount >= 1 && node.metrics.memoryTotalBytes > 1e8)
})

test('a team sees how many sandboxes it had and started', async () => {
	const team = (await api('POST', '/admin/teams', { name: `counted-${process.pid}` })).json
	const { key } = (await api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' })).json
	const get = (path, opt) => api('GET', `/teams/${team.teamID}/metrics${path}`, undefined, { key, ...opt })
	try {
		assert.deepEqual((await get('')).json, [])
		assert.equal((await get('/max?metric=concurrent_sandboxes')).json.value, 0)
		const all = await Promise.all([1, 2, 3].map(() => createRaw({}, { key })))
		await killRaw(all[0], { key })
		await api('POST', `/sandboxes/${all[1].sandboxID}/pause`, {}, { key })
		const points = (await get(`?start=${Math.floor(Date.now() / 1000) - 600}`)).json
		assert.ok(points.length >= 1 && points.length <= 2, JSON.stringify(points))
		for (const p of points) {
			assert.equal(Date.parse(p.timestamp), p.timestampUnix * 1000)
			assert.ok(Math.abs(p.timestampUnix - Date.now() / 1000) < 120)
		}
		assert.ok(Math.max(...points.map((p) => p.concurrentSandboxes)) <= 3)
		assert.equal((await get('/max?metric=concurrent_sandboxes')).json.value, 3)
		const rate = (await get('/max?metric=sandbox_start_rate')).json
		assert.ok(rate.value > 0 && rate.value <= 3 / 60 + 1e-9, `${rate.value} a second`)
		assert.deepEqual((await get('?start=1&end=2')).json, [])
		assert.equal((await get('?start=2&end=1')).status, 400)
		assert.equal((await get('?start=yesterday')).status, 400)
		assert.match((await get('/max')).json.message, /'metric'/)
		assert.equal((await get('/max?metric=colour')).status, 400)
		assert.equal((await get('', { key: server.key })).status, 403)
		assert.equal((await get('', { key: 'e2b_00' })).status, 401)
	} finally {
		await api('POST', `/admin/teams/${team.teamID}/sandboxes/kill`)
		await api('DELETE', `/admin/teams/${team.teamID}`)
	}
})

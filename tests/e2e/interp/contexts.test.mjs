// SPDX-License-Identifier: Apache-2.0
// Contexts and the stream of an execution: order, joining of output, keepalives, interrupts, limits.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, envd, killRaw, outputOf, start } from '../../lib/client.mjs'
import { interp, runCode, startCode } from '../../lib/interp.mjs'
import { until } from '../../lib/host.mjs'

let sbx
const py = (code, opt) => runCode(sbx, code, opt)
const create = async (body = {}) => (await interp(sbx, 'POST', '/contexts', body)).json

before(async () => {
	sbx = await createRaw({ templateID: 'base', timeout: 900 })
})
after(() => killRaw(sbx))

test('health, also for programs inside', async () => {
	const res = await interp(sbx, 'GET', '/health')
	assert.equal(res.status, 200)
	assert.equal(res.text, '"OK"')
	const run = await start(
		sbx,
		'curl -s http://0.0.0.0:49999/health; curl -s -o /dev/null -w "%{http_code}" ' +
			'http://0.0.0.0:49999/contexts',
	)
	await run.ended
	assert.equal(outputOf(run.events), '"OK"404')
})

test('the list has Python and JavaScript from the start, a new one last', async () => {
	const list = async () => (await interp(sbx, 'GET', '/contexts')).json
	assert.deepEqual(
		(await list()).map((c) => [c.language, c.cwd]),
		[
			['python', '/home/user'],
			['javascript', '/home/user'],
		],
	)
	const made = await create({ language: 'TS', cwd: '/root' })
	assert.match(made.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
	assert.deepEqual((await list()).at(-1), { id: made.id, language: 'typescript', cwd: '/root' })
	assert.equal((await runCode(sbx, 'process.cwd()', { context_id: made.id })).text, '/root')
	assert.equal((await interp(sbx, 'DELETE', `/contexts/${made.id}`)).text, 'null')
	assert.ok(!(await list()).some((c) => c.id === made.id))
	const gone = await runCode(sbx, '1', { context_id: made.id })
	assert.equal(gone.status, 404)
	assert.equal(gone.body, `Context ${made.id} not found`)
})

test('two contexts do not see each other; a restart forgets, and keeps the id', async () => {
	const a = await create(),
		b = await create()
	await py('x = 1', { context_id: a.id })
	assert.equal((await py('x', { context_id: b.id })).error.name, 'NameError')
	assert.equal((await interp(sbx, 'POST', `/contexts/${a.id}/restart`)).text, 'null')
	const after = await py('x', { context_id: a.id })
	assert.equal(after.error.name, 'NameError')
	assert.equal(after.count, 1)
	const busy = await startCode(sbx, 'import time; print("begun"); time.sleep(60)', { context_id: a.id })
	assert.ok(await until(() => busy.events.some((e) => e.type === 'stdout'), 30000), 'it does not begin')
	const queued = await startCode(sbx, '1', { context_id: a.id })
	await interp(sbx, 'POST', `/contexts/${a.id}/restart`)
	assert.equal(await busy.ended, true)
	assert.equal(busy.events.find((e) => e.type === 'error').name, 'ContextRestarting')
	assert.equal(await queued.ended, true)
	assert.equal(queued.events.at(-1)?.type, 'end_of_execution')
	for (const c of [a, b]) await interp(sbx, 'DELETE', `/contexts/${c.id}`)
})

test('bad requests are refused with a reason, and the interpreter goes on', async () => {
	const post = (body) => interp(sbx, 'POST', '/execute', body)
	assert.equal((await post('{')).status, 400)
	assert.match((await post({})).text, /'code'/)
	assert.match((await post({ code: 5 })).text, /'code'/)
	assert.match((await post({ code: '1', env_vars: { A: 1 } })).text, /env_vars/)
	assert.equal((await post({ code: '1', language: 'python', context_id: 'x' })).status, 400)
	assert.equal((await post({ code: '1', language: null, context_id: null, env_vars: null })).status, 200)
	for (const [cwd, why] of [
		['/nowhere', /'\/nowhere': no such/i],
		['relative', /'relative' is not an absolute path/],
		['/etc/passwd', /not a directory/],
	]) {
		const res = await interp(sbx, 'POST', '/contexts', {
			cwd,
		}) /* F6: what the client got wrong is not an error of the server */
		assert.equal(res.status, 400, res.text)
		assert.match(res.text, why)
	}
	assert.equal(
		(await interp(sbx, 'POST', '/contexts', { language: 'cobol' })).text,
		'Unsupported language: cobol',
	)
	assert.equal((await interp(sbx, 'POST', '/contexts/none/restart')).status, 404)
	assert.equal((await interp(sbx, 'PUT', '/contexts')).status, 405)
	assert.equal((await interp(sbx, 'GET', '/elsewhere')).status, 404)
	assert.equal((await py('1')).text, '1')
})

test('executions of one context wait for each other; contexts run at once', async () => {
	const code = 'import time; began = time.time(); time.sleep(1); [began, time.time()]'
	const c = await create()
	await py('1', { context_id: c.id })
	const [one, two, other] = (await Promise.all([py(code), py(code), py(code, { context_id: c.id })])).map((r) =>
		JSON.parse(r.text),
	)
	const overlap = (a, b) => a[0] < b[1] && b[0] < a[1]
	assert.ok(!overlap(one, two), `${one} and ${two}`)
	assert.ok(overlap(other, one) || overlap(other, two), `${other} beside ${one} and ${two}`)
	await interp(sbx, 'DELETE', `/contexts/${c.id}`)
})

test('output is joined while it comes fast, and comes while the code runs', async () => {
	const fast = await py('for i in range(50): print(i)')
	assert.equal(fast.stdout.join(''), Array.from({ length: 50 }, (_, i) => `${i}\n`).join(''))
	// for so long it is joined
	assert.ok(fast.stdout.length <= 1 + Math.floor(fast.ms / 200), `${fast.stdout.length} pieces in ${fast.ms} ms`)
	const slow = await startCode(
		sbx,
		'import os, time\nfor i in range(3):\n    print(i)\n    while not os.path.exists(f"/tmp/go{i}"): ' +
			'time.sleep(0.05)',
	)
	const outs = () => slow.events.filter((e) => e.type === 'stdout')
	for (let i = 0; i < 3; i++) {
		assert.ok(await until(() => outs().length > i, 30000), 'it comes while the code runs')
		assert.equal(
			(
				await envd(sbx, 'POST', `/files?path=/tmp/go${i}`, 'x', {
					headers: { 'Content-Type': 'application/octet-stream' },
				})
			).status,
			200,
		)
	}
	assert.equal(await slow.ended, true)
	assert.deepEqual(
		outs().map((e) => e.text),
		['0\n', '1\n', '2\n'],
	)
	assert.ok(outs().every((e) => !Number.isNaN(Date.parse(e.timestamp))))
	const split = await py('import time\nprint("a", end="")\ntime.sleep(1)\nprint("b")')
	assert.equal(split.stdout.join(''), 'ab\n')
	assert.deepEqual(
		(await py('print("x" * 3_000_000)')).stdout.map((t) => t.length),
		[3000001],
	)
})

test('the stream is ASCII whatever the code prints', async () => {
	const got = await py(
		'import os\nprint("é漢😀\\0")\nos.write(1, b"\\xff\\n")\nos.write(1, "é".encode()[:1]); os.write(1, ' +
			'"é".encode()[1:])\n"ü"',
	)
	assert.doesNotMatch(got.events.map((e) => e.type).join(), /error/)
	assert.equal(got.stdout.join(''), 'é漢😀\0\n\ufffd\né')
	assert.equal(got.text, 'ü')
	assert.deepEqual((await py('os.write(1, "é".encode()[:1]);')).stdout, ['\ufffd'])
	const raw = (await interp(sbx, 'POST', '/execute', { code: 'print("é漢😀")' })).body
	assert.ok(raw.every((byte) => byte < 128))
	assert.ok(raw.toString().endsWith('\n') && !raw.toString().includes('\n\n'))
})

test('silence is filled with a keepalive every five seconds', async () => {
	const got = await py('import time; time.sleep(11)')
	const alive = got.events.filter((e) => e.type === 'keepalive').map((e) => e.at)
	assert.equal(alive.length, 2, `${alive}`)
	assert.ok(alive[0] > 4500 && alive[1] - alive[0] > 4000, `${alive}`)
})

test("a client that goes away interrupts its code and nobody else's", async () => {
	await py('import time; kept = 1')
	const run = await startCode(sbx, 'while True: time.sleep(0.1)')
	const waiting = await startCode(sbx, 'kept = 2') // goes away before its turn: never runs
	waiting.close()
	for (let i = 0; i < 2; i++)
		// what is asked after its end is answered after the end is noticed
		assert.equal((await interp(sbx, 'GET', '/contexts')).status, 200)
	run.close()
	const next = await py('kept')
	assert.equal(next.text, '1')
})

test('code that ignores its interrupt is ended when somebody waits, who is told', async () => {
	const run = await startCode(
		sbx,
		'print("begun")\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass',
	)
	assert.ok(await until(() => run.events.some((e) => e.type === 'stdout'), 30000))
	run.close()
	const next = await py('"fresh"')
	assert.equal(next.text, 'fresh')
	assert.match(next.stderr.join(''), /new interpreter/)
	assert.equal(next.count, 1)
	assert.ok(next.ms < 20000)
})

test('code and output have limits', async () => {
	const large = await py(`#${'x'.repeat(8 << 20)}`)
	assert.equal(large.status, 413)
	const got = await py('for i in range(100): print("x" * 1_000_000)')
	const text = got.stdout.join('')
	assert.ok(text.length < 34 << 20)
	assert.match(text.slice(-100), /output is cut here: it is longer than 32 MiB/)
	assert.equal(got.last, 'end_of_execution')
	assert.equal((await py('1')).text, '1')
	assert.match((await py('"x" * 40_000_000')).text, /left out: \d+ bytes/)
})

test('F6: one context more than there may be is refused as a limit', async () => {
	const sbx = await createRaw({ templateID: 'code-interpreter-v1', timeout: 600 })
	const made = []
	let last
	do {
		last = await interp(sbx, 'POST', '/contexts', { language: 'bash' })
		made.push(last.json?.id)
	} while (last.status === 200 && made.length < 80)
	assert.equal(last.status, 429, last.text)
	assert.match(last.text, /at most 64 at a time/)
	assert.equal((await interp(sbx, 'DELETE', `/contexts/${made[0]}`)).status, 200)
	assert.equal((await interp(sbx, 'POST', '/contexts', { language: 'bash' })).status, 200)
	await killRaw(sbx)
})

// SPDX-License-Identifier: Apache-2.0
// One pass through what a sandbox is for, by plain HTTP: `make check` has this and the units. Each step has files of
// its own in tests/e2e.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, envd, killRaw, request, server, shell, start } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { runCode } from '../lib/interp.mjs'

const OCTET = { headers: { 'Content-Type': 'application/octet-stream' } }
const of = (id, what, body) => api('POST', `/sandboxes/${id}/${what}`, body)
const stateOf = async (id) => (await api('GET', `/sandboxes/${id}`)).json?.state
let sbx

before(async () => {
	sbx = await createRaw({
		templateID: 'code-interpreter-v1',
		timeout: 300,
		metadata: { for: 'smoke' },
		envVars: { COLOUR: 'green' },
	})
})
after(() => killRaw(sbx))

test('a sandbox is created and listed', async () => {
	const { json } = await api('GET', '/v2/sandboxes?metadata=for%3Dsmoke')
	assert.deepEqual(
		json.map((one) => [one.sandboxID, one.state]),
		[[sbx.sandboxID, 'running']],
	)
	assert.equal((await envd(sbx, 'GET', '/health')).status, 204)
	assert.equal((await api('GET', '/v2/sandboxes', undefined, { key: 'e2b_wrong' })).status, 401)
})

test('code runs, keeps its state, and tells its errors', async () => {
	assert.equal((await runCode(sbx, 'x = 41')).error, undefined)
	assert.equal((await runCode(sbx, 'x + 1')).text, '42')
	assert.equal((await runCode(sbx, '1 / 0')).error.name, 'ZeroDivisionError')
})

test('a command runs as the user, with its environment, output and exit code', async () => {
	const got = await shell(sbx, 'whoami; echo $COLOUR; echo wrong >&2; exit 3', { user: 'user' })
	assert.deepEqual(got, { stdout: 'user\ngreen\n', stderr: 'wrong\n', code: 3 })
})

test('a file is written, read from both sides, and missed', async () => {
	const up = await envd(sbx, 'POST', '/files?path=/home/user/f.txt', 'from outside\n', OCTET)
	assert.equal(up.status, 200, up.text)
	assert.equal(
		(await shell(sbx, 'cat f.txt && echo from inside >f.txt', { user: 'user' })).stdout,
		'from outside\n',
	)
	assert.equal((await envd(sbx, 'GET', '/files?path=/home/user/f.txt')).text, 'from inside\n')
	assert.equal((await envd(sbx, 'GET', '/files?path=/home/user/none')).status, 404)
})

test('a port of a program inside is reached from outside', async () => {
	const run = await start(sbx, 'cd /home/user && exec python3 -um http.server 8123')
	const get = () => request('GET', '/f.txt', { headers: { Host: `8123-${sbx.sandboxID}.localhost` } })
	assert.ok(await until(async () => (await get()).status === 200, 20000), 'nothing listens')
	assert.equal((await get()).text, 'from inside\n')
	run.close()
})

test('it is paused and resumed with what it had in memory', async () => {
	assert.equal((await of(sbx.sandboxID, 'pause', {})).status, 204)
	assert.equal(await stateOf(sbx.sandboxID), 'paused')
	assert.equal((await of(sbx.sandboxID, 'pause', {})).status, 409)
	const back = await of(sbx.sandboxID, 'connect', { timeout: 300 })
	assert.ok([200, 201].includes(back.status), back.text)
	assert.equal((await runCode(sbx, 'x')).text, '41')
})

test('a snapshot begins where the sandbox was', async () => {
	const made = await of(sbx.sandboxID, 'snapshots', {})
	assert.equal(made.status, 201, made.text)
	const copy = await createRaw({ templateID: made.json.snapshotID, timeout: 300 })
	try {
		assert.notEqual(copy.sandboxID, sbx.sandboxID)
		assert.equal((await shell(copy, 'cat f.txt', { user: 'user' })).stdout, 'from inside\n')
		if (made.json.memory)
			// with CRIU
			assert.equal((await runCode(copy, 'x')).text, '41')
	} finally {
		assert.equal((await killRaw(copy)).status, 204)
		assert.equal(
			(await api('DELETE', `/templates/${encodeURIComponent(made.json.snapshotID)}`)).status,
			204,
		)
	}
})

test('it is killed, and is gone', async () => {
	const one = await createRaw({ timeout: 60 })
	assert.equal((await killRaw(one)).status, 204)
	assert.equal((await api('GET', `/sandboxes/${one.sandboxID}`)).status, 404)
	assert.equal((await envd(one, 'GET', '/health')).status, 502)
	assert.equal((await killRaw(one)).status, 404)
	assert.equal((await api('GET', '/health', undefined, { base: server.url })).status, 204)
})

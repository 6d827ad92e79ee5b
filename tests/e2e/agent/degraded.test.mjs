// SPDX-License-Identifier: Apache-2.0
// Code cannot be run, for one reason after the other: each time the agent layer says why and what to do, answers what
// needs no sandbox, and goes on when the reason is gone.
import { test } from '../../lib/case.mjs'
import { after, before } from 'node:test'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { api, envd, server } from '../../lib/client.mjs'
import { childrenOf, nameOf, until } from '../../lib/host.mjs'
import { newServer } from '../../lib/server.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'agent-degraded-')),
	file = path.join(dir, 'agent.json')
const CODE = '```python\nprint("ran")\n```'
let own,
	agents = 0

before(async () => {
	fs.chmodSync(dir, 0o755)
	fs.writeFileSync(file, '{}')
	own = await newServer(server.buildDir, { agent_config: file, max_sandboxes: 2, warm_pool_size: 0 }).start()
})

after(async () => {
	await own?.stop()
	fs.rmSync(dir, { recursive: true, force: true })
})

const call = (method, where, body, key = own.key) => api(method, where, body, { key, base: own.url })
const agentPid = () => childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-agent')

async function say(text, key) {
	const r = await call('POST', '/agent/messages', { text, agentId: `agent-${agents++}` }, key)
	assert.equal(r.status, 200, r.text)
	return r.json
}

async function works() {
	const r = await say(CODE)
	assert.equal(r.values.success, true, r.text)
	await call('DELETE', `/agent/sessions/${r.e2bSessionId}`)
}

// What an agent sees of it: a code, a cause, a remedy; sums, state and tools are there all the same.
async function cannot(code, cause, key) {
	const r = await say(CODE, key),
		{ error } = r.data.executionResults[0]
	assert.deepEqual([r.values.success, error.type, r.e2bSessionId], [false, code, null], JSON.stringify(r))
	assert.match(error.cause, cause)
	assert.ok(error.remedy.length > 20)
	assert.ok(r.text.includes(error.remedy), r.text)
	assert.equal(r.degraded, code === 'SERVICE_UNAVAILABLE')
	assert.equal((await say('What is 15 * 23?', key)).text, '15 * 23 = 345')
	return r
}

test('all places of the server are taken', async () => {
	await works()
	const taken = await Promise.all(
		[1, 2].map(
			async () =>
				(await call('POST', '/sandboxes', { templateID: 'base', timeout: 300 })).json.sandboxID,
		),
	)
	await cannot('LIMIT_REACHED', /2 sandboxes|limit|places/i)
	assert.equal((await call('GET', '/agent/state')).json.counts.running, 2)
	for (const id of taken) assert.equal((await call('DELETE', `/sandboxes/${id}`)).status, 204)
	await works()
})

test('the team may have none', async () => {
	const [team] = (await call('GET', '/teams')).json
	assert.equal((await call('PATCH', `/admin/teams/${team.teamID}`, { maxSandboxes: 0 })).status, 200)
	await cannot('LIMIT_REACHED', /./)
	assert.equal((await call('PATCH', `/admin/teams/${team.teamID}`, { maxSandboxes: null })).status, 200)
	await works()
})

test('the template of sessions is not there', async () => {
	const settle = async (settings) => {
		const old = agentPid()
		fs.writeFileSync(file, JSON.stringify(settings))
		process.kill(old, 'SIGKILL')
		assert.ok(
			await until(
				async () =>
					agentPid() &&
					agentPid() !== old &&
					(await call('GET', '/agent/health').catch(() => null))?.status === 200,
				30000,
				200,
			),
			'a new one is up',
		)
	}
	await settle({ defaultEnvironment: 'no-such-template' })
	await cannot('REFUSED', /template 'no-such-template' not found/)
	await settle({})
	await works()
})

test('the key is not one, or is one no more', async () => {
	const { key, id } = (await call('POST', '/api-keys', { name: 'short' })).json
	const made = (await call('POST', '/agent/sessions', { agentId: 'short' }, key)).json
	assert.ok(made.sessionId)
	assert.equal((await call('DELETE', `/api-keys/${id}`)).status, 204)
	for (const [method, where, body] of [
		['POST', '/agent/messages', { text: CODE }],
		['POST', `/agent/sessions/${made.sessionId}/execute`, { code: '1' }],
		['GET', '/agent/state'],
		['POST', '/mcp', {}],
	]) {
		const r = await call(method, where, body, key)
		assert.deepEqual([r.status, r.json.code], [401, 401], where)
		assert.match(r.json.message, /API key/)
	}
	await call('DELETE', `/sandboxes/${made.sandboxId}`)
	await works()
})

test('the front was killed while code ran: the next call is answered', async () => {
	const s = (await call('POST', '/agent/sessions', { agentId: 'front' })).json
	const lost = call('POST', `/agent/sessions/${s.sessionId}/execute`, {
		code: 'open("/tmp/began", "w").close()\nimport time\ntime.sleep(60)',
		timeout: 90000,
	}).catch((e) => e)
	const { envdAccessToken } = (await call('GET', `/sandboxes/${s.sandboxId}`)).json,
		inside = { sandboxID: s.sandboxId, envdAccessToken }
	assert.ok(
		await until(
			async () =>
				(await envd(inside, 'GET', '/files?path=/tmp/began', undefined, { base: own.url }))
					.status === 200,
			60000,
			200,
		),
		'it has begun',
	)
	process.kill(
		childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front'),
		'SIGKILL',
	)
	const r = await lost
	assert.ok(r instanceof Error || r.status >= 500, `${r.status}`)
	assert.ok(
		await until(
			async () => (await call('GET', '/agent/health').catch(() => null))?.status === 200,
			30000,
			200,
		),
		'there is a new front',
	)
	const next = await call('POST', `/agent/sessions/${s.sessionId}/execute`, {
		code: 'import os\nos.path.exists("/tmp/began")',
		timeout: 60000,
	})
	assert.deepEqual([next.json.text, next.json.recovered], ['True', undefined], next.text)
	assert.equal((await call('DELETE', `/agent/sessions/${s.sessionId}`)).status, 204)
})

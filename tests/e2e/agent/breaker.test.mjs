// SPDX-License-Identifier: Apache-2.0
// The warden hangs: the server says so, what needs no sandbox is answered, agents are refused without anybody being
// asked, and all goes on when it is back.
import { test } from '../../lib/case.mjs'
import { after, before } from 'node:test'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { api, routeHeaders, request, server } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'
import { newServer } from '../../lib/server.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'agent-breaker-')),
	file = path.join(dir, 'agent.json')
let own, other, mine

before(async () => {
	fs.chmodSync(dir, 0o755)
	fs.writeFileSync(file, JSON.stringify({ breakerFailures: 3, breakerOpenMs: 4000, maxRetries: 0 }))
	own = await newServer(server.buildDir, { agent_config: file, max_sandboxes: 8, warm_pool_size: 0 }).start()
	other = (await call('POST', '/api-keys', { name: 'other' })).json
})

after(async () => {
	if (own) process.kill(own.pid, 'SIGCONT')
	await own?.stop()
	fs.rmSync(dir, { recursive: true, force: true })
})

const call = (method, where, body, opt = {}) => api(method, where, body, { key: own.key, base: own.url, ...opt })

// A tool over plain HTTP, and the same over MCP: [is it an error, the first text].
async function tool(name, args, key = own.key) {
	const r = await call('POST', `/agent/tools/${name}`, args, { key })
	assert.equal(r.status, 200, r.text)
	return [r.json.isError, r.json.content[0].text, r.json.structuredContent]
}

let mcpSession

async function rpc(method, params) {
	return call(
		'POST',
		'/mcp',
		{ jsonrpc: '2.0', id: 1, method, params },
		{
			headers: {
				Accept: 'application/json, text/event-stream',
				'MCP-Protocol-Version': '2025-06-18',
				...(mcpSession && { 'Mcp-Session-Id': mcpSession }),
			},
		},
	)
}

async function mcp(name, args) {
	mcpSession ??= (
		await rpc('initialize', {
			protocolVersion: '2025-06-18',
			capabilities: {},
			clientInfo: { name: 'test', version: '1' },
		})
	).headers['mcp-session-id']
	const r = await rpc('tools/call', { name, arguments: args })
	assert.equal(r.status, 200, r.text)
	const { result } =
		r.json ??
		JSON.parse(
			r.text
				.split('\n')
				.findLast((line) => line.startsWith('data: '))
				.slice(6),
		)
	return [result.isError, result.content[0].text]
}

// Requests that anybody has made of the server: into sandboxes, and for new ones.
async function asked() {
	const { text } = await call('GET', '/metrics')
	const rows = text
		.split('\n')
		.filter(
			(row) =>
				row.startsWith('atoll_proxy_requests_total') ||
				/^atoll_requests_total.*[" ]\/(v2\/)?sandboxes/.test(row),
		)
	assert.ok(rows.length > 0)
	return rows.reduce((sum, row) => sum + Number(row.split(' ').at(-1)), 0)
}

const breaker = async (key) => (await call('GET', '/agent/state', undefined, key ? { key } : {})).json.breaker
const health = async () => (await call('GET', '/health', undefined, { key: null })).status

test('a warden that hangs is found out', async () => {
	const [failed, text, structured] = await tool('run_code', { code: '1 + 1' })
	assert.deepEqual([failed, text], [false, '2'])
	mine = structured.sandboxId
	process.kill(own.pid, 'SIGSTOP')
	assert.ok(
		await until(() => /\) T /.test(fs.readFileSync(`/proc/${own.pid}/stat`, 'utf8')), 60000, 20),
		'it is stopped',
	)
	// Whether that is known yet or not: nobody has looked at the port, so it is not called closed.
	const port = await request('GET', '/', { base: own.url, headers: routeHeaders({ sandboxID: mine }, 8123) })
	assert.equal(port.status, 503, port.text)
	// A5: what is under way is told as soon as that is known; nobody waits for the end of its time.
	const underWay = [
		call('POST', '/sandboxes', { templateID: 'base' }, { timeout: 150000 }),
		call('POST', '/agent/messages', { text: 'x = 1', agentId: 'under-way' }, { timeout: 150000 }),
	]
	assert.ok(await until(async () => (await health()) === 503, 120000, 500), '/health says so')
	const [made, said] = await Promise.all(underWay)
	assert.deepEqual([made.status, made.headers['retry-after']], [503, '5'], made.text)
	assert.match(made.json.message, /warden does not answer/)
	assert.deepEqual([said.json.values.success, said.json.degraded], [false, true], said.text)
	assert.match(said.json.text, /warden does not answer/)
})

test('what needs a sandbox is refused, and told apart from a sandbox that is gone', async () => {
	for (const [method, where, body] of [
		['POST', '/sandboxes', { templateID: 'base' }],
		['DELETE', `/sandboxes/${mine}`, undefined],
		['POST', `/sandboxes/${mine}/pause`, {}],
	]) {
		const r = await call(method, where, body)
		assert.deepEqual([r.status, r.json.code, r.headers['retry-after']], [503, 503, '5'], r.text)
		assert.match(r.json.message, /warden does not answer.*Nothing was done/)
	}
	const port = await request('GET', '/', { base: own.url, headers: routeHeaders({ sandboxID: mine }, 8123) })
	assert.equal(port.status, 503, port.text)
	assert.match(port.json.message, /cannot reach its sandboxes.*try again later/)
})

test('the rest is answered', async () => {
	assert.equal((await call('GET', '/sandboxes')).json.length, 1)
	assert.equal((await call('GET', `/sandboxes/${mine}`)).json.state, 'running')
	assert.equal((await call('POST', `/sandboxes/${mine}/timeout`, { timeout: 600 })).status, 204)
	assert.ok((await call('GET', '/agent/tools?format=openai')).json.tools.length > 20)
	assert.ok((await call('GET', '/audit?last=5')).text.length > 0)
	assert.equal((await call('POST', '/agent/messages', { text: 'What is 15 * 23?' })).json.text, '15 * 23 = 345')
	assert.equal((await mcp('list_sandboxes', {}))[0], false)
	assert.match((await rpc('tools/list')).text, /"run_code"/)
	const r = await call('GET', '/agent/health')
	assert.deepEqual([r.status, r.json.status, r.json.canExecuteCode], [503, 'degraded', false], r.text)
	assert.match(r.json.message, /warden does not answer/)
	const state = (await call('GET', '/agent/state')).json // A5
	assert.deepEqual(
		[state.canExecuteCode, state.isHealthy, state.status, state.capabilities.codeExecution],
		[false, false, 'degraded', false],
	)
	assert.match(state.text, /warden does not answer/)
})

test('A5: failed messages open the breaker as failed tools do', async () => {
	const { key } = (await call('POST', '/api-keys', { name: 'talks' })).json
	const say = async (text) => (await call('POST', '/agent/messages', { text, agentId: 'talks' }, { key })).json
	assert.ok(
		await until(
			async () => {
				const before = await asked(),
					r = await say('x = 1')
				assert.deepEqual([r.values.success, r.degraded], [false, true], r.text)
				const open = /has failed 3 times in a row; no calls are made/.test(r.text)
				assert.equal((await asked()) - before, open ? 0 : 1, r.text)
				return open && (await breaker(key)) === 'open'
			},
			60000,
			50,
		),
		'nobody is asked any more',
	)
	assert.equal((await say('What is 2 * 3?')).text, '2 * 3 = 6')
})

const OPEN = /has failed 3 times in a row; no calls are made for another \d+ ms\. Nothing was done\./

test('after some failures nobody is asked: over HTTP and over MCP', async () => {
	// Each failure is one of the server; whether a try was made is told by the server's own count. The breaker
	// may let one through meanwhile: then it opens again.
	const seen = new Set()
	assert.ok(
		await until(
			async () => {
				for (const [how, ask] of [
					['tools', () => tool('create_sandbox', {})],
					['mcp', () => mcp('create_sandbox', {})],
				]) {
					const before = await asked(),
						[failed, text] = await ask(),
						made = (await asked()) - before
					assert.equal(failed, true)
					assert.match(text, /^SERVER_UNAVAILABLE: /)
					const open = OPEN.test(text)
					assert.equal(made, open ? 0 : 1, text)
					if (open) seen.add(how)
				}
				return seen.size === 2
			},
			60000,
			50,
		),
		'both were refused',
	)
	assert.ok(
		await until(async () => (await tool('create_sandbox', {})) && (await breaker()) === 'open', 60000, 50),
	)
	const { text } = await call('GET', '/agent/metrics')
	assert.match(text, /^atoll_agent_breaker_open 2$/m) // and that of the key that talks
	assert.equal(await breaker(other.key), 'closed', 'of another key it is its own')
})

test('what the server answers by itself is asked for while it is open', async () => {
	assert.ok(
		await until(async () => (await tool('create_sandbox', {})) && (await breaker()) === 'open', 60000, 50),
	)
	for (const [name, args] of [
		['list_sandboxes', {}],
		['sandbox_info', { sandbox_id: mine }],
	]) {
		const [failed, text] = await tool(name, args)
		assert.deepEqual([failed, text.includes(mine)], [false, true], text)
	}
	assert.notEqual(await breaker(), 'closed', 'which says nothing about sandboxes')
})

test('half open, one is let through; it fails, and it is open again', async () => {
	assert.ok(await until(async () => (await breaker()) === 'half-open', 60000, 100))
	const before = await asked(),
		[failed, text] = await tool('create_sandbox', {})
	assert.deepEqual([failed, /warden does not answer/.test(text), (await asked()) - before], [true, true, 1], text)
	assert.equal((await tool('create_sandbox', {}))[0], true)
})

test('the warden is back: one is let through, and it is closed', async () => {
	process.kill(own.pid, 'SIGCONT')
	assert.ok(await until(async () => (await health()) === 204, 60000, 200), '/health says so')
	assert.ok(
		await until(async () => !(await tool('run_code', { code: 'print("ran")' }))[0], 60000, 500),
		'code runs',
	)
	assert.equal(await breaker(), 'closed')
	const r = await call('GET', '/agent/health')
	assert.deepEqual([r.status, r.json.canExecuteCode], [200, true])
	assert.deepEqual(
		(await call('GET', '/sandboxes')).json.map((one) => one.sandboxID),
		[mine],
		'nothing was made of what was refused',
	)
})

// SPDX-License-Identifier: Apache-2.0
// The official MCP clients against both transports: SDK 2.x (revision 2026-07-28), SDK 1.x (the revisions before it),
// the inspector, and the program in examples/mcp.
import { after, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { createRequire } from 'node:module'
import { spawnSync } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { api, server } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { installPackages } from '../lib/npm.mjs'

const DIR = path.join(server.buildDir, 'test-clients/mcp')
const EXAMPLE = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../examples/mcp')
const PACKAGES = {
	'@modelcontextprotocol/sdk': '^1.32.0',
	...JSON.parse(fs.readFileSync(path.join(EXAMPLE, 'package.json'), 'utf8')).dependencies,
}
const INSPECTOR_DIR = path.join(server.buildDir, 'test-clients/mcp-inspector')
const ATOLL = path.join(server.buildDir, 'src/cli/atoll')
const ENV = { ...process.env, E2B_API_URL: server.url, E2B_API_KEY: server.key }
const noClients = installPackages(DIR, PACKAGES)
const noInspector = installPackages(INSPECTOR_DIR, { '@modelcontextprotocol/inspector': '1.0.3' })
const load = (name) => import(pathToFileURL(createRequire(path.join(DIR, 'package.json')).resolve(name)).href)
const headers = { 'X-API-Key': server.key }

after(async () => {
	const sessions = (await api('GET', '/agent/sessions')).json
	for (const one of sessions.sessions ?? sessions) await api('DELETE', `/agent/sessions/${one.sessionId}`)
})

async function connect1(transport) {
	const [{ Client }, { StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all([
		load('@modelcontextprotocol/sdk/client/index.js'),
		load('@modelcontextprotocol/sdk/client/streamableHttp.js'),
		load('@modelcontextprotocol/sdk/client/stdio.js'),
	])
	const client = new Client({ name: 'sdk-1', version: '1' })
	const t =
		transport === 'http'
			? new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } })
			: new StdioClientTransport({ command: ATOLL, args: ['mcp'], env: ENV })
	await client.connect(t)
	return {
		client,
		revision: '2025-11-25',
		call: (name, args, opt) => client.callTool({ name, arguments: args }, undefined, opt),
		end: async () => {
			await t.terminateSession?.()
			await client.close()
		},
	}
}

async function connect2(transport) {
	const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all([
		load('@modelcontextprotocol/client'),
		load('@modelcontextprotocol/client/stdio'),
	])
	const client = new Client({ name: 'sdk-2', version: '1' }, { versionNegotiation: { mode: 'auto' } })
	const t =
		transport === 'http'
			? new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } })
			: new StdioClientTransport({ command: ATOLL, args: ['mcp'], env: ENV })
	await client.connect(t)
	assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
	return {
		client,
		revision: '2026-07-28',
		call: (name, args, opt) => client.callTool({ name, arguments: args }, opt),
		end: () => client.close(),
	}
}

for (const [name, connect] of [
	['SDK 1.x', connect1],
	['SDK 2.x', connect2],
]) {
	for (const transport of ['http', 'stdio']) {
		test(`${name} over ${transport}: tools, results, images, errors, progress, cancellation`, async (t) => {
			if (noClients) return t.skip(noClients)
			const { client, call, end } = await connect(transport)
			try {
				const { tools } = await client.listTools()
				assert.ok(tools.some((one) => one.name === 'run_code' && one.outputSchema))
				const first = await call('run_code', { code: 'x = 20\nx + 1' })
				assert.equal(first.structuredContent?.text, '21', JSON.stringify(first.content))
				const plot = await call('run_code', {
					code: 'import matplotlib.pyplot as plt\nplt.plot([x, 2])\nplt.show()',
				})
				assert.equal(plot.content.find((c) => c.type === 'image').mimeType, 'image/png')
				assert.equal(plot.structuredContent.sandboxId, first.structuredContent.sandboxId)
				const failed = await call('run_code', { code: '1/0' })
				assert.deepEqual(
					[failed.isError, failed.structuredContent.error.name],
					[true, 'ZeroDivisionError'],
				)
				const wrong = await call('run_code', { code: 1 })
				assert.deepEqual(
					[wrong.isError, wrong.content[0].text],
					[true, "INVALID_ARGUMENT: argument 'code' must be a string. Nothing was done."],
				)
				await assert.rejects(call('nonsense', {}), /Unknown tool: nonsense/)
				const seen = []
				const steps = await call(
					'run_command',
					{ command: 'for i in 1 2 3; do echo step $i; sleep 0.4; done' },
					{ onprogress: (p) => seen.push(p.message) },
				)
				assert.equal(steps.structuredContent.stdout, 'step 1\nstep 2\nstep 3\n')
				assert.ok(seen.length >= 2 && seen.every((m) => m.startsWith('step ')), seen.join())
				const abort = new AbortController()
				setTimeout(() => abort.abort(), 500)
				await assert.rejects(
					call(
						'run_code',
						{ code: 'import time\nfor _ in range(300): time.sleep(0.1)' },
						{ signal: abort.signal },
					),
				)
				const after_ = await call('run_code', {
					code: 'x',
				}) /* waits for the context, which the cancelled code would hold for half a minute */
				assert.equal(after_.structuredContent.text, '20')
				await call('kill_sandbox', { sandbox_id: first.structuredContent.sandboxId })
			} finally {
				await end()
			}
		})
	}
}

test('A2: clients that only close their connection lock nobody out; a tool ends a session', async (t) => {
	if (noClients) return t.skip(noClients)
	const { key } = (await api('POST', '/api-keys', { name: 'mcp-close' })).json
	const own = (method, where, body) => api(method, where, body, { key })
	const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all([
		load('@modelcontextprotocol/sdk/client/index.js'),
		load('@modelcontextprotocol/sdk/client/streamableHttp.js'),
	])
	const seen = new Set()
	for (let i = 0; i < 32; i++) {
		const client = new Client({ name: 'closes', version: '1' })
		await client.connect(
			new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
				requestInit: { headers: { 'X-API-Key': key } },
			}),
		)
		const re = await client.callTool({ name: 'run_command', arguments: { command: 'true' } })
		assert.equal(re.isError, false, `connect ${i + 1}: ${JSON.stringify(re.content)}`)
		seen.add(re.structuredContent.sandboxId)
		await client.close()
	}
	assert.equal(seen.size, 32, 'each connection has a sandbox of its own')
	const said = (await own('POST', '/agent/messages', { text: 'x = 1' })).json
	assert.equal(said.values.success, true, said.text)
	const tool = async (name, args = {}) => (await own('POST', `/agent/tools/${name}`, args)).json
	const sessions = (await tool('list_sessions')).structuredContent.sessions.filter(
		(s) => seen.has(s.sandboxId) || s.sessionId === said.e2bSessionId,
	)
	assert.ok(sessions.length <= 10 && sessions.some((s) => s.sessionId === said.e2bSessionId))
	for (const { sessionId, sandboxId } of sessions) {
		assert.equal(
			(await tool('end_session', { session_id: sessionId })).structuredContent.sessionId,
			sessionId,
		)
		assert.equal((await api('GET', `/sandboxes/${sandboxId}`)).status, 404)
	}
	assert.equal((await tool('end_session', { session_id: sessions[0].sessionId })).isError, true)
	assert.match((await tool('end_session')).content[0].text, /^NOT_FOUND: this client has no session/)
})

test('what stdio began is gone when its client is', async (t) => {
	if (noClients) return t.skip(noClients)
	const { call, end } = await connect1('stdio')
	const first = await call('run_code', { code: '1' })
	await end()
	assert.equal(first.isError, false, JSON.stringify(first.content))
	assert.ok(
		await until(
			async () =>
				(await api('GET', `/sandboxes/${first.structuredContent.sandboxId}`)).status === 404,
		),
	)
})

function inspect(...args) {
	const run = spawnSync(
		process.execPath,
		[
			path.join(INSPECTOR_DIR, 'node_modules/@modelcontextprotocol/inspector/cli/build/cli.js'),
			'--cli',
			...args,
		],
		{ encoding: 'utf8', timeout: 60000, env: ENV },
	)
	assert.equal(run.status, 0, run.stderr || run.stdout)
	return JSON.parse(run.stdout)
}

test('the inspector over http and over stdio', async (t) => {
	if (noInspector) return t.skip(noInspector)
	const http = [`${server.url}/mcp`, '--transport', 'http', '--header', `X-API-Key: ${server.key}`]
	const stdio = ['-e', `E2B_API_URL=${server.url}`, '-e', `E2B_API_KEY=${server.key}`, ATOLL, 'mcp']
	assert.deepEqual(
		inspect(...http, '--method', 'tools/list').tools.map((one) => one.name),
		inspect(...stdio, '--method', 'tools/list').tools.map((one) => one.name),
	)
	for (const how of [http, stdio])
		assert.equal(
			inspect(...how, '--method', 'tools/call', '--tool-name', 'run_code', '--tool-arg', 'code=6*7')
				.structuredContent.text,
			'42',
		)
})

test('the program in examples/mcp, over http and over stdio', async (t) => {
	if (noClients) return t.skip(noClients)
	const file = path.join(DIR, 'agent.mjs')
	fs.copyFileSync(path.join(EXAMPLE, 'agent.mjs'), file) /* beside its packages */
	for (const more of [{}, { ATOLL }]) {
		const run = spawnSync(process.execPath, [file], {
			encoding: 'utf8',
			timeout: 90000,
			env: { ...ENV, ...more },
		})
		assert.equal(run.status, 0, run.stderr)
		for (const line of [
			/^\d+ tools, revision 2026-07-28$/m,
			/^run_code: 10$/m,
			/^run_code: 2\.0$/m,
			/^run_code: failed: NameError: name 'tabel' is not defined/m,
			/^run_code: .*<image\/png>/m,
			/^run_command: 31 report\.md$/m,
			/^terminal: failed: Command not allowed by security policy/m,
			/^ {2}\.\.\. step 2$/m,
			/^kill_sandbox: /m,
		])
			assert.match(run.stdout, line)
	}
})

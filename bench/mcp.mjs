// SPDX-License-Identifier: Apache-2.0
// What MCP adds to an execution (the same code in the same sandbox, directly and by the tool, in turns), how long the
// list of tools takes, many agents at once, and how many of many executions fail that should not.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { childrenOf, nameOf, rssOf } from '../tests/lib/host.mjs'
import { Caller, inParallel, stats } from './measure.mjs'

const AGENTS = 50,
	EACH = 20
const PROBE_MS = 20
const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-mcp-')), 'agent.json')
fs.chmodSync(path.dirname(file), 0o755)
fs.writeFileSync(file, JSON.stringify({ maxConcurrentSessions: AGENTS + 4 }))
process.once('exit', () => fs.rmSync(path.dirname(file), { recursive: true, force: true }))
export const CONFIG = { log_level: 'warn', agent_config: file, max_sandboxes: 200 }

const ACCEPT = { Accept: 'application/json, text/event-stream' }
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }

function modern(caller, method, params = {}) {
	return caller.call(
		'POST',
		'/mcp',
		{ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
		{
			...ACCEPT,
			'MCP-Protocol-Version': '2026-07-28',
			'Mcp-Method': method,
			...(params.name && { 'Mcp-Name': params.name }),
		},
	)
}

function resultOf(re) {
	const json = re.status === 200 ? JSON.parse(re.body) : null
	if (!json?.result) throw new Error(`${re.status} ${re.body.toString().slice(0, 200)}`)
	return json.result
}

async function added(server, quick) {
	const caller = new Caller(server, 1)
	const id = resultOf(
		await modern(caller, 'tools/call', { name: 'create_sandbox', arguments: { timeout_s: 3600 } }),
	).structuredContent.sandboxId
	const info = JSON.parse((await caller.call('GET', `/sandboxes/${id}`)).body)
	const head = {
		'E2b-Sandbox-Id': id,
		'E2b-Sandbox-Port': '49999',
		...(info.envdAccessToken && { 'X-Access-Token': info.envdAccessToken }),
	}
	const plain = [],
		tool = [],
		list = []
	for (let i = 0; i < (quick ? 300 : 1500); i++) {
		const direct = await caller.call('POST', '/execute', { code: '1+1', language: 'python' }, head)
		const by = await modern(caller, 'tools/call', {
			name: 'run_code',
			arguments: { code: '1+1', sandbox_id: id },
		})
		const all = await modern(caller, 'tools/list')
		if (resultOf(by).structuredContent.text !== '2' || direct.status !== 200)
			throw new Error(by.body.toString())
		if (i >= 50) {
			plain.push(direct.ms)
			tool.push(by.ms)
			list.push(all.ms)
		}
	}
	await modern(caller, 'tools/call', { name: 'kill_sandbox', arguments: { sandbox_id: id } })
	caller.close()
	return { plain: stats(plain), tool: stats(tool), list: stats(list) }
}

// An agent: a session of its own, as clients of the revisions with initialize have it.
class Agent {
	constructor(server) {
		this.caller = new Caller(server, 1)
	}

	async begin() {
		const re = await fetch(new URL('/mcp', this.caller.url), {
			method: 'POST',
			headers: { ...ACCEPT, 'Content-Type': 'application/json', 'X-API-Key': this.caller.key },
			body: JSON.stringify({
				jsonrpc: '2.0',
				id: 0,
				method: 'initialize',
				params: {
					protocolVersion: '2025-11-25',
					capabilities: {},
					clientInfo: { name: 'bench', version: '1' },
				},
			}),
		})
		this.head = {
			...ACCEPT,
			'Mcp-Session-Id': re.headers.get('mcp-session-id'),
			'MCP-Protocol-Version': '2025-11-25',
		}
		await re.arrayBuffer()
	}

	async tool(name, args) {
		return resultOf(
			await this.caller.call(
				'POST',
				'/mcp',
				{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
				this.head,
			),
		)
	}

	async end() {
		await this.caller.call('DELETE', '/mcp', undefined, this.head)
		this.caller.close()
	}
}

async function many(server) {
	const pid = childrenOf(server.pid).find((p) => nameOf(p) === 'atoll-agent')
	const agents = Array.from({ length: AGENTS }, () => new Agent(server))
	const waves = [],
		errors = [],
		ms = []
	await Promise.all(
		agents.map(async (a) => {
			await a.begin()
			await a.tool('run_code', { code: 'n = 0' })
		}),
	)
	for (let wave = 0; wave < 4; wave++) {
		await Promise.all(
			agents.map(async (a, k) => {
				for (let i = 0; i < EACH; i++) {
					const began = performance.now()
					try {
						const { structuredContent: got } = await a.tool('run_code', {
							code: `n += 1\n(${k}, n)`,
						})
						if (got.text !== `(${k}, ${wave * EACH + i + 1})`)
							throw new Error(`agent ${k}: ${got.text}`)
					} catch (e) {
						errors.push(e.message)
					}
					ms.push(performance.now() - began)
				}
			}),
		)
		waves.push(rssOf(pid))
	}
	await Promise.all(agents.map((a) => a.end()))
	return { agents: AGENTS, each: EACH, waves, errors: errors.length, why: errors[0], ...stats(ms) }
}

// Kinds of work in turns; what comes back is known for each.
const MIXED = [
	(i) => ['run_code', { code: `${i} + 1` }, (r) => r.structuredContent.text === String(i + 1)],
	(i) => [
		'run_code',
		{ code: `print("line ${i}")` },
		(r) => r.structuredContent.logs.stdout.join('') === `line ${i}\n`,
	],
	() => ['run_code', { code: '1/0' }, (r) => r.isError && r.structuredContent.error.name === 'ZeroDivisionError'],
	(i) => ['run_command', { command: `echo $((${i} * 2))` }, (r) => r.structuredContent.stdout === `${i * 2}\n`],
	(i) => ['write_file', { path: `/tmp/f${i % 50}`, content: `content ${i}` }, (r) => !r.isError],
	(i) => [
		'run_code',
		{ code: 'import numpy as np\nint(np.arange(100).sum())', i },
		(r) => r.structuredContent.text === '4950',
	],
	() => ['list_files', { path: '/tmp' }, (r) => !r.isError],
	() => ['run_command', { command: 'exit 7' }, (r) => r.isError && r.structuredContent.exitCode === 7],
].map((make) => (i) => {
	const [name, { i: _, ...args }, good] = make(i)
	return { name, args, good }
})

// Somebody asks all the while whether the server is well, and whether code can be run; each answer counts.
function probe(server) {
	const caller = new Caller(server, 1),
		seen = { probes: 0, good: 0 }
	let over = false
	const asking = (async () => {
		while (!over) {
			for (const [where, well] of [
				['/health', (re) => re.status < 300],
				[
					'/agent/health',
					(re) => re.status === 200 && JSON.parse(re.body).canExecuteCode !== false,
				],
			]) {
				seen.probes++
				try {
					seen.good += well(await caller.call('GET', where)) ? 1 : 0
				} catch {
					/* counts as none */
				}
			}
			await new Promise((done) => setTimeout(done, PROBE_MS))
		}
	})()
	return async () => {
		over = true
		await asking
		caller.close()
		return seen
	}
}

async function mixed(server, count) {
	const agents = Array.from({ length: 8 }, () => new Agent(server))
	const failures = []
	await Promise.all(agents.map((a) => a.begin()))
	const probed = probe(server)
	const began = performance.now()
	await inParallel(agents.length, agents.length, async (k) => {
		for (let i = k; i < count; i += agents.length) {
			const { name, args, good } = MIXED[i % MIXED.length](i)
			try {
				const result = await agents[k].tool(name, args)
				if (!good(result)) throw new Error(`${name}: ${JSON.stringify(result).slice(0, 300)}`)
			} catch (e) {
				failures.push(e.message)
			}
		}
	})
	const s = (performance.now() - began) / 1000
	const health = await probed()
	await Promise.all(agents.map((a) => a.end()))
	return { count, failures: failures.length, why: failures[0], perSecond: count / s, ...health }
}

export async function mcp(server, quick) {
	return {
		...(await added(server, quick)),
		many: await many(server),
		mixed: await mixed(server, quick ? 800 : 10000),
	}
}

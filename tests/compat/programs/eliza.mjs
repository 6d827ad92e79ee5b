// SPDX-License-Identifier: Apache-2.0
// ElizaOS with its E2B plugin: a real AgentRuntime, the plugin's own sources as npm has them. node eliza.mjs DIRECTORY
//
// The published plugin has no dist, so its sources are bundled first; nothing of them is changed. The runtime wants a
// database: a small one in memory stands in. Prints one line of JSON per step; after "served" the server is expected to
// go away.
import fs from 'node:fs'
import path from 'node:path'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import assert from 'node:assert/strict'

const DIR = path.resolve(process.argv[2])
const load = createRequire(path.join(DIR, 'package.json'))
const PLUGIN = path.join(DIR, 'node_modules/@elizaos/plugin-e2b')
const BUNDLE = path.join(DIR, 'bundle/plugin.mjs')

const tell = (step, more = {}) => console.log(`STEP ${JSON.stringify({ step, ...more })}`)

// The plugin looks after its health every minute. Nobody wants to wait for that.
const realInterval = globalThis.setInterval
globalThis.setInterval = (fn, ms, ...args) => realInterval(fn, ms === 60000 ? 1000 : ms, ...args)

async function bundle() {
	const { build } = load('esbuild')
	await build({
		entryPoints: [path.join(PLUGIN, 'src/index.ts')],
		outfile: BUNDLE,
		bundle: true,
		platform: 'node',
		format: 'esm',
		packages: 'external',
		logLevel: 'error',
	})
	return (await import(pathToFileURL(BUNDLE))).default
}

// What AgentRuntime.initialize(), createMemory() and composeState() ask of a database. Other calls are a mistake of
// this program.
function memoryDatabase() {
	const tables = {
		agents: new Map(),
		entities: new Map(),
		worlds: new Map(),
		rooms: new Map(),
		memories: new Map(),
	}
	const people = new Map()
	const all = (table, ids) => ids.map((id) => table.get(id)).filter(Boolean)
	const put = (table) => (one) => table.set(one.id, one)
	const known = {
		init() {},
		close() {},
		isReady: () => true,
		runPluginMigrations() {},
		ensureEmbeddingDimension() {},
		log() {},
		getAgents: () => [...tables.agents.values()],
		getAgent: (id) => tables.agents.get(id) ?? null,
		createAgent: (agent) => {
			tables.agents.set(agent.id, agent)
			return true
		},
		updateAgent: (id, agent) => {
			tables.agents.set(id, { ...tables.agents.get(id), ...agent })
			return true
		},
		getEntitiesByIds: (ids) => all(tables.entities, ids),
		createEntities: (list) => {
			list.forEach(put(tables.entities))
			return true
		},
		updateEntity: put(tables.entities),
		getWorld: (id) => tables.worlds.get(id) ?? null,
		createWorld: (world) => {
			tables.worlds.set(world.id, world)
			return world.id
		},
		getRoomsByIds: (ids) => all(tables.rooms, ids),
		createRooms: (list) => {
			list.forEach(put(tables.rooms))
			return list.map((one) => one.id)
		},
		getParticipantsForRoom: (id) => [...(people.get(id) ?? [])],
		addParticipantsRoom: (ids, room) => {
			people.set(room, new Set([...(people.get(room) ?? []), ...ids]))
			return true
		},
		createMemory: (memory) => {
			tables.memories.set(memory.id, memory)
			return memory.id
		},
		getMemories: () => [...tables.memories.values()],
		getMemoryById: (id) => tables.memories.get(id) ?? null,
		getCache: () => undefined,
		setCache: () => true,
	}
	return new Proxy(
		{ db: {}, memories: tables.memories },
		{
			get(own, name) {
				if (name in own || typeof name === 'symbol' || name === 'then') return own[name]
				return async (...args) => {
					if (!known[name]) throw new Error(`the database is asked for ${name}`)
					return known[name](...args)
				}
			},
		},
	)
}

async function start(plugin, database) {
	const { AgentRuntime } = await import(pathToFileURL(load.resolve('@elizaos/core')))
	const runtime = new AgentRuntime({
		character: {
			name: 'Tester',
			bio: ['tests'],
			settings: { NODE_ENV: 'production', secrets: { E2B_API_KEY: process.env.E2B_API_KEY } },
		},
		plugins: [plugin],
		adapter: database,
	})
	await runtime.initialize()
	const service = await runtime.getServiceLoadPromise('e2b')
	tell('registered', {
		status: runtime.getServiceRegistrationStatus('e2b'),
		sandboxes: service.listSandboxes().map((one) => one.sandboxId),
	})
	return { runtime, service }
}

async function ownTests(plugin, runtime) {
	const tests = plugin.tests.flatMap((suite) => suite.tests)
	for (const { name, fn } of tests) {
		await fn(runtime)
		tell('own test', { name })
	}
	assert.equal(tests.length, 3)
}

async function serviceCalls(service) {
	const sum = await service.executeCode('x = 6\nprint("out")\nx * 7', 'python')
	assert.deepEqual([sum.text, sum.logs.stdout, sum.error], ['42', ['out\n'], undefined])
	assert.equal((await service.executeCode('x + 1')).text, '7', 'the same sandbox, with its state')
	assert.match((await service.executeCode('console.log(6 * 7)', 'javascript')).logs.stdout.join(''), /^42\n/)
	const failed = await service.executeCode('1/0')
	assert.deepEqual([failed.error.name, failed.error.value], ['ZeroDivisionError', 'division by zero'])
	await assert.rejects(service.executeCode('x', 'cobol'), /not allowed/)

	const id = await service.createSandbox({ timeoutMs: 600000, envs: { A: 'b' }, metadata: { of: 'test' } })
	assert.equal(service.getSandbox(id).sandboxId, id)
	assert.ok(service.listSandboxes().some((one) => one.sandboxId === id))
	await service.writeFileToSandbox(id, '/tmp/f.txt', 'Hello!\nsecond line')
	assert.equal(await service.readFileFromSandbox(id, '/tmp/f.txt'), 'Hello!\nsecond line\n')
	await service.killSandbox(id)
	assert.equal(service.getSandbox(id), null)
	tell('calls', { killed: id })
}

async function providerCall(runtime) {
	const message = {
		id: crypto.randomUUID(),
		entityId: runtime.agentId,
		roomId: runtime.agentId,
		content: { text: 'run some code' },
	}
	const state = await runtime.composeState(message, ['e2b'], true)
	assert.equal(state.values.canExecuteCode, true)
	assert.match(state.text, /Ready for/)
	tell('provider', { text: state.text })
}

async function until(holds, ms) {
	for (const end = Date.now() + ms; Date.now() < end; await new Promise((done) => setTimeout(done, 100))) {
		if (await holds()) return true
	}
	return false
}

const plugin = await bundle()
assert.ok(
	!fs.existsSync(path.join(PLUGIN, 'dist')),
	'the published package can be imported by now: leave the bundling out',
)
const database = memoryDatabase()
const { runtime, service } = await start(plugin, database)
await ownTests(plugin, runtime)
await serviceCalls(service)
await providerCall(runtime)
const remembered = [...database.memories.values()].map((one) => one.content.text).join('\n')
assert.ok(remembered.includes('Result:\n42'), remembered)
assert.doesNotMatch(remembered, /MOCK/)
assert.equal(await service.isHealthy(), true)
tell('served', { sandboxes: service.listSandboxes().map((one) => one.sandboxId) })
assert.ok(await until(async () => !(await service.isHealthy()), 60000), 'it notices that the server is gone')
tell('unhealthy')
process.exit(0)

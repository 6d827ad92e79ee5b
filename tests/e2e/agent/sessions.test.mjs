// SPDX-License-Identifier: Apache-2.0
// Sessions of agents: their record, their limits, whose they are; what becomes of them when sandbox, agent layer or
// server go.
import { test } from '../../lib/case.mjs'
import { after, before } from 'node:test'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { api, request, server } from '../../lib/client.mjs'
import { childrenOf, nameOf, until } from '../../lib/host.mjs'
import { newServer } from '../../lib/server.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'agent-config-'))
const file = path.join(dir, 'agent.json')
let own

// What sessions of other keys, other agents and other tests have is out of the way here.
before(async () => {
	fs.chmodSync(dir, 0o755)
	fs.writeFileSync(
		file,
		JSON.stringify({
			apiKey: '${E2B_API_KEY}',
			defaultEnvironment: 'base',
			sessionTimeout: 3600000,
			maxConcurrentSessions: 3,
			resourceLimits: { memory: '512MB', cpu: '0.5', diskSpace: '1GB' },
			alertThresholds: { cpu: 90 },
			policy: { rules: [{ id: 'no-docker', pattern: '^docker\\b', reason: 'starts a container' }] },
		}),
	)
	own = await newServer(server.buildDir, { agent_config: file }).start()
})

after(async () => {
	await own?.stop()
	fs.rmSync(dir, { recursive: true, force: true })
})

const call = (method, where, body, key = own.key) => api(method, where, body, { key, base: own.url })
const create = async (body = {}) => {
	const r = await call('POST', '/agent/sessions', body)
	assert.equal(r.status, 201, r.text)
	return r.json
}
const execute = (id, code, more = {}) => call('POST', `/agent/sessions/${id}/execute`, { code, ...more })
const end = (id) => call('DELETE', `/agent/sessions/${id}`)
const newKey = async (name) => (await call('POST', '/api-keys', { name })).json.key

async function withSession(body, use) {
	const s = await create(body)
	try {
		await use(s)
	} finally {
		await end(s.sessionId)
	}
}

test('the record has its eight fields, and the sandbox the limits', async () => {
	await withSession({ agentId: 'one', userId: 'u1' }, async (s) => {
		assert.deepEqual(Object.keys(s), [
			'sessionId',
			'sandboxId',
			'agentId',
			'userId',
			'createdAt',
			'lastUsed',
			'environment',
			'resourceLimits',
		])
		assert.deepEqual(s.resourceLimits, { memory: '512MB', cpu: 0.5, diskSpace: '1GB' })
		assert.deepEqual((await call('GET', `/agent/sessions/${s.sessionId}`)).json, s)
		const limits = (await call('GET', `/sandboxes/${s.sandboxId}/limits`)).json.limits
		assert.equal(limits.memoryMB, 512)
		assert.equal(limits.cpus, 0.5)
		assert.equal(limits.diskMB, 1024)
		assert.equal((await end(s.sessionId)).status, 204)
		assert.equal((await end(s.sessionId)).status, 404)
		assert.equal((await call('GET', `/sandboxes/${s.sandboxId}`)).status, 404)
	})
})

test('variables stay; without a session id an agent has one', async () => {
	const a = await call('POST', '/agent/sessions', { agentId: 'again', getOrCreate: true })
	const b = await call('POST', '/agent/sessions', { agentId: 'again', getOrCreate: true })
	assert.deepEqual([a.status, b.status], [201, 200])
	assert.equal(a.json.sessionId, b.json.sessionId)
	await execute(a.json.sessionId, 'x = 10')
	const r = await execute(b.json.sessionId, 'x * 2')
	assert.equal(r.json.text, '20')
	assert.equal(r.json.success, true)
	await end(a.json.sessionId)
})

test('one more than maxConcurrentSessions is 429, of this key only', async () => {
	const all = [await create(), await create(), await create()]
	const r = await call('POST', '/agent/sessions', {})
	assert.equal(r.status, 429)
	assert.match(r.json.message, /limit reached/)
	const other = await newKey('other')
	const theirs = await call('POST', '/agent/sessions', {}, other)
	assert.equal(theirs.status, 201, theirs.text)
	assert.equal((await call('DELETE', `/agent/sessions/${theirs.json.sessionId}`, undefined, other)).status, 204)
	// A2: what has no sandbox does not count.
	assert.equal((await call('DELETE', `/sandboxes/${all[0].sandboxId}`)).status, 204)
	all.push(await create())
	for (const s of all) assert.equal((await end(s.sessionId)).status, 204)
})

test(
	'A3: sessions are of the team: a rotated key and other keys of the team have them, other teams ' + 'do not',
	async () => {
		const old = (await call('POST', '/api-keys', { name: 'worker' })).json,
			mate = await newKey('mate')
		const team = (await call('POST', '/admin/teams', { name: 'strangers' })).json.teamID
		const stranger = (await call('POST', `/admin/teams/${team}/api-keys`, { name: 'stranger' })).json.key
		const s = (await call('POST', '/agent/sessions', { agentId: 'kept' }, old.key)).json
		const run = (code, key) => call('POST', `/agent/sessions/${s.sessionId}/execute`, { code }, key)
		assert.equal((await run('x = 20', old.key)).json.success, true)
		const said = (await call('POST', '/agent/messages', { text: 'y = 30' }, old.key)).json
		const key = (await call('POST', `/api-keys/${old.id}/rotate`, {}, old.key)).json.key
		assert.equal((await run('x', old.key)).status, 401)
		assert.equal((await run('x + 1', key)).json.text, '21')
		assert.equal((await run('x + 2', mate)).json.text, '22')
		const again = (await call('POST', '/agent/messages', { text: '```python\ny + 1\n```' }, key)).json
		assert.deepEqual([again.e2bSessionId, again.data.executionResults[0].text], [said.e2bSessionId, '31'])
		assert.notEqual(
			(await call('POST', '/agent/messages', { text: 'z = 1' }, mate)).json.e2bSessionId,
			said.e2bSessionId,
			'unnamed agents of two keys are two',
		)
		for (const [method, where, body] of [
			['GET', ''],
			['DELETE', ''],
			['GET', '/usage'],
			['POST', '/execute', { code: '1' }],
		])
			assert.equal(
				(await call(method, `/agent/sessions/${s.sessionId}${where}`, body, stranger)).status,
				404,
				`${method} by another team`,
			)
		assert.deepEqual((await call('GET', '/agent/sessions', undefined, stranger)).json, [])
		for (const { sessionId } of (await call('GET', '/agent/sessions', undefined, mate)).json)
			assert.equal(
				(await call('DELETE', `/agent/sessions/${sessionId}`, undefined, mate)).status,
				204,
			)
		assert.equal((await call('DELETE', `/admin/teams/${team}`)).status, 204)
	},
)

test('errors of code are data; a time limit and the memory limit have a name and a remedy', async () => {
	await withSession({}, async ({ sessionId: id }) => {
		let r = await execute(id, '1/0')
		assert.equal(r.status, 200)
		assert.equal(r.json.error.name, 'ZeroDivisionError')
		assert.match(r.json.error.traceback, /ZeroDivisionError/)
		r = await execute(id, 'y = 1\nwhile True: pass', { timeout: 1500 })
		assert.equal(r.json.error.type, 'TIMEOUT')
		assert.equal(r.json.error.message, 'E2B execution failed: Execution timed out after 1500 ms')
		assert.equal(r.json.error.sessionId, id)
		assert.ok(r.json.error.remedy && r.json.error.cause)
		assert.equal((await execute(id, 'y')).json.text, '1')
		r = await execute(id, 'a = bytearray(900 << 20)\nfor i in range(0, len(a), 4096): a[i] = 1')
		assert.equal(r.json.error.type, 'MEMORY_LIMIT', r.text)
		assert.ok(r.json.error.remedy)
		assert.equal((await execute(id, '1')).json.text, '1')
	})
})

const SHAPE = ['cause', 'code', 'context', 'message', 'name', 'remedy', 'sessionId', 'type']

test('A7: every failure has the same shape; code is what failed, type is the kind', async () => {
	await withSession(
		{ resourceLimits: { memory: '512MB', cpu: '0.5' } },
		async ({ sessionId: id, resourceLimits }) => {
			assert.deepEqual([resourceLimits.memory, resourceLimits.cpu], ['512MB', 0.5])
			for (const [code, more, type] of [
				['while True: pass', { timeout_ms: 1000 }, 'TIMEOUT'],
				[
					'a = bytearray(900 << 20)\nfor i in range(0, len(a), 4096): a[i] = 1',
					{},
					'MEMORY_LIMIT',
				],
				['import os; os.system("sudo ls")', {}, 'POLICY'],
			]) {
				const { error } = (await execute(id, code, more)).json
				assert.deepEqual(
					SHAPE.filter((name) => !(name in error)),
					[],
					JSON.stringify(error),
				)
				assert.deepEqual(
					[error.type, error.code, error.sessionId, error.context],
					[type, code, id, 'run code'],
				)
			}
		},
	)
	const missing = (await call('POST', '/agent/messages', { text: '```python\n1\n```', agentId: 'x'.repeat(200) }))
		.json.data.executionResults[0].error
	assert.deepEqual(
		SHAPE.filter((name) => !(name in missing)),
		[],
		JSON.stringify(missing),
	)
	for (const [limits, text] of [
		[{ cpu: 'half' }, /resourceLimits\.cpu/],
		[{ cpu: '0.5x' }, /resourceLimits\.cpu/],
		[{ memory: 'much' }, /resourceLimits\.memory/],
	]) {
		const r = await call('POST', '/agent/sessions', { resourceLimits: limits })
		assert.equal(r.status, 400)
		assert.match(r.json.message, text)
	}
})

test(
	'A7: workingDirectory holds for code in each language; thresholds of alerts are those of the ' + 'session',
	async () => {
		await withSession({ alertThresholds: { memory: 1, diskSpace: 100 } }, async ({ sessionId: id }) => {
			const dir = `/home/user/it's a "dir"`
			assert.equal(
				(await execute(id, `import os\nos.mkdir(${JSON.stringify(dir)})`)).json.success,
				true,
			)
			for (const [language, code] of [
				['python', 'import os\nprint(os.getcwd())'],
				['javascript', 'console.log(process.cwd())'],
				['bash', 'pwd'],
			]) {
				const r = (await execute(id, code, { language, workingDirectory: dir })).json
				assert.equal(r.logs.stdout.join(''), `${dir}\n`, JSON.stringify(r))
			}
			assert.equal(
				(await execute(id, '1', { workingDirectory: '/none' })).json.error.name,
				'FileNotFoundError',
			)
			assert.match(
				(await execute(id, 'x', { language: 'java', workingDirectory: dir })).json.error.cause,
				/workingDirectory/,
			)
			const said = (
				await call('POST', '/agent/messages', {
					text: '```python\nimport os\nos.getcwd()\n```',
					e2bSessionId: id,
					workingDirectory: '/tmp',
				})
			).json
			assert.equal(said.data.executionResults[0].text, '/tmp')
			const usage = () => call('GET', `/agent/sessions/${id}/usage`)
			assert.ok(
				await until(
					async () =>
						(await usage()).json.alerts.some(
							(a) => a.resource === 'memory' && a.threshold === 1,
						),
					60000,
					200,
				),
			)
			assert.ok((await usage()).json.alerts.every((a) => a.resource !== 'diskSpace'))
		})
		const r = await call('POST', '/agent/sessions', { alertThresholds: { memory: 101 } })
		assert.deepEqual([r.status, /alertThresholds\.memory/.test(r.json.message)], [400, true], r.text)
	},
)

test('a session goes on in a new sandbox, and says so; with its files if there is a snapshot', async () => {
	await withSession({ agentId: 'gone' }, async (s) => {
		const kill = async () => {
			const { sandboxId } = (await call('GET', `/agent/sessions/${s.sessionId}`)).json
			assert.equal((await call('DELETE', `/sandboxes/${sandboxId}`)).status, 204)
			return sandboxId
		}
		await execute(s.sessionId, 'open("/home/user/f", "w").write("kept")\nz = 1')
		const old = await kill()
		let r = await execute(s.sessionId, 'z')
		assert.equal(r.json.error.name, 'NameError')
		assert.equal(r.json.recovered.strategy, 'SANDBOX_UNAVAILABLE')
		assert.equal(r.json.recovered.fromSnapshot, false)
		assert.notEqual((await call('GET', `/agent/sessions/${s.sessionId}`)).json.sandboxId, old)
		await execute(s.sessionId, 'open("/home/user/f", "w").write("kept")')
		const now = (await call('GET', `/agent/sessions/${s.sessionId}`)).json.sandboxId
		assert.equal((await call('POST', `/sandboxes/${now}/snapshots`, {})).status, 201)
		await kill()
		r = await execute(s.sessionId, 'open("/home/user/f").read()')
		assert.equal(r.json.recovered.fromSnapshot, true, r.text)
		assert.equal(r.json.text, 'kept')
		assert.equal((await execute(s.sessionId, '1')).json.recovered, undefined)
	})
})

test(
	'its variables go with it, also when the agent layer has been killed meanwhile; they are in no ' +
		'list of its files once it has ended',
	async () => {
		const secret = 'sesame-open-sesame-again',
			envsOf = (id) => path.join(own.stateDir, 'agent', `envs.${id}`)
		await withSession({ agentId: 'variables', envs: { API_TOKEN: secret, COLOUR: 'blue' } }, async (s) => {
			const look = async () => {
				const r = await execute(
					s.sessionId,
					'import os\nos.environ["COLOUR"] + str(len(os.environ["API_TOKEN"]))',
				)
				assert.equal(r.json.text, `blue${secret.length}`, r.text)
				return r.json.recovered?.strategy
			}
			const kill = async () => {
				const { sandboxId } = (await call('GET', `/agent/sessions/${s.sessionId}`)).json
				assert.equal((await call('DELETE', `/sandboxes/${sandboxId}`)).status, 204)
			}
			assert.equal(await look(), undefined)
			await kill()
			assert.equal(await look(), 'SANDBOX_UNAVAILABLE')
			process.kill(
				childrenOf(own.pid).find((p) => nameOf(p) === 'atoll-agent'),
				'SIGKILL',
			)
			assert.ok(
				await until(
					async () =>
						(await call('GET', `/agent/sessions/${s.sessionId}`).catch(() => null))
							?.status === 200,
					20000,
					200,
				),
				'the session is there again',
			)
			await kill()
			assert.equal(await look(), 'SANDBOX_UNAVAILABLE')
			assert.equal(fs.statSync(envsOf(s.sessionId)).mode & 0o777, 0o600)
			assert.ok(
				!fs
					.readFileSync(path.join(own.stateDir, 'agent/sessions.log'), 'utf8')
					.includes(secret),
			)
			await end(s.sessionId)
			assert.equal(fs.existsSync(envsOf(s.sessionId)), false)
		})
		const many = Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`V${i}`, 'x']))
		const r = await call('POST', '/agent/sessions', { envs: many })
		assert.deepEqual([r.status, r.json.message], [400, "field 'envs' has more than 256 variables"])
	},
)

test('one whose sandbox was paused is woken, and nothing is lost', async () => {
	await withSession({ agentId: 'sleeper' }, async (s) => {
		await execute(s.sessionId, 'awake = 7')
		assert.equal((await call('POST', `/sandboxes/${s.sandboxId}/pause`, {})).status, 204)
		const r = await execute(s.sessionId, 'awake')
		assert.deepEqual([r.json.text, r.json.recovered], ['7', undefined], r.text)
		assert.equal((await call('GET', `/agent/sessions/${s.sessionId}`)).json.sandboxId, s.sandboxId)
		const { startedAt, endAt } = (await call('GET', `/sandboxes/${s.sandboxId}`)).json
		assert.ok(Date.parse(endAt) > Date.now() + 3000e3, `${startedAt} ${endAt}`)
		assert.equal((await execute(s.sessionId, 'awake', { timeout: 7200000 })).json.text, '7')
		assert.ok(
			Date.parse((await call('GET', `/sandboxes/${s.sandboxId}`)).json.endAt) > Date.now() + 7200e3,
			'it is there for as long as what runs in it may take',
		)
		assert.equal((await execute(s.sessionId, '1')).json.text, '1')
		assert.ok(
			Date.parse((await call('GET', `/sandboxes/${s.sandboxId}`)).json.endAt) > Date.now() + 7100e3,
			'and another call takes nothing of it away',
		)
	})
})

test('results from the cache: asked for, counted, and over with the first write', async () => {
	await withSession({ agentId: 'cached', cache: true }, async ({ sessionId: id }) => {
		const hits = async () => (await call('GET', '/agent/state')).json.cache.hits
		const was = await hits()
		assert.equal((await execute(id, 'sum(range(10))')).json.cached, undefined)
		assert.equal((await execute(id, 'sum(range(10))')).json.cached, true)
		assert.equal(await hits(), was + 1)
		assert.match(
			(await call('GET', '/agent/metrics')).text,
			new RegExp(`^atoll_agent_cache_hits_total ${was + 1}$`, 'm'),
		)
		assert.equal((await execute(id, '[1, 2].length', { language: 'javascript' })).json.cached, undefined)
		await execute(id, 'sum = len')
		const r = await execute(id, 'sum(range(10))')
		assert.equal(r.json.cached, undefined)
		assert.equal(r.json.text, '10')
	})
	await withSession({ agentId: 'plain' }, async ({ sessionId: id }) => {
		await execute(id, '1 + 1')
		assert.equal((await execute(id, '1 + 1')).json.cached, undefined)
	})
})

test('the policy refuses before anything is run, and the audit trail says so without the text', async () => {
	await withSession({ agentId: 'policed' }, async ({ sessionId: id }) => {
		for (const [code, language, rule] of [
			['!sudo touch /tmp/done-SECRETWORD', 'python', 'sudo'],
			['rm -r -f /', 'bash', 'rm-root'],
			['/usr/bin/docker run x', 'bash', 'no-docker'],
		]) {
			const r = await execute(id, code, { language })
			assert.equal(r.status, 403)
			assert.equal(r.json.error.message, 'Command not allowed by security policy')
			assert.equal(r.json.error.rule, rule)
		}
		assert.equal(
			(await execute(id, 'import os; os.path.exists("/tmp/done-SECRETWORD")')).json.text,
			'False',
		)
		const trail = (await call('GET', '/audit?kind=agent.violation')).text
		const records = trail
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line))
			.filter((r) => r.session === id)
		assert.deepEqual(
			records.map((r) => r.fields.rule),
			['sudo', 'rm-root', 'no-docker'],
		)
		assert.ok(!trail.includes('SECRETWORD'))
		assert.ok(!fs.readFileSync(own.log, 'utf8').includes('touch /tmp/done-SECRETWORD'))
	})
})

test('secrets of the environment reach the code, and not what is shown of it', async () => {
	await withSession(
		{ agentId: 'secret', envs: { GITHUB_TOKEN: 'sesame-open-sesame', COLOUR: 'blue-and-green' } },
		async ({ sessionId: id }) => {
			const r = await execute(
				id,
				'import os\nprint(os.environ["GITHUB_TOKEN"], os.environ["COLOUR"])\n' +
					'len(os.environ["GITHUB_TOKEN"])',
			)
			assert.deepEqual(r.json.logs.stdout, ['[redacted] blue-and-green\n'])
			assert.equal(r.json.text, '18')
			assert.match(
				(await execute(id, 'raise Exception(os.environ["GITHUB_TOKEN"])')).json.error.value,
				/^\[redacted\]$/,
			)
			assert.ok(!fs.readFileSync(own.log, 'utf8').includes('sesame'))
			assert.ok(!(await call('GET', '/audit')).text.includes('sesame'))
		},
	)
})

test('what a session uses, with an alert at 80 % of a limit', async () => {
	await withSession({ agentId: 'usage' }, async (s) => {
		const usage = async () => (await call('GET', `/agent/sessions/${s.sessionId}/usage`)).json
		const first = await usage() /* A10: not 0 right after its start */
		assert.ok(
			first.at && first.memoryUsed > 0 && first.memoryTotal > 0 && first.processes > 0,
			JSON.stringify(first),
		)
		await execute(s.sessionId, 'a = bytearray(430 << 20)\nfor i in range(0, len(a), 4096): a[i] = 1')
		assert.ok(
			await until(
				async () =>
					(await usage()).alerts.some(
						(one) => one.resource === 'memory' && one.percent >= 80,
					),
				30000,
				500,
			),
			JSON.stringify(await usage()),
		)
		const now = await usage()
		assert.equal(now.sandboxId, s.sandboxId)
		assert.ok(now.memoryUsed > 430 << 20 && now.memoryUsed <= now.memoryTotal, JSON.stringify(now))
		assert.equal((await call('GET', '/agent/sessions/ses_none/usage')).status, 404)
	})
})

test('bad input: the field is named, nothing is made', async () => {
	const before = (await call('GET', '/agent/sessions')).json.length
	for (const [body, text] of [
		['[]', /must be an object/],
		['{', /not valid JSON/],
		[{ agentId: 5 }, /agentId/],
		[{ agentId: 'x'.repeat(200) }, /agentId/],
		[{ agentId: 'a\nb' }, /agentId/],
		[{ resourceLimits: { memory: 'much' } }, /resourceLimits\.memory/],
		[{ resourceLimits: { cpu: -1 } }, /resourceLimits\.cpu/],
		[{ resourceLimits: { gpu: 1 } }, /resourceLimits\.gpu/],
		[{ environment: '../x' }, /^field 'environment' must be a name/],
		[{ envs: { 'A=': 'x' } }, /^field 'envs' has a bad name 'A='/],
	]) {
		const r = await call('POST', '/agent/sessions', body)
		assert.equal(r.status, 400, r.text)
		assert.match(r.json.message, text)
	}
	assert.equal((await call('POST', '/agent/sessions', { environment: 'no-such-template' })).status, 404)
	assert.equal((await call('GET', '/agent/sessions')).json.length, before)
	await withSession({}, async ({ sessionId: id }) => {
		for (const [body, status, text] of [
			[{}, 400, /'code'/],
			[{ code: 1 }, 400, /'code'/],
			[{ code: '1', timeout: 0 }, 400, /'timeout'/],
			[{ code: '1', timeout: 'x' }, 400, /'timeout'/],
			[{ code: '1', timeout_ms: 0 }, 400, /'timeout_ms'/],
			[{ code: '1', lang: 'js' }, 400, /field 'lang' is not known/],
			[{ code: 'x', language: 'cobol' }, 400, /Unsupported language: cobol/],
			[{ code: 'x'.repeat((1 << 20) + 1) }, 413, /longer than/],
		]) {
			const r = await call('POST', `/agent/sessions/${id}/execute`, body)
			assert.equal(r.status, status, r.text.slice(0, 300))
			assert.match(r.text, text)
		}
	})
	assert.equal((await request('GET', '/agent/sessions', { base: own.url })).status, 401)
	assert.equal((await call('PUT', '/agent/sessions')).status, 405)
})

test('sessions are there after the agent layer was killed, and after the front was', async () => {
	await withSession({ agentId: 'survivor' }, async (s) => {
		await execute(s.sessionId, 'v = 42')
		for (const name of ['atoll-agent', 'atoll-front']) {
			const pid = childrenOf(own.pid).find((p) => nameOf(p) === name)
			process.kill(pid, 'SIGKILL')
			assert.ok(
				await until(
					async () => {
						const r = await call('GET', `/agent/sessions/${s.sessionId}`).catch(
							() => null,
						)
						return r?.status === 200 && r.json.sandboxId === s.sandboxId
					},
					20000,
					200,
				),
				`after ${name}`,
			)
			const r = await execute(s.sessionId, 'v')
			assert.equal(r.json.text, '42', r.text)
			assert.equal(r.json.recovered, undefined)
		}
	})
})

test(
	'a mode of one key, by its id or its name: it is warned where others are refused, and a bad ' +
		'setting is named in the log',
	async () => {
		const odd = 'n\u00e4me, "odd": 100%41'
		const [mine, named, strict] = await Promise.all(
			['lenient', odd, odd].map(async (name) => (await call('POST', '/api-keys', { name })).json),
		)
		const settings = JSON.parse(fs.readFileSync(file, 'utf8'))
		const again = async (change) => {
			fs.writeFileSync(file, JSON.stringify({ ...settings, ...change }))
			process.kill(
				childrenOf(own.pid).find((p) => nameOf(p) === 'atoll-agent'),
				'SIGKILL',
			)
		}
		const up = () =>
			until(
				async () => (await call('GET', '/agent/health').catch(() => null))?.status === 200,
				30000,
				200,
			)
		await again({
			policy: { ...settings.policy, keys: { [mine.id]: 'warn', [odd]: 'warn', [strict.id]: 'deny' } },
		})
		assert.ok(await up())
		for (const { key } of [mine, named]) {
			const s = (await call('POST', '/agent/sessions', { agentId: 'lenient' }, key)).json
			const r = await call(
				'POST',
				`/agent/sessions/${s.sessionId}/execute`,
				{ code: 'sudo true', language: 'bash' },
				key,
			)
			assert.equal(r.status, 200, r.text)
			assert.equal(r.json.warning.rule, 'sudo')
			await call('DELETE', `/agent/sessions/${s.sessionId}`, undefined, key)
		}
		assert.match(
			(await call('POST', '/agent/tools/run_command', { command: 'sudo true' }, strict.key)).json
				.content[0].text,
			/^Command not allowed/,
			'the id counts before the name',
		)
		await withSession({}, async ({ sessionId: id }) =>
			assert.equal((await execute(id, 'sudo true', { language: 'bash' })).status, 403),
		)
		await again({ sessionTimeout: 'long' })
		assert.ok(
			await until(
				() => /could not start.*sessionTimeout/.test(fs.readFileSync(own.log, 'utf8')),
				30000,
				200,
			),
		)
		fs.writeFileSync(file, JSON.stringify(settings))
		assert.ok(await up(), 'it starts again by itself once the file is mended')
	},
)

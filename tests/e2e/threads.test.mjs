// SPDX-License-Identifier: Apache-2.0
// A front of three threads (front_threads): what it promises with one it promises with three.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import path from 'node:path'
import { atoll } from '../lib/cli.mjs'
import { childrenOf, nameOf, until } from '../lib/host.mjs'
import { newTlsServer } from '../lib/tls.mjs'

const { buildDir } = JSON.parse(process.env.ATOLL_TEST_SERVER)
const SANDBOXES = 6
const agents = []
let own, all

const frontOf = () => childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
// The thread sanitizer has a thread of its own, which is not counted.
const tasksOf = (pid) =>
	fs
		.readdirSync(`/proc/${pid}/task`)
		.map((tid) => `/proc/${pid}/task/${tid}`)
		.filter(
			(task) =>
				task.endsWith(`/${pid}`) || fs.readFileSync(`${task}/comm`, 'utf8') === 'atoll-lane\n',
		)
const field = (task, name) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(fs.readFileSync(`${task}/status`, 'utf8'))?.[1]

// One request on a connection of that agent.
function call(agent, method, target, { body, headers = {}, secure } = {}) {
	const text = body === undefined ? '' : JSON.stringify(body)
	const options = secure
		? { host: '127.0.0.1', port: own.tlsPort, ca: own.ca, servername: `api.${own.domain.split(':')[0]}` }
		: { host: '127.0.0.1', port: own.port }
	return new Promise((done, fail) => {
		const req = (secure ? https : http).request(
			{
				...options,
				agent,
				method,
				path: target,
				headers: {
					Host: secure ? `sandbox.${own.domain}` : `127.0.0.1:${own.port}`,
					'Content-Length': Buffer.byteLength(text),
					...(text && { 'Content-Type': 'application/json' }),
					...headers,
				},
			},
			(res) => {
				const parts = []
				res.on('data', (part) => parts.push(part))
				res.on('end', () =>
					done({ status: res.statusCode, text: Buffer.concat(parts).toString() }),
				)
				res.on('error', fail)
			},
		)
		req.on('error', fail)
		req.end(text)
	})
}

function newAgent(secure, maxSockets = 1) {
	agents.push(new (secure ? https : http).Agent({ keepAlive: true, maxSockets }))
	return agents.at(-1)
}

const control = (agent, method, target, body) =>
	call(agent, method, target, { body, headers: { 'X-API-Key': own.key } })

const into = (sbx, port) => ({
	'E2b-Sandbox-Id': sbx.sandboxID,
	'E2b-Sandbox-Port': String(port),
	'X-Access-Token': sbx.envdAccessToken,
})

const execute = (agent, sbx, code, secure) =>
	call(agent, 'POST', '/execute', { body: { code }, headers: into(sbx, 49999), secure })

async function prints(agent, sbx, word, secure) {
	const got = await execute(agent, sbx, `print("${word}")`, secure)
	assert.equal(got.status, 200, got.text)
	assert.ok(got.text.includes(word), got.text)
}

async function create() {
	const got = await control(newAgent(), 'POST', '/sandboxes', {
		templateID: 'code-interpreter-v1',
		timeout: 3600,
		secure: true,
	})
	assert.equal(got.status, 201, got.text)
	return JSON.parse(got.text)
}

// The lane knows a sandbox after its first request.
async function introduce(sbx) {
	await prints(newAgent(), sbx, 'hello')
	await prints(newAgent(), sbx, 'hello')
}

before(async () => {
	own = await newTlsServer(buildDir, { front_threads: 3, default_memory_mb: 512 })
	await own.start()
	all = await Promise.all(Array.from({ length: SANDBOXES }, create))
	await Promise.all(all.map(introduce))
})
after(async () => {
	for (const agent of agents) agent.destroy()
	const end = await own.stop()
	assert.deepEqual([end.how, end.clean], [0, true], JSON.stringify(end))
})

test('every thread is confined, and gets no signal', () => {
	const tasks = tasksOf(frontOf())
	assert.equal(tasks.length, 3)
	for (const task of tasks) {
		if (!process.env.ATOLL_TEST_ASAN) assert.equal(field(task, 'Seccomp'), '2', task)
		assert.equal(field(task, 'NoNewPrivs'), '1', task)
		assert.match(field(task, 'CapEff'), /^0+$/, task)
	}
	for (const task of tasks.filter((name) => !name.endsWith(`/${frontOf()}`)))
		assert.ok((BigInt(`0x${field(task, 'SigBlk')}`) & (1n << 14n)) !== 0n, `${task} takes SIGTERM`)
})

test('many clients of many sandboxes each get their own output, over plain HTTP and TLS', async () => {
	const busy = (task) => Number(fs.readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0])
	const tasks = tasksOf(frontOf()),
		before = tasks.map(busy)
	await Promise.all(
		[false, true].flatMap((secure) =>
			all.flatMap((sbx, i) =>
				[0, 1].map(async (k) => {
					const agent = newAgent(secure)
					for (let n = 0; n < 15; n++)
						await prints(agent, sbx, `w${i}-${k}-${n}-${secure}`, secure)
				}),
			),
		),
	)
	const used = tasks.map((task, i) => (busy(task) - before[i]) / 1e6)
	assert.ok(
		used.every((ms) => ms > 5),
		`a thread did nothing: ${used.join()} ms`,
	)
})

test('one connection for several sandboxes and the API keeps the order', async () => {
	for (const secure of [false, true]) {
		const agent = newAgent(secure)
		for (let n = 0; n < 8; n++) {
			const sbx = all[n % SANDBOXES]
			await prints(agent, sbx, `mixed-${n}`, secure)
			const got = await call(agent, 'GET', `/sandboxes/${sbx.sandboxID}`, {
				headers: { 'X-API-Key': own.key },
				secure,
			})
			assert.equal(got.status, 200, got.text)
			assert.equal(JSON.parse(got.text).sandboxID, sbx.sandboxID)
		}
	}
})

test('a wrong token is refused, and the next right one is not', async () => {
	const agent = newAgent(),
		sbx = all[0]
	const got = await call(agent, 'POST', '/execute', {
		body: { code: '1' },
		headers: { ...into(sbx, 49999), 'X-Access-Token': 'wrong' },
	})
	assert.equal(got.status, 401, got.text)
	await prints(agent, sbx, 'right')
})

test('a notebook has each cell as soon as the client has its answer', async () => {
	const agent = newAgent(),
		api = newAgent(),
		sbx = all[1]
	for (let n = 0; n < 10; n++) {
		await prints(agent, sbx, `cell-${n}`)
		const got = await control(api, 'GET', `/sandboxes/${sbx.sandboxID}/notebook`)
		assert.equal(got.status, 200, got.text)
		assert.ok(got.text.includes(`cell-${n}`), `cell ${n} is missing`)
	}
})

test('a secret that one request brings is redacted in the answers of others', async () => {
	const agent = newAgent(),
		sbx = all[2]
	const got = await call(agent, 'POST', '/execute', {
		body: {
			code: 'import os; kept = os.environ["MY_API_TOKEN"]',
			env_vars: { MY_API_TOKEN: 'sekret-of-threads' },
		},
		headers: into(sbx, 49999),
	})
	assert.equal(got.status, 200, got.text)
	await execute(newAgent(), sbx, 'print(kept)')
	const book = await control(newAgent(), 'GET', `/sandboxes/${sbx.sandboxID}/notebook`)
	assert.ok(!book.text.includes('sekret-of-threads'), book.text)
})

test('a pause ends what another thread streams, and nothing runs until the resume', async () => {
	const sbx = all[3],
		agent = newAgent(),
		api = newAgent()
	const code =
		'import time\nopen("/tmp/begun", "w")\n' +
		'for i in range(6000):\n print(i, flush=True)\n time.sleep(0.01)'
	const stream = execute(agent, sbx, code).then(
		() => 'ended',
		() => 'reset',
	)
	const begun = async () =>
		(await call(newAgent(), 'GET', '/files?path=/tmp/begun&username=root', { headers: into(sbx, 49983) }))
			.status
	assert.ok(await until(async () => (await begun()) === 200, 30000, 20), 'the stream begins')
	const got = await control(api, 'POST', `/sandboxes/${sbx.sandboxID}/pause`)
	assert.equal(got.status, 204, got.text)
	assert.equal(await stream, 'reset')
	const refused = await execute(newAgent(), sbx, '1')
	assert.equal(refused.status, 502, refused.text)
	const back = await control(api, 'POST', `/sandboxes/${sbx.sandboxID}/resume`, { timeout: 600 })
	assert.equal(back.status, 201, back.text)
	await introduce(sbx)
})

test('pauses and kills under load lose no request of another sandbox', async () => {
	const agent = newAgent()
	let on = true
	const load = Promise.all(
		all.slice(0, 3).map(async (sbx, i) => {
			const mine = newAgent()
			for (let n = 0; on; n++) await prints(mine, sbx, `load-${i}-${n}`)
		}),
	)
	for (let n = 0; n < 4; n++) {
		const sbx = await create()
		await introduce(sbx)
		const last = execute(newAgent(), sbx, 'import time; time.sleep(60)').catch(() => null)
		if (n % 2) assert.equal((await control(agent, 'POST', `/sandboxes/${sbx.sandboxID}/pause`)).status, 204)
		assert.equal((await control(agent, 'DELETE', `/sandboxes/${sbx.sandboxID}`)).status, 204)
		await last
	}
	on = false
	await load
})

test('a front that is killed is replaced, with its threads', async () => {
	const old = frontOf()
	process.kill(old, 'SIGKILL')
	assert.ok(await until(() => frontOf() && frontOf() !== old, 15000, 20))
	const ready = () =>
		execute(newAgent(), all[0], 'print("again")').then(
			(got) => got.status === 200,
			() => false,
		)
	assert.ok(await until(ready, 15000, 50))
	await Promise.all(all.map(introduce))
	assert.equal(tasksOf(frontOf()).length, 3)
})

test('the audit trail is one chain, and no code ran before its record', async () => {
	const dir = path.join(own.stateDir, 'audit')
	const lines = fs
		.readdirSync(dir)
		.sort()
		.flatMap((name) => fs.readFileSync(path.join(dir, name), 'utf8').split('\n').filter(Boolean))
		.map((line) => JSON.parse(line))
	const begun = new Set()
	lines.forEach((line, i) => {
		assert.equal(line.seq, lines[0].seq + i)
		if (line.kind === 'code.run') begun.add(line.request)
		if (line.kind === 'code.done')
			assert.ok(begun.has(line.request), `${line.request} ended before it began`)
	})
	assert.ok(begun.size > 300, `${begun.size} executions`)
	assert.equal(atoll(['audit', 'verify', '--state', own.stateDir]).code, 0)
})

// SPDX-License-Identifier: Apache-2.0
// The process behind /mcp and /agent: who may call it, what it may do, and what is left when it is not there.
import { after, before, test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { request, server } from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'
import { childrenOf, nameOf, until } from '../../lib/host.mjs'

const SPEAK_AS = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../lib/speak_as.py')
let own
before(async () => {
	own = await newServer(server.buildDir).start()
})
after(async () => {
	await own?.stop()
})

const agentPid = () => childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-agent')
const call = (method, where, { key = own.key, headers = {}, ...more } = {}) =>
	request(method, where, { base: own.url, headers: { ...(key && { 'X-API-Key': key }), ...headers }, ...more })

test('it answers for a good key, in whichever header, and for no other', async () => {
	assert.deepEqual((await call('GET', '/agent/health')).json, { status: 'ok', canExecuteCode: true })
	assert.equal(
		(await call('GET', '/agent/health', { key: '', headers: { Authorization: `Bearer ${own.key}` } }))
			.status,
		200,
	)
	for (const key of ['', 'e2b_' + '0'.repeat(40)]) {
		const re = await call('GET', '/agent/health', { key })
		assert.equal(re.status, 401)
		assert.match(re.json.message, /API key/)
	}
})

test('lines that only the front may write are not taken from clients', async () => {
	const re = await call('GET', '/agent/health', {
		key: '',
		headers: { 'X-Atoll-Key': own.key, 'X-Atoll-Team': 'x', 'X-Atoll-Admin': '1' },
	})
	assert.equal(re.status, 401)
})

test('unknown paths and methods', async () => {
	assert.deepEqual(
		[
			(await call('GET', '/agent/nothing')).status,
			(await call('GET', '/agent')).status,
			(await call('GET', '/agent/')).status,
		],
		[404, 404, 404],
	)
	const re = await call('POST', '/agent/health', { body: '{}' })
	assert.deepEqual([re.status, re.headers.allow], [405, 'GET'])
})

test('a body beyond the limit is refused, with a length or without', async () => {
	const big = Buffer.alloc(17 * 1024 * 1024, 0x20)
	for (const chunked of [false, true]) {
		const re = await call('POST', '/agent/tools/run_code', { body: big, chunked }).catch((e) => e)
		assert.ok(
			re.status === 413 || re.code === 'ECONNRESET' || re.code === 'EPIPE',
			`${re.status} ${re.code}`,
		)
	}
	assert.equal((await call('GET', '/agent/health')).status, 200)
})

test('it can execute nothing: the filter is on for each of its threads, and nothing in it would know how', async () => {
	await Promise.all(Array.from({ length: 8 }, () => call('GET', '/agent/health')))
	const pid = agentPid()
	for (const tid of fs.readdirSync(`/proc/${pid}/task`)) {
		const status = fs.readFileSync(`/proc/${pid}/task/${tid}/status`, 'utf8')
		assert.match(status, /^Seccomp:\t2$/m)
		assert.match(status, /^NoNewPrivs:\t1$/m)
		assert.match(status, /^CapEff:\t0{16}$/m)
	}
	const wants = execFileSync(
		'nm',
		['-D', '--undefined-only', path.join(server.buildDir, 'src/agent/atoll-agent')],
		{ encoding: 'utf8' },
	)
	assert.doesNotMatch(wants, /\b(execv\w*|execl\w*|fexecve|posix_spawn\w*|popen|system|fork|vfork)\b/)
	assert.deepEqual(childrenOf(pid), [])
})

test('one key cannot take all of it', async () => {
	const post = (name, args, key) =>
		call('POST', `/agent/tools/${name}`, {
			key,
			body: JSON.stringify(args),
			headers: { 'Content-Type': 'application/json' },
		})
	const team = (await call('POST', '/admin/teams', { body: '{"name":"others"}' })).json
	const other = (await call('POST', `/admin/teams/${team.teamID ?? team.id}/api-keys`, { body: '{"name":"k"}' }))
		.json.key
	const { sandboxId } = (await post('create_sandbox', { template: 'base' })).json.structuredContent
	const many = Promise.all(
		Array.from({ length: 80 }, () => post('run_command', { command: 'sleep 4', sandbox_id: sandboxId })),
	)
	const refused = await until(async () => (await post('list_sandboxes', {})).status === 429)
	assert.ok(refused, 'more than 64 at a time are refused')
	assert.equal((await post('list_sandboxes', {}, other)).status, 200)
	const statuses = (await many).map((re) => re.status)
	assert.ok(statuses.filter((n) => n === 200).length >= 60, statuses.join())
	assert.ok(
		statuses.every((n) => n === 200 || n === 429),
		statuses.join(),
	)
	assert.equal((await post('kill_sandbox', { sandbox_id: sandboxId })).status, 200)
})

test('an admin key acts for the team that it names, and for no other', async () => {
	const post = (name, args, headers) =>
		call('POST', `/agent/tools/${name}`, { body: JSON.stringify(args), headers })
	const team = (await call('POST', '/admin/teams', { body: '{"name":"named"}' })).json,
		head = { 'X-Team-ID': team.teamID ?? team.id }
	const { sandboxId } = (await post('create_sandbox', { template: 'base' }, head)).json.structuredContent
	const ids = async (headers) =>
		(await post('list_sandboxes', {}, headers)).json.structuredContent.sandboxes.map((s) => s.sandboxId)
	assert.deepEqual(await ids(head), [sandboxId])
	assert.ok(!(await ids({})).includes(sandboxId))
	assert.match(
		(await post('run_command', { command: 'true', sandbox_id: sandboxId }, {})).json.content[0].text,
		/^NOT_FOUND/,
	)
	assert.equal((await post('kill_sandbox', { sandbox_id: sandboxId }, head)).json.isError, false)
})

test('a server that is open needs no key, and pages of elsewhere get nothing', async () => {
	const open = await newServer(server.buildDir, { open: true, warm_pool_size: 0 }).start()
	try {
		const post = (headers) =>
			request('POST', '/agent/tools/list_sandboxes', { base: open.url, body: '{}', headers })
		assert.deepEqual((await post({})).json.structuredContent.sandboxes, [])
		assert.equal((await post({ Origin: 'http://evil.example' })).status, 401)
		assert.equal((await post({ Host: 'evil.example' })).status, 401)
	} finally {
		await open.stop()
	}
})

test('without it the rest of the API works, and its paths say so; a new one comes by itself', async () => {
	process.kill(agentPid(), 'SIGSTOP') /* it cannot come back before it is killed */
	const waiting = call('GET', '/agent/health')
	const [v2, health] = [await call('GET', '/v2/sandboxes'), await call('GET', '/health')]
	assert.deepEqual([v2.status, health.status], [200, 204])
	const old = agentPid()
	process.kill(old, 'SIGKILL')
	const re = await waiting
	assert.equal(re.status, 503)
	assert.match(re.json.message, /the agent layer is not running/)
	assert.equal(re.headers['retry-after'], '1')
	assert.ok(await until(() => agentPid() && agentPid() !== old))
	assert.ok(await until(async () => (await call('GET', '/agent/health')).status === 200))
})

test('a new front finds it again', async () => {
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	const agent = agentPid()
	process.kill(front, 'SIGKILL')
	assert.ok(await until(async () => (await call('GET', '/agent/health').catch(() => ({}))).status === 200))
	assert.equal(agentPid(), agent, 'the same process goes on')
})

// Neither of the two has a reason to send such a thing; one that was taken over may.
test('a packet that makes no sense costs one socket between front and agent layer, and nothing else', async () => {
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front'),
		agent = agentPid()
	const lost = () =>
		['lost the front', 'the link to atoll-agent has ended'].map(
			(words) => fs.readFileSync(own.log, 'utf8').split(words).length,
		) // each has its say
	for (const packet of [
		'ff',
		'0900010000000000',
		'0100070000000000',
		'0100010000000000',
		`01000200ff000000${'7b7d'.repeat(3)}`,
	]) {
		const before_ = lost()
		assert.equal(execFileSync('python3', [SPEAK_AS, agent, packet], { encoding: 'utf8' }), '1\n')
		assert.ok(await until(() => lost().every((n, i) => n > before_[i])), `${packet} was taken`)
		assert.ok(
			await until(async () => (await call('GET', '/agent/health')).status === 200),
			`after ${packet}`,
		)
	}
	assert.deepEqual(
		[childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front'), agentPid()],
		[front, agent],
		'both are still the same',
	)
})

test(
	'it may take so much memory and no more',
	{ skip: process.env.ATOLL_TEST_ASAN && 'sanitizers need more' },
	async () => {
		assert.match(
			fs.readFileSync(`/proc/${agentPid()}/limits`, 'utf8'),
			/^Max data size +2147483648 +2147483648 +bytes/m,
		)
	},
)

test('a new warden starts a new one', async () => {
	own.signal('SIGKILL')
	await own.exited
	await own.start()
	assert.ok(await until(async () => (await call('GET', '/agent/health').catch(() => ({}))).status === 200))
})

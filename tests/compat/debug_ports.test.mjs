// SPDX-License-Identifier: Apache-2.0
// E2B_DEBUG: the fixed ports on loopback and the one sandbox behind them, with clients of every generation.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, request, sdk, server as shared } from '../lib/client.mjs'
import { childrenOf, commOf, until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'
import { CLIENTS, install } from './clients.mjs'

const PORTS = [3000, 49983, 49999]
const DEBUG = { debug: true, apiKey: 'e2b_' + '0'.repeat(40) } /* no call of this mode needs a good one */
const ENVD = 'http://localhost:49983',
	INTERPRETER = 'http://localhost:49999'
let own, busy

for (const name of ['E2B_API_URL', 'E2B_SANDBOX_URL', 'E2B_API_KEY']) /* they would win */ delete process.env[name]

function listens(port, host = '127.0.0.1') {
	return new Promise((done) => {
		const sock = net.connect(port, host, () => {
			sock.destroy()
			done(true)
		})
		sock.once('error', () => done(false))
	})
}

before(async () => {
	for (const port of PORTS) busy ??= (await listens(port)) ? `port ${port} is taken by somebody else` : undefined
	if (!busy) own = await newServer(shared.buildDir, { debug_ports: true }).start()
})
after(async () => {
	const end = await own?.stop()
	assert.ok(end?.clean ?? true, JSON.stringify(end))
})

function debugTest(name, fn) {
	test(name, { timeout: 300000 }, async (t) => (busy ? t.skip(busy) : fn(t)))
}

const list = async () => (await api('GET', '/v2/sandboxes', undefined, { base: own.url, key: own.key })).json
const execute = (code, opt) => request('POST', '/execute', { base: INTERPRETER, body: { code }, ...opt })

debugTest('nothing is made before somebody asks', async () => {
	assert.deepEqual(await list(), [])
	for (const port of PORTS) assert.ok(await listens(port), String(port))
})

debugTest('only loopback addresses are listened on', () => {
	const lines = fs
		.readFileSync('/proc/net/tcp', 'utf8')
		.split('\n')
		.slice(1)
		.map((line) => line.trim().split(/\s+/))
	for (const port of PORTS) {
		const hex = port.toString(16).toUpperCase().padStart(4, '0')
		const open = lines
			.filter((f) => f[3] === '0A' && f[1]?.endsWith(`:${hex}`))
			.map((f) => f[1].split(':')[0])
		assert.deepEqual(open, ['0100007F'], String(port))
	}
})

for (const name of ['e2b', 'e2b-v1calls', 'e2b-old']) {
	debugTest(`the SDK in debug mode: ${name}`, async () => {
		const { Sandbox } = sdk(name)
		const sbx = await Sandbox.create(DEBUG)
		assert.equal(sbx.sandboxId, 'debug_sandbox_id')
		assert.equal((await sbx.commands.run('echo "$A"', { envs: { A: name } })).stdout, `${name}\n`)
		await sbx.files.write('debug/f.txt', name)
		assert.equal(await sbx.files.read('/home/user/debug/f.txt'), name)
		assert.deepEqual(
			(await sbx.files.list('debug')).map((e) => e.name),
			['f.txt'],
		)
		const bg = await sbx.commands.run('sleep 30', { background: true })
		assert.equal(await bg.kill(), true)
		assert.equal(sbx.getHost(49983), 'localhost:49983')
		assert.equal(await sbx.isRunning(), true)
		assert.equal(await sbx.kill().then((r) => r ?? true), true) /* does nothing in this mode */
		assert.equal(await sbx.isRunning(), true)
		const again = await Sandbox.connect('debug_sandbox_id', {
			...DEBUG,
			apiKey: own.key,
		}) /* the old one asks the API */
		assert.equal(await again.files.read('debug/f.txt'), name)
	})
}

for (const name of ['@e2b/code-interpreter', 'code-interpreter-old']) {
	debugTest(`the code interpreter in debug mode: ${name}`, async () => {
		const { Sandbox } = sdk(name)
		const sbx = await Sandbox.create(DEBUG)
		const mark = name.length
		await sbx.runCode(`x${mark} = ${mark}; print("out")`)
		const got = await sbx.runCode(`x${mark} * 2`)
		assert.equal(got.text, String(mark * 2))
		const ctx = await sbx.createCodeContext({ cwd: '/tmp' })
		assert.deepEqual((await sbx.runCode('import os; print(os.getcwd())', { context: ctx })).logs.stdout, [
			'/tmp\n',
		])
	})
}

const PROGRAM = `
from e2b_code_interpreter import Sandbox
s = Sandbox.create(debug=True) if hasattr(Sandbox, "create") else Sandbox(debug=True)
assert s.sandbox_id == "debug_sandbox_id", s.sandbox_id
assert s.commands.run("echo hi").stdout == "hi\\n"
s.files.write("p.txt", "x")
assert s.files.read("p.txt") == "x"
assert s.run_code("p = 6\\np * 7").text == "42"
assert s.is_running()
s.kill()
print("done")
`

for (const id of ['py', 'py-1']) {
	debugTest(`the Python SDK in debug mode: ${id}`, (t) => {
		const { dir, why } = install(
			CLIENTS.find((c) => c.id === id),
			shared.buildDir,
		)
		if (why) return t.skip(why)
		const run = spawnSync(path.join(dir, 'bin/python'), ['-c', PROGRAM], {
			encoding: 'utf8',
			timeout: 60000,
			env: { PATH: process.env.PATH, E2B_API_KEY: DEBUG.apiKey },
		})
		assert.equal(run.status, 0, run.stderr)
		assert.match(run.stdout, /done/)
	})
}

debugTest('it is one sandbox, seen in the list, with the longest life', async () => {
	const all = await list()
	assert.equal(all.length, 1)
	assert.equal(all[0].metadata.debug, 'true')
	assert.ok(Date.parse(all[0].endAt) - Date.now() > 12 * 3600 * 1000)
	const viaDebug = await api('GET', '/v2/sandboxes', undefined, { base: 'http://localhost:3000', key: own.key })
	assert.deepEqual(
		viaDebug.json.map((s) => s.sandboxID),
		[all[0].sandboxID],
	)
	assert.equal(
		(await api('GET', '/v2/sandboxes', undefined, { base: 'http://localhost:3000', key: null })).status,
		401,
	)
	const info = await api('GET', '/sandboxes/debug_sandbox_id', undefined, {
		base: 'http://localhost:3000',
		key: own.key,
	})
	assert.equal(info.json.sandboxID, all[0].sandboxID)
	assert.equal((await api('GET', '/sandboxes/debug_sandbox_id')).status, 400) /* a server without debug ports */
})

debugTest('a new front goes on with the same one', async () => {
	const [{ sandboxID }] = await list()
	const front = childrenOf(own.pid).find((pid) => commOf(pid) === 'atoll-front')
	process.kill(front, 'SIGKILL')
	assert.ok(await until(async () => (await execute('"again"').catch(() => ({}))).status === 200, 10000, 100))
	assert.deepEqual(
		(await list()).map((s) => s.sandboxID),
		[sandboxID],
	)
})

debugTest('one that ended is replaced at the next request, by one that many wait for', async () => {
	const [{ sandboxID }] = await list()
	assert.equal(
		(await api('DELETE', `/sandboxes/${sandboxID}`, undefined, { base: own.url, key: own.key })).status,
		204,
	)
	const all = await Promise.all([...Array(8)].map((_, i) => execute(`${i} + 1`)))
	all.forEach((res, i) => assert.match(res.text, new RegExp(`"text":"${i + 1}"`)))
	const now = await list()
	assert.equal(now.length, 1)
	assert.notEqual(now[0].sandboxID, sandboxID)
})

debugTest('pages of browsers, other names and proxied requests are refused', async () => {
	for (const headers of [
		{ Origin: 'http://evil.example' },
		{ Origin: 'null' },
		{ Host: 'evil.example' },
		{ 'X-Forwarded-For': '192.0.2.1' },
	]) {
		for (const base of [ENVD, INTERPRETER])
			assert.equal(
				(await request('GET', '/health', { base, headers })).status,
				403,
				JSON.stringify(headers),
			)
	}
	assert.equal((await request('POST', '/init', { base: ENVD, body: {} })).status, 404)
	assert.equal((await request('GET', '/atoll/events', { base: ENVD })).status, 404)
})

debugTest('a routing header on a debug port leads nowhere else', async () => {
	const made = await api('POST', '/v2/sandboxes', { templateID: 'base' }, { base: own.url, key: own.key })
	const headers = { 'E2b-Sandbox-Id': made.json.sandboxID, 'E2b-Sandbox-Port': '8080' }
	const envs = await request('GET', '/envs', { base: ENVD, headers })
	assert.notEqual(envs.json.E2B_SANDBOX_ID, made.json.sandboxID)
	await api('DELETE', `/sandboxes/${made.json.sandboxID}`, undefined, { base: own.url, key: own.key })
})

debugTest('`atoll env --debug` says so; without the setting nothing listens', async () => {
	const env = spawnSync(own.atoll(), ['env', '--debug', '--state', own.stateDir], { encoding: 'utf8' })
	assert.match(env.stdout, /export E2B_DEBUG='true'/)
	const off = spawnSync(own.atoll(), ['env', '--debug', '--state', shared.stateDir], { encoding: 'utf8' })
	assert.notEqual(off.status, 0)
	assert.match(off.stderr, /debug-ports/)
})

// SPDX-License-Identifier: Apache-2.0
// What the SDKs make of 429: over a quota they raise their own error at once, over a rate they wait as they are told
// to, or say so.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, server } from '../lib/client.mjs'
import { CLIENTS, install } from './clients.mjs'

const CALLS = 12
let team, key, refused

before(async () => {
	team = (await api('POST', '/admin/teams', { name: `limited-${process.pid}`, maxSandboxes: 1 })).json
	key = (await api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' })).json.key
	refused = async () =>
		Number(
			/^atoll_request_errors_total\{class="rate"\} (\d+)/m.exec(
				(await api('GET', '/metrics')).text,
			)[1],
		)
})
after(async () => {
	await api('POST', `/admin/teams/${team.teamID}/sandboxes/kill`)
	await api('DELETE', `/admin/teams/${team.teamID}`)
})

// Both print what came of each call: "ok", or the name of the error.
const JS = `
const { Sandbox } = require('e2b')
const tried = async (fn) => console.log(await fn().then(() => 'ok', (e) => e.name))
;(async () => {
	if (process.argv[1] === 'quota') {
		const sandbox = await Sandbox.create('base', { timeoutMs: 60000 })
		await tried(() => Sandbox.create('base', { timeoutMs: 60000 }))
		await sandbox.kill()
		await tried(() => Sandbox.create('base', { timeoutMs: 60000 }).then((next) => next.kill()))
	} else {
		for (let i = 0; i < ${CALLS}; i++) await tried(() => Sandbox.list().nextItems())
	}
})()`
const PY = `
import sys
from e2b import Sandbox
def tried(fn):
    try:
        fn()
        print("ok")
    except Exception as e: print(type(e).__name__)
if sys.argv[1] == "quota":
    sandbox = Sandbox.create("base", timeout=60)
    tried(lambda: Sandbox.create("base", timeout=60))
    sandbox.kill()
    tried(lambda: Sandbox.create("base", timeout=60).kill())
else:
    for i in range(${CALLS}): tried(lambda: Sandbox.list().next_items())
`

const programs = {
	js: (dir, what) => [process.execPath, ['--no-warnings', '-e', JS, what], { cwd: dir }],
	py: (dir, what) => [path.join(dir, 'bin/python'), ['-c', PY, what], {}],
}

for (const id of ['js', 'py']) {
	const client = CLIENTS.find((one) => one.id === id)
	const run = (what) => {
		const { dir } = install(client, server.buildDir)
		const [command, args, opt] = programs[id](dir, what)
		const got = spawnSync(command, args, {
			...opt,
			encoding: 'utf8',
			timeout: 80000,
			env: { ...process.env, E2B_API_KEY: key },
		})
		assert.equal(got.status, 0, got.stderr)
		return got.stdout.trim().split('\n')
	}
	const error = id === 'js' ? 'RateLimitError' : 'RateLimitException'

	test(`${client.title}: a quota is its rate limit error, and over when there is room again`, (t) => {
		const { why } = install(client, server.buildDir)
		if (why) return t.skip(why)
		assert.deepEqual(run('quota'), [error, 'ok'])
	})

	test(`${client.title}: over a rate it waits, or raises that error, and nothing else`, async (t) => {
		const { why } = install(client, server.buildDir)
		if (why) return t.skip(why)
		const before = await refused()
		assert.equal((await api('PATCH', `/admin/teams/${team.teamID}`, { rateLimit: 2 })).status, 200)
		const got = run('rate')
		assert.equal((await api('PATCH', `/admin/teams/${team.teamID}`, { rateLimit: null })).status, 200)
		assert.equal(got.length, CALLS)
		assert.ok(
			got.every((one) => one === 'ok' || one === error),
			got.join(' '),
		)
		assert.ok(got.filter((one) => one === 'ok').length >= 2, got.join(' '))
		assert.ok((await refused()) > before, 'no call was over the rate')
		if (id === 'js')
			// it retries when it is told for how long to wait
			assert.ok(
				got.every((one) => one === 'ok'),
				got.join(' '),
			)
	})
}

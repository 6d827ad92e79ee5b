// SPDX-License-Identifier: Apache-2.0
// The pool of finished sandboxes: who gets one and how it is then, how many there are, what happens when one or all
// of them die.
import { test, after } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { api, createRaw, envd, killRaw, request, routeHeaders, shell, stream } from '../lib/client.mjs'
import { childrenOf, nameOf, processesOf, until } from '../lib/host.mjs'
import { Clock, DAY, HOUR, serverWithClock } from '../lib/clock.mjs'
import { newServer } from '../lib/server.mjs'

const WAIT_MS = process.env.ATOLL_TEST_ASAN ? 120000 : 60000
const CI = 'code-interpreter-v1'
const buildDir = JSON.parse(process.env.ATOLL_TEST_SERVER).buildDir
const key20 = /^i[a-z0-9]{19}$/

function via(own) {
	const opt = { base: own.url, key: own.key }
	return {
		opt,
		create: (body, more) => createRaw({ timeout: 600, ...body }, { ...opt, ...more }),
		kill: (sbx) => killRaw(sbx, opt),
		api: (method, where, body, more) => api(method, where, body, { ...opt, ...more }),
		envd: (sbx, method, where, body, more) => envd(sbx, method, where, body, { base: own.url, ...more }),
		run: async (sbx, command) => (await shell(sbx, command, { base: own.url })).stdout,
		python: (sbx, code, language = 'python') => execute(own, sbx, code, language),
		pool: (template) => poolOf(own, template),
		full: (template, n) => full(own, template, n),
	}
}

// The text of the last expression.
async function execute(own, sbx, code, language) {
	const res = await request('POST', '/execute', {
		base: own.url,
		body: { code, language },
		headers: routeHeaders(sbx, '49999'),
	})
	assert.equal(res.status, 200, res.text)
	const events = res.text
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line))
	const error = events.find((e) => e.type === 'error')
	assert.equal(error, undefined, JSON.stringify(error))
	return events.find((e) => e.type === 'result' && e.is_main_result)?.text
}

async function poolOf(own, template) {
	const { text } = await api('GET', '/metrics', undefined, { base: own.url, key: own.key })
	const value = (name) =>
		Number(
			new RegExp(`^atoll_pool_${name}\\{template="${template}"\\} (\\d+)$`, 'm').exec(text)?.[1] ??
				NaN,
		)
	return {
		ready: value('ready'),
		starting: value('starting'),
		target: value('target'),
		hits: value('hits_total'),
		misses: value('misses_total'),
	}
}

// Until n are ready and none is on its way.
async function full(own, template, n) {
	let seen
	const ok = await until(
		async () => {
			seen = await poolOf(own, template)
			return seen.ready === n && seen.starting === 0
		},
		WAIT_MS,
		100,
	)
	assert.ok(ok, `not ${n} of ${template}: ${JSON.stringify(seen)}`)
	return seen
}

// The host's pids of the first process of every sandbox.
function inits(own) {
	const text = (pid, name) => {
		try {
			return fs.readFileSync(`/proc/${pid}/${name}`, 'utf8')
		} catch {
			return ''
		}
	}
	return processesOf(own.slot).filter(
		(pid) =>
			/^NSpid:.*\t1$/m.test(text(pid, 'status')) &&
			new RegExp(`/atoll${own.slot}/i[a-z0-9]{19}\\b`).test(text(pid, 'cgroup')),
	)
}

const records = (own) => fs.readdirSync(path.join(own.runDir, 'sandboxes')).filter((name) => key20.test(name))

// Requests whose bytes the front has not read yet.
function unread(port) {
	const lines = fs.readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
	return lines.filter((line) => {
		const [, local, , state, queues] = line.trim().split(/\s+/)
		return parseInt(local.split(':')[1], 16) === port && state === '01' && !queues.endsWith(':00000000')
	}).length
}

// The front meets all requests at the same moment, even on a busy machine that sends them one by one.
async function atOnce(own, n, ask) {
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	process.kill(front, 'SIGSTOP')
	try {
		const asked = Array.from({ length: n }, ask)
		assert.ok(await until(() => unread(Number(new URL(own.url).port)) >= n, 30000, 10))
		return Promise.all(asked)
	} finally {
		process.kill(front, 'SIGCONT')
	}
}

async function withServer(config, use, clock) {
	const all = { warm_pool_size: 2, ...config }
	const own = await (clock ? serverWithClock(buildDir, clock, all) : newServer(buildDir, all)).start()
	let failed
	try {
		await use(own, via(own))
	} catch (err) {
		failed = err
	}
	const end = await own.stop({ remove: !failed })
	if (failed) throw failed
	assert.ok(end.clean, JSON.stringify(end.left))
}

let shared
async function theServer() {
	shared ??= await newServer(buildDir, { warm_pool_size: 2 }).start()
	return { own: shared, at: via(shared) }
}

after(async () => {
	const end = await shared?.stop()
	assert.ok(end?.clean ?? true, JSON.stringify(end?.left))
})

test('a sandbox from the pool is as asked for: variables, metadata, timeout, tokens, template', async () => {
	const { at } = await theServer()
	const before = await at.full(CI, 2)
	const sbx = await at.create({
		templateID: 'python-datascience',
		envVars: { FOO: 'from create', TZ: 'Asia/Tokyo' },
		metadata: { who: 'me' },
		timeout: 123,
	})
	try {
		assert.equal((await at.pool(CI)).hits, before.hits + 1)
		assert.match(sbx.sandboxID, key20)
		assert.ok(sbx.envdAccessToken)
		assert.equal(sbx.alias, 'python-datascience')
		const { json: info } = await at.api('GET', `/sandboxes/${sbx.sandboxID}`)
		assert.deepEqual(info.metadata, { who: 'me' })
		const left = (Date.parse(info.endAt) - Date.parse(info.startedAt)) / 1000
		assert.ok(left > 122 && left < 124, `${left} s`)
		assert.equal(info.state, 'running')
		assert.equal(await at.run(sbx, 'echo $FOO'), 'from create\n')
		assert.equal(
			await at.run(
				sbx,
				'echo $E2B_SANDBOX_ID $E2B_TEMPLATE_ID; cat /run/e2b/.E2B_SANDBOX_ID; echo; cat ' +
					'/run/e2b/.E2B_TEMPLATE_ID',
			),
			`${sbx.sandboxID} ${sbx.templateID}\n${sbx.sandboxID}\n${sbx.templateID}`,
		)
		assert.equal(
			await at.python(sbx, 'import os; [os.environ["FOO"], os.environ["E2B_TEMPLATE_ID"]]'),
			`['from create', '${sbx.templateID}']`,
		)
		assert.equal(await at.python(sbx, 'import time; time.strftime("%Z")'), 'JST')
		assert.equal(await at.python(sbx, 'process.env.FOO', 'javascript'), 'from create')
		assert.equal(await at.python(sbx, '!echo $FOO\nos.popen("echo $FOO").read()'), 'from create\\n')
		const { json: envs } = await at.envd(sbx, 'GET', '/envs')
		assert.equal(envs.FOO, 'from create')
		const closed = await at.envd({ ...sbx, envdAccessToken: undefined }, 'GET', '/envs')
		assert.equal(closed.status, 401)
	} finally {
		await at.kill(sbx)
	}
})

test('a variable that a process only reads when it starts is seen, too', async () => {
	const { at } = await theServer()
	const before = await at.full(CI, 2)
	const sbx = await at.create({ templateID: CI, envVars: { PYTHONPATH: '/home/user/mine', FOO: 'x' } })
	try {
		assert.equal((await at.pool(CI)).hits, before.hits + 1)
		assert.equal(
			await at.python(sbx, 'import sys, os; ["/home/user/mine" in sys.path, os.environ["FOO"]]'),
			"[True, 'x']",
		)
	} finally {
		await at.kill(sbx)
	}
})

test('without variables nothing of another sandbox shows, and v1 and secure: false keep their meaning', async () => {
	const { at } = await theServer()
	const { hits } = await at.full('base', 2)
	const open = await at.create({ envVars: { SECRET_OF_ONE: '1' } }, { version: 'v1' })
	const secure = await at.create({ secure: true, timeout: undefined }, { version: 'v1' })
	try {
		assert.equal((await at.pool('base')).hits, hits + 2)
		assert.equal(open.envdAccessToken, undefined)
		assert.equal((await at.envd(open, 'GET', '/envs')).status, 200)
		assert.ok(secure.envdAccessToken)
		assert.equal((await at.envd({ sandboxID: secure.sandboxID }, 'GET', '/envs')).status, 401)
		assert.equal((await at.envd(secure, 'GET', '/envs')).json.SECRET_OF_ONE, undefined)
		const { json: info } = await at.api('GET', `/sandboxes/${secure.sandboxID}`)
		assert.equal(info.timeoutSeconds, 15) /* the default of v1 */
	} finally {
		await at.kill(open)
		await at.kill(secure)
	}
})

test('two sandboxes from the pool share no id, machine-id, boot id, address or stream of random numbers', async () => {
	const { at } = await theServer()
	const { hits } = await at.full(CI, 2)
	const two = [await at.create({ templateID: CI }), await at.create({ templateID: CI })]
	try {
		assert.equal((await at.pool(CI)).hits, hits + 2)
		const code =
			'import random, secrets, uuid, ssl, os\nimport numpy as np\n' +
			('print(random.random(), secrets.token_hex(8), uuid.uuid4(), ssl.RAND_bytes(8).hex(), ' +
				'os.urandom(8).hex(), np.random.rand())\n') +
			('" ".join([str(random.random()), secrets.token_hex(8), str(uuid.uuid4()), ' +
				'ssl.RAND_bytes(8).hex(), os.urandom(8).hex(), str(np.random.rand())])')
		const look = async (sbx) => [
			sbx.sandboxID,
			sbx.envdAccessToken,
			...(
				await at.run(
					sbx,
					'cat /etc/machine-id /proc/sys/kernel/random/boot_id; hostname -I; echo ' +
						'$RANDOM$RANDOM$RANDOM',
				)
			)
				.trim()
				.split('\n'),
			...(await at.python(sbx, code)).split(' '),
		]
		const [a, b] = [await look(two[0]), await look(two[1])]
		assert.equal(a.length, 12)
		a.forEach((value, i) => assert.notEqual(value, b[i], `value ${i} is the same in both: ${value}`))
	} finally {
		await Promise.all(two.map(at.kill))
	}
})

test('the interpreter of a sandbox from the pool is as new', async () => {
	const { at } = await theServer()
	const { hits } = await at.full(CI, 2)
	const pooled = await at.create({ templateID: CI })
	const other = await at.create({ templateID: CI, allow_internet_access: false })
	try {
		assert.equal((await at.pool(CI)).hits, hits + 1)
		const first = 'sorted(globals()), In, Out, _i, _ii, get_ipython().execution_count'
		const second =
			'(len(In), sorted(Out), _ih[1][:6], sorted(n for n in globals() if n.startswith("_")), ' +
			'__import__("os").getcwd(), __import__("sys").argv, ' +
			'[n for n, v in sorted(get_ipython().user_ns_hidden.items()) if n == "sys"])'
		for (const code of [first, second])
			assert.equal(await at.python(pooled, code), await at.python(other, code))
	} finally {
		await at.kill(pooled)
		await at.kill(other)
	}
})

test('what is not plain is not taken from the warm pool, and is right', async () => {
	const { at } = await theServer()
	const before = await at.full('base', 2)
	const cut = await at.create({ allow_internet_access: false })
	try {
		const now = await at.pool('base')
		assert.deepEqual([now.hits, now.misses], [before.hits, before.misses])
		const { json: info } = await at.api('GET', `/sandboxes/${cut.sandboxID}`)
		assert.equal(info.allowInternetAccess, false)
		assert.match(
			await at.run(cut, 'timeout 3 bash -c "echo > /dev/tcp/1.1.1.1/443" 2>&1; echo $?'),
			/[^0]\n$/,
		)
	} finally {
		await at.kill(cut)
	}
})

test('members are in no list, in no count of a team and under no quota; their ids lead nowhere', async () => {
	const { own, at } = await theServer()
	await at.full('base', 2)
	await at.full(CI, 2)
	for (const where of ['/sandboxes', '/v2/sandboxes', '/v2/sandboxes?state=running,paused'])
		assert.deepEqual((await at.api('GET', where)).json, [])
	const { text } = await at.api('GET', '/metrics')
	assert.match(text, /^atoll_sandboxes\{state="running"\} 0$/m)
	assert.match(text, /^atoll_sandboxes\{state="starting"\} 0$/m)
	await until(() => records(own).length === 4) /* what was killed before is on its way out */
	const ids = records(own)
	assert.equal(ids.length, 4)
	for (const id of ids) {
		assert.ok(!text.includes(id))
		assert.equal((await at.api('GET', `/sandboxes/${id}`)).status, 404)
		assert.equal((await at.api('DELETE', `/sandboxes/${id}`)).status, 404)
		assert.equal((await at.api('POST', `/sandboxes/${id}/connect`, { timeout: 60 })).status, 404)
		assert.equal((await at.envd({ sandboxID: id }, 'GET', '/health')).status, 502)
	}
	const team = (await at.api('POST', '/admin/teams', { name: 'pool-quota', maxSandboxes: 1 })).json
	const { key } = (await at.api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' })).json
	const one = await createRaw({ timeout: 60 }, { base: own.url, key })
	try {
		assert.equal(
			(await api('POST', '/v2/sandboxes', { templateID: 'base' }, { base: own.url, key })).status,
			429,
		)
	} finally {
		assert.equal((await killRaw(one, { base: own.url, key })).status, 204)
		await at.api('DELETE', `/admin/teams/${team.teamID}`)
	}
})

test('a burst makes the pool grow, a quiet hour keeps it so, and a quiet day makes it shrink again', async () => {
	const clock = new Clock()
	await withServer(
		{ warm_pool_size: 1, warm_pool_max: 6 },
		async (own, at) => {
			await at.full('base', 1)
			const all = await atOnce(own, 16, () => at.create())
			assert.equal((await at.pool('base')).target, 6)
			assert.equal(new Set(all.map((sbx) => sbx.sandboxID)).size, 16)
			for (const sbx of all)
				assert.equal(await at.run(sbx, 'echo $E2B_SANDBOX_ID'), `${sbx.sandboxID}\n`)
			await Promise.all(all.map(at.kill))
			await at.full('base', 6)
			clock.pass(HOUR)
			const { hits, misses } = await at.full('base', 6)
			const again = await Promise.all(Array.from({ length: 6 }, () => at.create()))
			const now = await at.pool('base')
			assert.deepEqual([now.hits, now.misses], [hits + 6, misses])
			await Promise.all(again.map(at.kill))
			clock.pass(DAY)
			await at.full('base', 1)
			assert.equal((await at.pool('base')).target, 1)
			assert.ok(
				await until(() => records(own).length === 2, 10000),
				`${records(own).length} sandboxes are left`,
			) /* the other template's one */
			assert.equal((await at.pool(CI)).target, 1)
		},
		clock,
	).finally(() => clock.remove())
})

test('a member that dies is replaced; one that dies at the last moment costs its client nothing', async () => {
	await withServer({}, async (own, at) => {
		await at.full('base', 2)
		await at.full(CI, 2)
		const gone = inits(own)
		assert.equal(gone.length, 4)
		for (const pid of gone) process.kill(pid, 'SIGKILL')
		/* At once: whichever of the ends the front has heard of by now, the sandbox it gives works. */
		const fresh = await Promise.all([
			at.create(),
			at.create({ templateID: CI, envVars: { FOO: 'bar' } }),
			at.create(),
		])
		for (const sbx of fresh) assert.equal(await at.run(sbx, 'echo $E2B_SANDBOX_ID'), `${sbx.sandboxID}\n`)
		assert.equal(await at.python(fresh[1], 'import os; os.environ["FOO"]'), 'bar')
		await Promise.all(fresh.map(at.kill))
		await at.full('base', 2)
		await at.full(CI, 2)
		assert.deepEqual(
			gone.filter((pid) => inits(own).includes(pid)),
			[],
		)
	})
})

test('a member that hangs is not given out', async () => {
	await withServer({ warm_pool_size: 1 }, async (own, at) => {
		await at.full('base', 1)
		await at.full(CI, 1)
		inits(own).forEach((pid) => process.kill(pid, 'SIGSTOP'))
		const sbx = await at.create({ envVars: { FOO: 'bar' } })
		assert.equal(await at.run(sbx, 'echo $FOO $E2B_SANDBOX_ID'), `bar ${sbx.sandboxID}\n`)
		const now = await at.pool('base')
		assert.deepEqual([now.hits, now.misses], [0, 1])
		assert.equal((await at.api('GET', '/v2/sandboxes')).json.length, 1)
		await at.kill(sbx)
	})
})

test('the maximum of sandboxes is for those in use: members make room', async () => {
	await withServer({ max_sandboxes: 3, warm_pool_size: 2 }, async (own, at) => {
		assert.ok(await until(() => records(own).length === 3, WAIT_MS), 'not filled up')
		const all = []
		for (let i = 0; i < 3; i++) all.push(await at.create({ allow_internet_access: false }))
		assert.equal((await at.api('POST', '/v2/sandboxes', { templateID: 'base' })).status, 429)
		for (const sbx of all) assert.equal(await at.run(sbx, 'echo ok'), 'ok\n')
		await Promise.all(all.map(at.kill))
		assert.ok(await until(() => records(own).length === 3, WAIT_MS), 'not filled up again')
	})
})

test('members go when memory gets short, and come back', async () => {
	// The zygotes of the templates take their part of it, too.
	await withServer({ mem_total_mb: 4000, default_memory_mb: 3990, warm_pool_size: 1 }, async (own, at) => {
		await at.full('base', 1)
		await at.full(CI, 1)
		const sbx = await at.create()
		await stream(
			sbx,
			'process.Process/Start',
			{
				process: { cmd: 'python3', args: ['-c', 'x = bytearray(3540 << 20); input()'] },
				stdin: true,
			},
			{ base: own.url },
		)
		const target = async () => (await at.pool(CI)).target
		assert.ok(await until(async () => (await target()) === 0, WAIT_MS, 200), 'it still wants members')
		await at.full('base', 0)
		await at.full(CI, 0)
		assert.equal(await at.run(sbx, 'pkill python3; echo free'), 'free\n')
		await at.full('base', 1)
		await at.full(CI, 1)
		await at.kill(sbx)
	})
})

test('SIGKILL of the front or of the warden: no member is left over, and there are new ones', async () => {
	await withServer({}, async (own, at) => {
		await at.full('base', 2)
		await at.full(CI, 2)
		const kept = await at.create({ metadata: { kept: 'yes' } })
		await at.full('base', 2)
		const frontOf = () => childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
		const others = async (old) => {
			assert.ok(
				await until(
					async () =>
						await at.api('GET', '/health').then(
							(r) => r.status < 500,
							() => false,
						),
					WAIT_MS,
				),
				'no front',
			)
			await at.full('base', 2)
			await at.full(CI, 2)
			await until(() => records(own).length <= 5, WAIT_MS) /* the old ones are on their way out */
			const now = records(own)
			assert.deepEqual(
				now.filter((id) => old.includes(id)),
				[kept.sandboxID],
			)
			assert.equal(now.length, 5)
			const sbx = await at.create({ envVars: { A: '1' } })
			assert.equal(await at.run(sbx, 'echo $A'), '1\n')
			assert.equal((await at.kill(sbx)).status, 204)
		}
		let old = records(own)
		const front = frontOf()
		process.kill(front, 'SIGKILL')
		assert.ok(await until(() => frontOf() && frontOf() !== front, WAIT_MS))
		await others(old)
		await at.full('base', 2)
		assert.ok(await until(() => records(own).length === 5, WAIT_MS), records(own).join())
		old = records(own)
		own.signal('SIGKILL')
		await own.exited
		await own.start()
		await others(old)
		assert.equal(await at.run(kept, 'echo still'), 'still\n')
		assert.deepEqual(
			(await at.api('GET', '/v2/sandboxes')).json.map((s) => s.metadata),
			[{ kept: 'yes' }],
		)
	})
})

test('a stop ends the members, also one that keeps the sandboxes in use', async () => {
	await withServer({ on_stop: 'keep' }, async (own, at) => {
		await at.full('base', 2)
		const sbx = await at.create()
		own.signal('SIGTERM')
		assert.equal(await own.exited, 0)
		assert.deepEqual(records(own), [sbx.sandboxID])
		await own.start()
		assert.equal(await at.run(sbx, 'echo still'), 'still\n')
		await at.kill(sbx)
	})
})

test('bad settings are refused by name', async () => {
	for (const [config, text] of [
		[{ warm_pool_size: -1 }, /warm_pool_size = '-1': wants a number from 0 to 500/],
		[{ warm_pool_size: 'many' }, /warm_pool_size = 'many'/],
		[{ warm_pool_max: 0 }, /warm_pool_max = '0': wants a number from 1 to 500/],
		[{ warm_pool_size: 5, warm_pool_max: 4 }, /warm_pool_size is above warm_pool_max \(5 > 4\)/],
	]) {
		const own = newServer(buildDir, config)
		try {
			await assert.rejects(own.start(), text)
		} finally {
			own.discard()
		}
	}
})

test('with warm_pool_size = 0 there is none', async () => {
	await withServer({ warm_pool_size: 0 }, async (own, at) => {
		const sbx = await at.create()
		assert.deepEqual(records(own), [sbx.sandboxID])
		assert.ok(!(await at.api('GET', '/metrics')).text.includes('atoll_pool'))
		await at.kill(sbx)
		assert.ok(await until(() => records(own).length === 0, 10000))
	})
})

// SPDX-License-Identifier: Apache-2.0
// Snapshots and forks: others that go on where a sandbox was, while it goes on itself.
import { test } from '../lib/case.mjs'
import fs from 'node:fs'
import assert from 'node:assert/strict'
import { api, asUser, createRaw, endOf, killRaw, outputOf, rpc, server, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { keptBy, sleep, until } from '../lib/host.mjs'
import { runCode } from '../lib/interp.mjs'
import { built } from '../ckpt/drive.mjs'

const tools = built('tools')
const noMemory = tools.why && `CRIU is not there: ${tools.why}`
const CONFIG = { pool_size_mb: 3072, checkpoint_after_s: 3600 }

function via(own, key = own.key) {
	const opt = { base: own.url, key }
	const call = (method, path, body) => api(method, path, body, opt)
	const at = {
		call,
		create: (body) => createRaw({ templateID: 'code-interpreter-v1', timeout: 600, ...body }, opt),
		kill: (sbx) => killRaw(sbx, opt),
		snapshot: (sbx, body = {}) => call('POST', `/sandboxes/${sbx.sandboxID}/snapshots`, body),
		fork: (sbx, body = {}) => call('POST', `/sandboxes/${sbx.sandboxID}/fork`, body),
		list: async (query = '') => (await call('GET', `/snapshots${query}`)).json,
		drop: (id) => call('DELETE', `/templates/${encodeURIComponent(id)}`),
		code: async (sbx, code, more) => {
			server.url = own.url
			return runCode(sbx, code, more)
		},
		start: (sbx, command) =>
			stream(
				sbx,
				'process.Process/Start',
				{ process: { cmd: '/bin/bash', args: ['-l', '-c', command] }, stdin: false },
				{ base: own.url, user: 'user' },
			),
		sh: async (sbx, command) => {
			const run = await at.start(sbx, command)
			await run.ended
			assert.equal(
				endOf(run.events)?.status,
				'exit status 0',
				`${command}: ${outputOf(run.events, 'stderr')}`,
			)
			return outputOf(run.events).trim()
		},
		processes: async (sbx) =>
			(await rpc(sbx, 'process.Process/List', {}, { base: own.url, headers: asUser('user') })).json
				.processes ?? [],
	}
	return at
}

async function withServer(use) {
	const own = await newServer(server.buildDir, CONFIG).start()
	try {
		await use(own, via(own))
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
}

// With something in memory, in a process, on the disk.
async function prepare(at, body) {
	const sbx = await at.create({ envVars: { GIVEN: 'to the first' }, metadata: { of: 'the first' }, ...body })
	assert.equal((await at.code(sbx, 'import random, uuid, ssl\nx = 41\nrandom.seed(7)')).error, undefined)
	const run = await at.start(sbx, 'n=0; while :; do n=$((n + 1)); echo $n >/tmp/beat; sleep 0.05; done')
	assert.ok(await until(() => run.events.length > 0, 5000, 20))
	await at.sh(sbx, 'echo one >/home/user/f')
	return { sbx, run, pid: run.events[0].event.start.pid }
}

const random = (at, sbx) => at.code(sbx, '[random.random(), uuid.uuid1().hex, ssl.RAND_bytes(8).hex()]')

async function proveCopy(at, source, copy) {
	assert.notEqual(copy.sandboxID, source.sbx.sandboxID)
	assert.notEqual(copy.envdAccessToken, source.sbx.envdAccessToken)
	assert.equal((await at.code(copy, 'x + 1')).text, '42')
	assert.ok(
		(await at.processes(copy)).some((p) => p.pid === source.pid),
		'its process is not there',
	)
	const beat = Number(await at.sh(copy, 'cat /tmp/beat'))
	assert.ok(
		await until(async () => Number(await at.sh(copy, 'cat /tmp/beat')) > beat, 10000, 50),
		'its process stands still',
	)
	assert.equal(await at.sh(copy, 'echo $E2B_SANDBOX_ID'), copy.sandboxID)
	assert.notEqual(await at.sh(copy, 'cat /etc/machine-id'), await at.sh(source.sbx, 'cat /etc/machine-id'))
	const [a, b] = [(await random(at, copy)).text, (await random(at, source.sbx)).text].map((text) =>
		text.match(/[\w.]+/g),
	)
	for (let i = 0; i < 3; i++) assert.notEqual(a[i], b[i], `random numbers are the same: ${a[i]}`)
	await at.sh(copy, 'echo two >/home/user/f')
	assert.equal(await at.sh(source.sbx, 'cat /home/user/f'), 'one')
	assert.equal((await at.code(copy, 'x = 1')).error, undefined)
	assert.equal((await at.code(source.sbx, 'x')).text, '41')
}

test('a snapshot has memory and disk; others begin where it was, the first goes on', { skip: noMemory }, async () => {
	await withServer(async (own, at) => {
		const source = await prepare(at)
		const made = await at.snapshot(source.sbx)
		assert.equal(made.status, 201, made.text)
		assert.match(made.json.snapshotID, /^[a-z0-9]{20}:default$/)
		assert.deepEqual(made.json.names, [])
		assert.equal(made.json.memory, true)
		const copies = await Promise.all(
			[1, 2].map(() =>
				at.create({ templateID: made.json.snapshotID, envVars: { GIVEN: 'to another' } }),
			),
		)
		for (const copy of copies) await proveCopy(at, source, copy)
		assert.equal(await at.sh(copies[0], 'echo $GIVEN'), 'to another')
		const info = (await at.call('GET', `/sandboxes/${copies[0].sandboxID}`)).json
		assert.equal(`${info.templateID}:default`, made.json.snapshotID)
		assert.deepEqual(info.metadata, {}, 'what the first was called is not for others')
		// It outlives its source, its server, and not its deletion; those that were made from it do.
		await Promise.all([at.kill(source.sbx), at.kill(copies[1])])
		own.signal('SIGKILL')
		await own.exited
		await own.start()
		assert.deepEqual(
			(await at.list()).map((s) => s.snapshotID),
			[made.json.snapshotID],
		)
		const late = await at.create({ templateID: made.json.snapshotID.split(':')[0] })
		assert.equal((await at.code(late, 'x + 1')).text, '42')
		assert.equal((await at.drop(made.json.snapshotID)).status, 204)
		assert.equal((await at.drop(made.json.snapshotID)).status, 404)
		assert.equal((await at.call('POST', '/sandboxes', { templateID: made.json.snapshotID })).status, 404)
		assert.equal(await at.sh(late, 'cat /home/user/f'), 'one')
		assert.equal(await at.sh(copies[0], 'cat /home/user/f'), 'two')
		await Promise.all([at.kill(late), at.kill(copies[0])])
		assert.ok(await until(() => keptBy(own).length === 0, 20000, 200), keptBy(own).join(' '))
	})
})

test('a snapshot of the disk alone: others boot from it, the first goes on', async () => {
	await withServer(async (own, at) => {
		const it = await prepare(at)
		assert.equal((await at.snapshot(it.sbx, { memory: 'no' })).status, 400)
		const made = await at.snapshot(it.sbx, { memory: false })
		assert.deepEqual([made.status, made.json.memory], [201, false], made.text)
		const copy = await at.create({ templateID: made.json.snapshotID })
		assert.equal(await at.sh(copy, 'cat /home/user/f'), 'one')
		assert.ok(
			await until(async () => (await at.processes(copy)).length === 0, 10000),
			'processes came along',
		)
		assert.match((await at.code(copy, 'x')).error?.value ?? '', /'x' is not defined/)
		assert.equal((await at.code(it.sbx, 'x + 1')).results[0].text, '42')
		assert.ok(
			await until(async () => (await at.processes(it.sbx)).length === 1, 10000),
			'its own process is gone',
		)
		await Promise.all([at.kill(copy), at.kill(it.sbx)])
	})
})

test("names, tags, lists and pages of snapshots; a name is its team's own", async () => {
	await withServer(async (own, at) => {
		const sbx = await at.create({ templateID: 'base' })
		const other = await at.create({ templateID: 'base' })
		const team = (await at.call('POST', '/admin/teams', { name: 'the-others' })).json
		const { key } = (await at.call('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' })).json
		const they = via(own, key)
		const first = (await at.snapshot(sbx, { name: 'Mine' })).json
		assert.match(first.snapshotID, /^[a-z0-9_-]+\/mine:default$/)
		assert.deepEqual(first.names, [first.snapshotID.split(':')[0]])
		const tagged = (await at.snapshot(sbx, { name: 'mine:v1.2' })).json
		assert.equal(tagged.snapshotID, `${first.names[0]}:v1.2`)
		const plain = (await at.snapshot(other)).json
		const ids = (list) => list.map((s) => s.snapshotID)
		assert.deepEqual(
			ids(await at.list()),
			[plain, tagged, first].map((s) => s.snapshotID),
		)
		assert.deepEqual(ids(await at.list(`?sandboxID=${other.sandboxID}`)), [plain.snapshotID])
		assert.deepEqual(
			ids(await at.list('?name=mine')),
			[tagged.snapshotID],
			'of a name without a tag the newest',
		)
		const tagsOf = async (id) =>
			Object.fromEntries(
				(await at.call('GET', `/templates/${encodeURIComponent(id)}/tags`)).json.map((t) => [
					t.tag,
					t.buildID,
				]),
			)
		const builds = await tagsOf(first.snapshotID)
		assert.deepEqual(Object.keys(builds).sort(), ['default', 'v1.2'])
		assert.match(builds.default, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
		assert.deepEqual(ids(await at.list('?name=mine:default')), [first.snapshotID])
		assert.deepEqual(await at.list('?name=nobodys'), [])
		const page = await at.call('GET', '/snapshots?limit=2')
		assert.deepEqual(ids(page.json), [plain.snapshotID, tagged.snapshotID])
		const rest = await at.call(
			'GET',
			`/snapshots?limit=2&nextToken=${encodeURIComponent(page.headers['x-next-token'])}`,
		)
		assert.deepEqual([ids(rest.json), rest.headers['x-next-token']], [[first.snapshotID], undefined])
		// The same name again takes the place of the first; from either tag a sandbox can be made.
		await at.sh(sbx, 'echo newer >/home/user/f')
		assert.equal((await at.snapshot(sbx, { name: first.snapshotID })).json.snapshotID, first.snapshotID)
		const after = await tagsOf('mine')
		assert.equal(after['v1.2'], builds['v1.2'])
		assert.notEqual(after.default, builds.default, 'another version, another build')
		assert.equal(
			(await they.call('GET', `/templates/${encodeURIComponent(first.snapshotID)}/tags`)).status,
			404,
		)
		assert.equal((await at.list()).length, 3)
		const made = await at.create({ templateID: 'mine' })
		assert.equal(await at.sh(made, 'cat /home/user/f'), 'newer')
		const older = await at.create({ templateID: tagged.snapshotID })
		assert.equal(await at.sh(older, 'ls /home/user'), '')
		// Of others: not seen, not used, not deleted.
		assert.deepEqual(await they.list(), [])
		for (const id of [first.snapshotID, plain.snapshotID, 'mine']) {
			assert.equal((await they.call('POST', '/sandboxes', { templateID: id })).status, 404)
			assert.equal((await they.drop(id)).status, 404)
		}
		assert.equal((await they.snapshot(sbx)).status, 404)
		for (const s of [first, tagged, plain]) assert.equal((await at.drop(s.snapshotID)).status, 204)
		await Promise.all([sbx, other, made, older].map((s) => at.kill(s)))
		assert.ok(await until(() => keptBy(own).length === 0, 20000, 200), keptBy(own).join(' '))
	})
})

test('a fork goes on beside the first', { skip: noMemory }, async () => {
	await withServer(async (own, at) => {
		const source = await prepare(at, { timeout: 500 })
		const ends = (await at.call('GET', `/sandboxes/${source.sbx.sandboxID}`)).json.endAt
		const forked = await at.fork(source.sbx, { count: 3, timeout: 300 })
		assert.equal(forked.status, 201, forked.text)
		assert.equal(forked.json.length, 3)
		const copies = forked.json.map((f) => f.sandbox)
		assert.equal(new Set(copies.map((s) => s.sandboxID)).size, 3)
		for (const copy of copies) await proveCopy(at, source, copy)
		assert.equal(await at.sh(copies[2], 'echo $GIVEN'), 'to the first', 'settings are inherited')
		assert.equal((await at.call('GET', `/sandboxes/${source.sbx.sandboxID}`)).json.endAt, ends)
		assert.equal((await source.run.ended).how, 'cut')
		const [{ sandbox: grandchild }] = (await at.fork(copies[0], { timeout: 300 })).json
		assert.equal((await at.code(grandchild, 'x + 1')).text, '2')
		assert.equal(await at.sh(grandchild, 'cat /home/user/f'), 'two')
		const all = (await at.call('GET', '/v2/sandboxes')).json
		await Promise.all(all.map((s) => at.kill(s)))
		assert.ok(await until(() => keptBy(own).length === 0, 20000, 200), keptBy(own).join(' '))
	})
})

// A process between vfork() and exec() waits for its child and cannot be stopped before that goes on: found by chance
// about once in a thousand forks.
test(
	'a fork that meets a process which cannot be stopped just then is tried once more',
	{ skip: noMemory },
	async () => {
		await withServer(async (own, at) => {
			const { sbx } = await prepare(at, { timeout: 500 })
			// The child notices that it was stopped for long, and goes.
			const code = `import ctypes, os, time
if ctypes.CDLL(None).syscall(56, 0x4000 | 17, 0, 0, 0, 0) == 0:
    open("/tmp/there", "w").close()
    before = time.monotonic()
    while time.monotonic() - before < 8:
        before = time.monotonic()
        time.sleep(0.05)
    os._exit(0)
time.sleep(1000)
`
			await at.sh(
				sbx,
				`echo ${Buffer.from(code).toString('base64')} | base64 -d >/tmp/v.py; nohup python3 ` +
					`/tmp/v.py >/dev/null 2>&1 &`,
			)
			await at.sh(sbx, 'until [ -e /tmp/there ]; do sleep 0.1; done')
			const forked = await at.fork(sbx, { count: 1 })
			assert.equal(forked.status, 201, forked.text)
			assert.match(fs.readFileSync(own.log, 'utf8'), /retrying once/)
			assert.equal((await at.code(forked.json[0].sandbox, 'x')).text, '41')
			assert.equal((await at.code(sbx, 'x')).text, '41')
		})
	},
)

test('what cannot be kept or forked is refused, and nothing happens to it', async () => {
	await withServer(async (own, at) => {
		const sbx = await at.create({ templateID: 'base' })
		const none = { sandboxID: 'i0000000000000000000' }
		for (const what of ['snapshots', 'fork'])
			assert.equal((await at.call('POST', `/sandboxes/${none.sandboxID}/${what}`, {})).status, 404)
		for (const name of ['', 'a b', 'x/y/z', 'a:', 'ns-of-another/a', 'a'.repeat(300), 5, 'ü'])
			assert.equal((await at.snapshot(sbx, { name })).status, 400, String(name))
		for (const body of [{ count: 0 }, { count: 101 }, { count: '1' }, { timeout: 0 }, { timeout: 1e9 }])
			assert.equal((await at.fork(sbx, body)).status, 400, JSON.stringify(body))
		assert.equal((await at.call('GET', '/snapshots?limit=0')).status, 400)
		assert.equal((await at.call('GET', '/snapshots?nextToken=x')).status, 400)
		assert.equal((await at.call('POST', `/sandboxes/${sbx.sandboxID}/pause`, {})).status, 204)
		assert.equal((await at.snapshot(sbx)).status, 409)
		assert.equal((await at.fork(sbx)).status, 409)
		assert.equal(
			(await at.call('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 60 })).status,
			201,
		)
		// Requests that come while it is kept wait; a kill does not.
		const made = at.snapshot(sbx)
		await sleep(3) // it has begun; however far it is, the request is answered
		assert.equal(await at.sh(sbx, 'echo waited'), 'waited')
		assert.equal((await made).status, 201)
		for (const ms of [0, 5, 50]) {
			const short = await at.create({ templateID: 'base' })
			const keeping = at.fork(short)
			await sleep(ms) // it is killed at one moment of the fork or another
			assert.equal((await at.kill(short)).status, 204)
			const over = await keeping
			assert.ok([201, 404, 503].includes(over.status), over.text)
			for (const f of over.status === 201 ? over.json : []) await (f.sandbox && at.kill(f.sandbox))
		}
		assert.equal((await at.drop((await made).json.snapshotID)).status, 204)
		await at.kill(sbx)
		assert.ok(await until(() => keptBy(own).length === 0, 20000, 200), keptBy(own).join(' '))
	})
})

test(
	'C2: while a snapshot is made, a second and a resume are 409, and a pause waits for it',
	{ skip: noMemory },
	async () => {
		await withServer(async (own, at) => {
			const sbx = await at.create()
			const post = (what, body) => at.call('POST', `/sandboxes/${sbx.sandboxID}/${what}`, body)
			assert.equal(
				(await at.code(sbx, 'import os\nx = os.urandom(200 << 20)\ny = 7')).error,
				undefined,
			)
			// Asked for at the same time. On a machine that is busy with something else one may be over
			// before the next is read: then once more.
			const seen = new Set()
			for (let i = 0; i < 10 && !(seen.has('second') && seen.has('resume')); i++) {
				const [first, second, resume, paused] = await Promise.all([
					at.snapshot(sbx),
					at.snapshot(sbx),
					post('resume', {}),
					post('pause', {}),
				])
				assert.equal(paused.status, 204, paused.text)
				assert.ok(
					[201, 409].includes(first.status) && [201, 409].includes(second.status),
					first.text + second.text,
				)
				for (const one of [first, second]) {
					if (one.status === 201) assert.equal(one.json.memory, true, one.text)
					else if (/snapshot or a fork of it is being made/.test(one.json.message))
						seen.add('second')
				}
				assert.ok([201, 409].includes(resume.status), resume.text)
				if (/snapshot of it is being made/.test(resume.json.message ?? '')) seen.add('resume')
				assert.ok([200, 201].includes((await post('connect', { timeout: 600 })).status))
			}
			assert.deepEqual([...seen].sort(), ['resume', 'second'])
			// What does not change it waits for as long as it stands still; a kill does not.
			const [made, timeout, connect, code] = await Promise.all([
				at.snapshot(sbx),
				post('timeout', { timeout: 500 }),
				post('connect', { timeout: 500 }),
				at.code(sbx, 'y'),
			])
			assert.deepEqual([made.status, timeout.status, connect.status, code.text], [201, 204, 200, '7'])
			const [last, killed] = await Promise.all([at.snapshot(sbx), at.kill(sbx)])
			assert.equal(killed.status, 204)
			assert.ok([201, 404].includes(last.status), last.text)
			for (const one of await at.list()) assert.equal((await at.drop(one.snapshotID)).status, 204)
		})
	},
)

test('quotas hold for forks, one by one', { skip: noMemory }, async () => {
	await withServer(async (own, at) => {
		const team = (await at.call('POST', '/admin/teams', { name: 'small', maxSandboxes: 2 })).json
		const { key } = (await at.call('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' })).json
		const they = via(own, key)
		const sbx = await they.create({ templateID: 'base' })
		const forked = await they.fork(sbx, { count: 3, timeout: 100 })
		assert.equal(forked.status, 201, forked.text)
		assert.equal(forked.json.filter((f) => f.sandbox).length, 1)
		assert.deepEqual(
			forked.json.filter((f) => f.error).map((f) => f.error.code),
			[429, 429],
		)
	})
})

// SPDX-License-Identifier: Apache-2.0
// Sandboxes outlive the daemons: SIGKILL of the front, SIGKILL of the warden, both under load.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, envd, killRaw, outputOf, rpc, start } from '../lib/client.mjs'
import { atoll, ok } from '../lib/cli.mjs'
import { built } from '../ckpt/drive.mjs'
import { newServer } from '../lib/server.mjs'
import { alive, cgroupsOf, childrenOf, nameOf, processesOf, sleep, until } from '../lib/host.mjs'

const SILENCE_MS = 15000
const tools = built('tools')
const noDisk = tools.why && `CRIU is not there: ${tools.why}`
const buildDir = JSON.parse(process.env.ATOLL_TEST_SERVER).buildDir

function via(own) {
	const opt = { base: own.url, key: own.key, timeout: SILENCE_MS }
	return {
		create: (body) => createRaw({ timeout: 600, ...body }, opt),
		kill: (sbx) => killRaw(sbx, opt),
		api: (method, path, body) => api(method, path, body, opt),
		rpc: (sbx, method, message) => rpc(sbx, method, message, { base: own.url }),
		envd: (sbx, method, path, body, more) =>
			envd(sbx, method, path, body, { base: own.url, timeout: SILENCE_MS, ...more }),
		start: (sbx, command) => start(sbx, command, { base: own.url }),
	}
}

// Where a user looks for what became of a sandbox: each says why it ended.
async function tellsTheEnd(own, at, id, reason, kind) {
	const got = await at.api('GET', `/sandboxes/${id}`)
	assert.equal(got.status, 404)
	assert.ok(/: it ended at 20\S+Z \((.*)\)$/.exec(got.json.message)?.[1] === reason, got.json.message)
	const info = atoll(['info', id], { env: own.env() }).err,
		last = ok(['logs', id], { env: own.env() }).trimEnd().split('\n').at(-1)
	assert.ok(info.includes(': it ended at 20') && info.includes(`(${reason})`), info)
	assert.ok(last.includes('sandbox ended') && last.includes(reason), last)
	const [event] = (await at.api('GET', `/events/sandboxes/${id}?limit=1`)).json
	assert.deepEqual([event.type, event.event_data.kill_reason], ['sandbox.lifecycle.killed', kind])
	const trail = (await at.api('GET', `/audit?sandbox=${id}&limit=1000`)).text
	assert.ok(trail.includes(`"reason":"${reason}"`), trail)
}

// What somebody else wrote into the state file while no server was there.
function change(own, sql, ...values) {
	const script =
		'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); n = c.execute(sys.argv[2], ' +
		'sys.argv[3:]).rowcount; c.commit(); c.close(); sys.exit(n != 1)'
	assert.equal(
		spawnSync('python3', ['-c', script, path.join(own.stateDir, 'front/atoll.db'), sql, ...values]).status,
		0,
		sql,
	)
}

// By the clock: what a step of it makes of a time, or, where no boot id is recorded, a restart of the host.
const startedAt = (own, us, id) => change(own, 'UPDATE sandboxes SET started_us = ? WHERE id = ?', String(us), id)

// As a restart of the host does: processes, run directory, cgroups and firewall are gone, and nobody had time to say
// good-bye.
async function loseWhatRuns(own) {
	const front = frontOf(own.pid)
	own.signal('SIGKILL')
	await own.exited
	const pids = processesOf(own.slot),
		freezers = cgroupsOf(own.slot).map((dir) =>
			path.join(dir, 'freezer.state'),
		) /* once: from now on the slot may be another server's */
	assert.ok(pids.length >= 2)
	assert.ok(
		await until(
			() => {
				for (const file of freezers.filter((one) => fs.existsSync(one)))
					/* a frozen one cannot be killed */
					fs.writeFileSync(file, 'THAWED')
				for (const pid of pids.filter(alive)) {
					try {
						process.kill(pid, 'SIGKILL')
					} catch {
						/* it went with its init */
					}
				}
				return !alive(front) && !pids.some(alive)
			},
			30000,
			100,
		),
		`still there: ${[front, ...pids].filter(alive)}`,
	)
	fs.rmSync(own.runDir, { recursive: true, force: true })
}

const frontOf = (pid) => childrenOf(pid).find((child) => nameOf(child) === 'atoll-front')

// Connects ten times a second; a refused connection is what must never happen.
function prober(own) {
	const seen = { refused: 0, tries: 0 }
	const { port } = new URL(own.url)
	const timer = setInterval(() => {
		const sock = net.connect(Number(port), '127.0.0.1', () => sock.destroy())
		seen.tries++
		sock.once('error', (err) => {
			if (err.code === 'ECONNREFUSED') seen.refused++
		})
	}, 20)
	return { seen, stop: () => clearInterval(timer) }
}

test('SIGKILL of the front loses no sandbox, and the listener never refuses', async () => {
	const own = await newServer(buildDir).start()
	const at = via(own)
	try {
		const sbx = await at.create({ metadata: { kept: 'yes' }, envVars: { KEPT: 'env' } })
		const paused = await at.create()
		assert.equal((await at.api('POST', `/sandboxes/${paused.sandboxID}/pause`, {})).status, 204)
		const bg = await at.start(sbx, 'while :; do date +%s%N > /tmp/beat; sleep 0.05; done')
		assert.ok(await until(() => bg.events.length > 0), 'it does not start')
		const { pid } = bg.events[0].event.start
		await at.envd(sbx, 'POST', '/files?path=/tmp/kept', 'kept', {
			headers: { 'Content-Type': 'application/octet-stream' },
		})
		const probe = prober(own)
		for (let round = 0; round < 3; round++) {
			const front = frontOf(own.pid)
			assert.ok(front, 'no front below the warden')
			process.kill(front, 'SIGKILL')
			assert.ok(
				await until(() => frontOf(own.pid) && frontOf(own.pid) !== front, 5000),
				'no new front',
			)
			const health = await until(
				async () => (await at.envd(sbx, 'GET', '/health').catch(() => ({}))).status === 204,
				5000,
			)
			assert.ok(health, 'the sandbox does not answer again')
		}
		probe.stop()
		assert.equal(probe.seen.refused, 0, `${probe.seen.refused} of ${probe.seen.tries} connections refused`)
		const info = await at.api('GET', `/sandboxes/${sbx.sandboxID}`)
		assert.equal(info.status, 200)
		assert.deepEqual(info.json.metadata, { kept: 'yes' })
		assert.equal(info.json.envdAccessToken, sbx.envdAccessToken)
		const list = await at.rpc(sbx, 'process.Process/List', {})
		assert.ok(
			list.json.processes.some((p) => p.pid === pid),
			'the background process is gone',
		)
		assert.equal((await at.envd(sbx, 'GET', '/files?path=/tmp/kept')).text, 'kept')
		const run = await at.start(sbx, 'echo $KEPT')
		await run.ended
		assert.equal(outputOf(run.events), 'env\n')
		assert.equal((await at.api('GET', `/sandboxes/${paused.sandboxID}`)).json.state, 'paused')
		assert.equal(
			(await at.api('POST', `/sandboxes/${paused.sandboxID}/connect`, { timeout: 60 })).status,
			201,
		)
		assert.equal((await at.kill(sbx)).status, 204)
		assert.equal((await at.kill(paused)).status, 204)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

// Commands in a loop from every sandbox, a writer in each that counts, and creations that come and go; all of it may
// meet a daemon that is down, none of it may be lost or left behind afterwards.
async function underLoad(own, at, disturb) {
	const all = await Promise.all([1, 2, 3, 4].map(() => at.create()))
	for (const sbx of all) {
		const bg = await at.start(
			sbx,
			'i=0; while :; do i=$((i+1)); echo $i > /tmp/n.new; mv /tmp/n.new /tmp/n; sleep 0.02; done',
		)
		assert.ok(await until(() => bg.events.length > 0), 'it does not start')
	}
	const seen = { stop: false, good: 0, made: 0, hung: 0 }
	const fails = (err) => {
		/* cut off or refused is what a dead daemon looks like; silence is not */
		if (/no answer/.test(err.message)) seen.hung++
		return sleep(20) // the next request finds out whether there is a daemon again
	}
	const commands = all.map(async (sbx) => {
		while (!seen.stop) {
			const run = await at.start(sbx, 'true').catch(fails)
			const silent = setTimeout(() => {
				seen.hung++
				run?.close()
			}, SILENCE_MS)
			if (run && (await run.ended).how === 'end') seen.good++
			clearTimeout(silent)
		}
	})
	const creations = [1, 2].map(async () => {
		while (!seen.stop) {
			const sbx = await at.create({ timeout: 5 }).catch(fails)
			if (sbx && (await at.kill(sbx).catch(fails))?.status === 204) seen.made++
		}
	})
	const counter = async (sbx) => Number((await at.envd(sbx, 'GET', '/files?path=/tmp/n')).text)
	await disturb(seen)
	const before = await Promise.all(all.map(counter))
	const goesOn = await Promise.all(
		all.map((sbx, i) => until(async () => (await counter(sbx)) > before[i], 30000)),
	)
	seen.stop = true
	await Promise.all([...commands, ...creations])
	assert.equal(seen.hung, 0, `${seen.hung} requests were never answered`)
	goesOn.forEach((yes, i) => assert.ok(yes, `the process in sandbox ${i} stands still at ${before[i]}`))
	for (const sbx of all) {
		const run = await at.start(sbx, 'echo still')
		await run.ended
		assert.equal(outputOf(run.events), 'still\n')
		assert.equal((await at.kill(sbx)).status, 204)
	}
	/* creations whose answer was lost expire by themselves */
	const none = await until(async () => (await at.api('GET', '/v2/sandboxes')).json.length === 0, 30000, 250)
	assert.ok(none, 'a sandbox that nobody owns lives on')
	return seen
}

test('the front can be killed under load: every later request is served', async () => {
	const own = await newServer(buildDir).start()
	const at = via(own)
	try {
		const seen = await underLoad(own, at, async (load) => {
			for (let i = 0; i < 4; i++) {
				const { good, made } = load
				await until(() => load.good > good + 5 && load.made > made, 30000)
				assert.ok(load.good > good + 5 && load.made > made, 'nothing goes through any more')
				const front = frontOf(own.pid)
				process.kill(front, 'SIGKILL')
				assert.ok(
					await until(() => frontOf(own.pid) && frontOf(own.pid) !== front, 30000),
					'no new front',
				)
			}
		})
		assert.ok(seen.good > 20 && seen.made > 4, JSON.stringify(seen))
		assert.ok(alive(own.pid))
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('the warden can be killed under load and started again: every sandbox runs on', async () => {
	const own = await newServer(buildDir).start()
	const at = via(own)
	try {
		const seen = await underLoad(own, at, async (load) => {
			for (let i = 0; i < 3; i++) {
				const { good, made } = load
				await until(() => load.good > good + 5 && load.made > made, 30000)
				assert.ok(load.good > good + 5 && load.made > made, 'nothing goes through any more')
				own.signal('SIGKILL')
				await own.exited
				await sleep(200) // the time in which clients meet no server
				await own.start()
			}
		})
		assert.ok(seen.good > 20 && seen.made > 3, JSON.stringify(seen))
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('SIGKILL of the warden loses no sandbox: started again, it finds them', async () => {
	const own = await newServer(buildDir).start()
	let at = via(own)
	try {
		const sbx = await at.create({ metadata: { kept: 'yes' } })
		const paused = await at.create()
		const short = await at.create({ timeout: 3 })
		assert.equal((await at.api('POST', `/sandboxes/${paused.sandboxID}/pause`, {})).status, 204)
		const bg = await at.start(sbx, 'while :; do date +%s%N > /tmp/beat; sleep 0.05; done')
		assert.ok(await until(() => bg.events.length > 0), 'it does not start')
		const { pid } = bg.events[0].event.start
		const ends = (await at.api('GET', `/sandboxes/${short.sandboxID}`)).json.endAt
		own.signal('SIGKILL')
		await own.exited
		assert.ok(
			await until(() => Date.now() > Date.parse(ends) + 100),
		) /* the short one expires while nobody watches */
		await own.start()
		at = via(own)
		const info = await at.api('GET', `/sandboxes/${sbx.sandboxID}`)
		assert.equal(info.status, 200, info.text)
		assert.deepEqual(info.json.metadata, { kept: 'yes' })
		assert.ok(await until(async () => (await at.envd(sbx, 'GET', '/health')).status === 204, 5000))
		const list = await at.rpc(sbx, 'process.Process/List', {})
		assert.ok(
			list.json.processes.some((p) => p.pid === pid),
			'the background process is gone',
		)
		const beat = (await at.envd(sbx, 'GET', '/files?path=/tmp/beat')).text
		assert.ok(
			await until(
				async () =>
					Number((await at.envd(sbx, 'GET', '/files?path=/tmp/beat')).text) >
					Number(beat),
				10000,
			),
			'it does not run on',
		)
		assert.equal((await at.api('GET', `/sandboxes/${paused.sandboxID}`)).json.state, 'paused')
		assert.ok(
			await until(
				async () => (await at.api('GET', `/sandboxes/${short.sandboxID}`)).status === 404,
				5000,
			),
			'the expired one lives on',
		)
		const fresh = await at.create()
		const run = await at.start(fresh, 'echo new')
		await run.ended
		assert.equal(outputOf(run.events), 'new\n')
		for (const s of [sbx, paused, fresh]) assert.equal((await at.kill(s)).status, 204)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('on_stop = keep: SIGTERM leaves the sandboxes, the next start finds them', async () => {
	const own = await newServer(buildDir, { on_stop: 'keep' }).start()
	let at = via(own)
	let sbx
	try {
		sbx = await at.create()
		const bg = await at.start(sbx, 'sleep 300')
		assert.ok(await until(() => bg.events.length > 0), 'it does not start')
		own.signal('SIGTERM')
		assert.equal(await own.exited, 0)
		await own.start()
		at = via(own)
		const list = await at.rpc(sbx, 'process.Process/List', {})
		assert.equal(list.json.processes.length, 1)
		assert.equal((await at.kill(sbx)).status, 204)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test(
	'W1-W10, low: a stop right after a pause loses nothing: memory is written before sandboxes end, or stays ' +
		'where it is',
	{ skip: noDisk },
	async () => {
		for (const [on_stop, where, signal] of [
			['kill', 'disk', 'SIGTERM'],
			['keep', 'ram', 'SIGTERM'],
			['keep', 'disk', 'SIGQUIT'], // of the removal of the package
		]) {
			const own = await newServer(buildDir, {
				pool_size_mb: 3072,
				checkpoint_after_s: 3600,
				on_stop,
			}).start()
			let at = via(own)
			try {
				const paused = [await at.create(), await at.create()],
					running = await at.create()
				for (const sbx of paused) {
					const run = await at.start(
						sbx,
						'sleep 1000 >/dev/null 2>&1 & echo $! >/home/user/pid',
					)
					await run.ended
				}
				for (const sbx of paused)
					assert.equal(
						(await at.api('POST', `/sandboxes/${sbx.sandboxID}/pause`, {})).status,
						204,
					)
				own.signal(signal)
				assert.equal(await own.exited, 0)
				await own.start()
				at = via(own)
				for (const sbx of paused) {
					assert.equal(
						(await at.api('GET', `/sandboxes/${sbx.sandboxID}`)).json.pausedMemory,
						where,
					)
					const back = await at.api('POST', `/sandboxes/${sbx.sandboxID}/connect`, {
						timeout: 600,
					})
					assert.equal(back.status, 201, `${on_stop}: ${back.text}`)
					const run = await at.start(sbx, 'kill -0 $(cat /home/user/pid) && echo alive')
					await run.ended
					assert.equal(outputOf(run.events), 'alive\n')
				}
				assert.equal(
					(await at.api('GET', `/sandboxes/${running.sandboxID}`)).status,
					where === 'ram' ? 200 : 404,
				)
				for (const sbx of where === 'ram' ? [...paused, running] : paused)
					assert.equal((await at.kill(sbx)).status, 204)
			} finally {
				const end = await own.stop()
				assert.ok(end.clean, JSON.stringify(end.left))
			}
		}
	},
)

test(
	'after a restart of the host running ones are told as ended with the reason, and paused ones resume',
	{ skip: noDisk },
	async () => {
		const own = await newServer(buildDir, { pool_size_mb: 3072, checkpoint_after_s: 0 }).start()
		let at = via(own)
		try {
			const running = await at.create(),
				older = await at.create(),
				paused = await at.create(),
				disk = await at.create()
			const sh = async (sbx, command) => {
				const run = await at.start(sbx, command)
				await run.ended
				return outputOf(run.events).trim()
			}
			await sh(
				paused,
				'echo kept >/home/user/f; sleep 1000 >/dev/null 2>&1 & echo $! >/home/user/pid',
			)
			await sh(disk, 'echo on disk >/home/user/f')
			assert.equal((await at.api('POST', `/sandboxes/${paused.sandboxID}/pause`, {})).status, 204)
			assert.equal(
				(await at.api('POST', `/sandboxes/${disk.sandboxID}/pause`, { memory: false })).status,
				204,
			)
			const memory = async () =>
				(await at.api('GET', `/sandboxes/${paused.sandboxID}`)).json.pausedMemory
			assert.ok(
				await until(async () => (await memory()) === 'ram+disk', 60000),
				'its memory is not written to disk',
			)
			await loseWhatRuns(own)
			change(own, "UPDATE host SET boot_id = 'of the start before'")
			startedAt(
				own,
				(Date.now() + 86400000) * 1000,
				older.sandboxID,
			) /* the clock was a day ahead then */
			await own.start()
			at = via(own)
			for (const sbx of [running, older])
				await tellsTheEnd(own, at, sbx.sandboxID, 'the host was restarted', 'host_restarted')
			const back = async (sbx) =>
				(await at.api('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 600 })).status
			assert.equal(await back(disk), 201)
			assert.equal(await sh(disk, 'cat /home/user/f'), 'on disk')
			assert.equal(await back(paused), 201)
			assert.equal(
				await sh(paused, 'cat /home/user/f; kill -0 $(cat /home/user/pid) && echo alive'),
				'kept\nalive',
			)
			for (const sbx of [disk, paused]) assert.equal((await at.kill(sbx)).status, 204)
			const killed = await at.api('GET', `/sandboxes/${disk.sandboxID}`)
			assert.match(killed.json.message, /\(killed by request\)/)
		} finally {
			const end = await own.stop()
			assert.ok(end.clean, JSON.stringify(end.left))
		}
	},
)

test(
	'a step of the clock is no restart of the host; only a state file without a boot id goes by the ' + 'clock',
	async () => {
		const own = await newServer(buildDir).start()
		let at = via(own)
		try {
			const pair = async () => [(await at.create()).sandboxID, (await at.create()).sandboxID]
			const lose = async (sql) => {
				const [one, stepped] = await pair()
				await loseWhatRuns(own)
				if (sql) change(own, sql)
				startedAt(own, 1, stepped)
				await own.start()
				at = via(own)
				return [one, stepped]
			}
			for (const id of await lose())
				await tellsTheEnd(own, at, id, 'ended while the server was down', 'lost')
			const [one, before] = await lose('DELETE FROM host')
			await tellsTheEnd(own, at, one, 'ended while the server was down', 'lost')
			await tellsTheEnd(own, at, before, 'the host was restarted', 'host_restarted')
			for (const id of await lose())
				/* it is recorded by now */
				await tellsTheEnd(own, at, id, 'ended while the server was down', 'lost')
		} finally {
			const end = await own.stop()
			assert.ok(end.clean, JSON.stringify(end.left))
		}
	},
)

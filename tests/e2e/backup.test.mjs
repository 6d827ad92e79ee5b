// SPDX-License-Identifier: Apache-2.0
// A backup of a server that runs, and a server that goes on from it.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { api, createRaw, endOf, outputOf, request, server, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { poolOf, until } from '../lib/host.mjs'
import { built } from '../ckpt/drive.mjs'

const noMemory = built('tools').why
const CONFIG = { pool_size_mb: 3072, checkpoint_after_s: 0 }

function atoll(own, ...args) {
	return spawnSync(own.atoll(), args, { encoding: 'utf8' })
}

function call(own, method, where, body, key = own.key) {
	return api(method, where, body, { base: own.url, key })
}

async function sh(own, sbx, command) {
	const run = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: '/bin/bash', args: ['-l', '-c', command] }, stdin: false },
		{ base: own.url, user: 'user' },
	)
	await run.ended
	assert.equal(endOf(run.events)?.status, 'exit status 0', outputOf(run.events, 'stderr'))
	return outputOf(run.events).trim()
}

const content = (own, v, method, what, file, body) =>
	request(method, `/volumecontent/${v.volumeID}/${what}?${new URLSearchParams({ path: file })}`, {
		base: own.url,
		body,
		headers: { Authorization: `Bearer ${v.token}` },
	})

const signedBy = (own) => ['--key-file', path.join(own.stateDir, 'export.key')]

// The same state somewhere else, as on another machine.
async function restored(own, from) {
	const next = newServer(server.buildDir, CONFIG)
	const done = atoll(own, 'restore', from, '--state', next.stateDir, ...signedBy(own))
	assert.equal(done.status, 0, done.stderr)
	return next.start()
}

test('keys, secrets, volumes, snapshots and paused sandboxes come back from a backup of a running server', async () => {
	const own = await newServer(server.buildDir, CONFIG).start()
	const to = path.join(own.base, 'backup')
	let next,
		over = false
	try {
		const team = (await call(own, 'POST', '/admin/teams', { name: 'blue' })).json
		const key = (await call(own, 'POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'ci' })).json.key
		assert.equal((await call(own, 'POST', '/secrets', { name: 'token', value: 'hush' })).status, 201)
		const v = (await call(own, 'POST', '/volumes', { name: 'data', sizeMB: 40 })).json
		await content(own, v, 'PUT', 'file', '/x', 'in the volume')
		const mounts = [{ name: 'data', path: '/data' }]
		const opt = { base: own.url, key: own.key }
		const running = await createRaw({ timeout: 600 }, opt),
			paused = await createRaw({ timeout: 600, volumeMounts: mounts }, opt),
			disk = await createRaw({ timeout: 600 }, opt)
		await sh(
			own,
			paused,
			'echo on disk >/home/user/f; echo and here >/data/y; sleep 1000 >/dev/null 2>&1 & echo $! ' +
				'>/home/user/pid',
		)
		await sh(own, disk, 'echo disk only >/home/user/f')
		const snapshot = (await call(own, 'POST', `/sandboxes/${disk.sandboxID}/snapshots`, { name: 'kept' }))
			.json
		assert.equal((await call(own, 'POST', `/sandboxes/${paused.sandboxID}/pause`)).status, 204)
		assert.equal(
			(await call(own, 'POST', `/sandboxes/${disk.sandboxID}/pause`, { memory: false })).status,
			204,
		)
		if (!noMemory)
			assert.ok(
				await until(
					async () =>
						(await call(own, 'GET', `/sandboxes/${paused.sandboxID}`)).json
							.pausedMemory === 'ram+disk',
					60000,
				),
			)
		// Somebody writes all the time; the server answers.
		let writes = 0
		const writer = (async () => {
			while (!over) {
				assert.equal(
					(await content(own, v, 'PUT', 'file', `/w${writes}`, String(writes))).status,
					201,
				)
				writes++
			}
		})()
		const child = spawn(own.atoll(), ['backup', to, '--state', own.stateDir, '--run', own.runDir], {
			stdio: ['ignore', 'pipe', 'inherit'],
		})
		const status = await new Promise((done) => child.once('exit', done))
		over = true
		await writer
		assert.equal(status, 0)
		assert.ok(writes > 0)
		assert.equal(spawnSync('sha256sum', ['-c', '--quiet', 'SHA256SUMS'], { cwd: to }).status, 0)
		assert.match(
			atoll(own, 'backup', to, '--state', own.stateDir, '--run', own.runDir).stderr,
			/already exists/,
		)
		const pool = poolOf(own).join(' ')
		assert.ok(!pool.includes('+b'), pool)

		const before = (await call(own, 'GET', '/admin/audit?limit=200')).text
		next = await restored(own, to)
		assert.equal(next.key, own.key)
		// What was done up to the backup is told by the new server, in one chain with what is done there.
		const trail = (await call(next, 'GET', '/admin/audit?limit=1000')).text
		const records = (lines) =>
			lines
				.trim()
				.split('\n')
				.map((l) => JSON.parse(l).hash)
		assert.ok(records(before).filter((h) => records(trail).includes(h)).length > 5, trail.slice(0, 500))
		const verified = atoll(next, 'audit', 'verify', '--state', next.stateDir)
		assert.equal(verified.status, 0, verified.stdout + verified.stderr)
		assert.equal((await call(next, 'GET', '/sandboxes', undefined, key)).status, 200)
		assert.deepEqual(
			(await call(next, 'GET', '/secrets')).json.map((s) => s.name),
			['token'],
		)
		assert.equal((await call(next, 'GET', `/sandboxes/${running.sandboxID}`)).status, 404)
		assert.deepEqual(
			(await call(next, 'GET', '/v2/sandboxes?state=paused')).json.map((s) => s.sandboxID).sort(),
			[paused.sandboxID, disk.sandboxID].sort(),
		)
		assert.equal((await content(next, v, 'GET', 'file', '/x')).text, 'in the volume')
		// its size came along
		assert.equal((await content(next, v, 'PUT', 'file', '/big', Buffer.alloc(60 << 20))).status, 507)
		const wake = (sbx) => call(next, 'POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 600 })
		assert.equal((await wake(disk)).status, 201)
		assert.equal(await sh(next, disk, 'cat /home/user/f'), 'disk only')
		if (!noMemory) {
			assert.equal((await wake(paused)).status, 201)
			assert.equal(
				await sh(
					next,
					paused,
					'cat /home/user/f /data/y; kill -0 $(cat /home/user/pid) && echo alive',
				),
				'on disk\nand here\nalive',
			)
		}
		const third = await createRaw(
			{ templateID: snapshot.snapshotID, timeout: 600 },
			{ base: next.url, key: next.key },
		)
		assert.equal(await sh(next, third, 'cat /home/user/f'), 'disk only')
	} finally {
		over = true
		const ends = [await own.stop(), ...(next ? [await next.stop()] : [])]
		for (const end of ends) assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test(
	'A9: a backup right after a pause has what is in memory, and tells of what could not be written',
	{ skip: noMemory },
	async () => {
		const own = await newServer(server.buildDir, {
			...CONFIG,
			checkpoint_after_s: 3600,
			default_disk_mb: 1024,
		}).start()
		const to = path.join(own.base, 'backup')
		let next
		try {
			const opt = { base: own.url, key: own.key }
			const good = await createRaw({ timeout: 600 }, opt),
				bad = await createRaw({ timeout: 600 }, opt)
			await sh(own, good, 'sleep 100000 >/dev/null 2>&1 & echo $! >/home/user/pid')
			// Larger than what CRIU takes of a file without a name.
			await sh(
				own,
				bad,
				'echo kept >/home/user/f; exec 9>/home/user/ghost; rm /home/user/ghost; ' +
					'dd if=/dev/zero bs=1M count=300 >&9 2>/dev/null; ' +
					'sleep 100000 >/dev/null 2>&1 &',
			)
			for (const sbx of [good, bad])
				assert.equal((await call(own, 'POST', `/sandboxes/${sbx.sandboxID}/pause`)).status, 204)
			const done = atoll(own, 'backup', to, '--state', own.stateDir, '--run', own.runDir)
			assert.equal(done.status, 0, done.stderr)
			assert.match(
				done.stderr,
				new RegExp(`the memory of sandbox '${bad.sandboxID}' could not be written`),
			)
			assert.ok(!done.stderr.includes(good.sandboxID), done.stderr)
			assert.match(
				fs.readFileSync(path.join(own.stateDir, 'front/write-memory'), 'utf8'),
				/^rw*d$/,
				'the front has answered',
			)
			next = await restored(own, to)
			const wake = (sbx, body) =>
				call(next, 'POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 600, ...body })
			assert.equal((await wake(good)).status, 201)
			assert.equal(await sh(next, good, 'kill -0 $(cat /home/user/pid) && echo alive'), 'alive')
			const no = await wake(bad)
			assert.equal(no.status, 409, no.text)
			assert.match(no.json.message, /memory is lost; with memory: false it boots from its disk/)
			assert.equal((await wake(bad, { memory: false })).status, 201)
			assert.equal(await sh(next, bad, 'cat /home/user/f'), 'kept')
		} finally {
			for (const end of [await own.stop(), ...(next ? [await next.stop()] : [])])
				assert.ok(end.clean, JSON.stringify(end.left))
		}
	},
)

test('what a killed backup left goes with the next, and two at once wait for each other', async () => {
	const own = await newServer(server.buildDir, CONFIG).start()
	const where = ['--state', own.stateDir, '--run', own.runDir],
		to = path.join(own.base, 'backup'),
		pool = `${own.runDir}/private/pool`
	const inside = (...argv) => ['-t', String(own.pid), '-m', ...argv]
	const list = () => poolOf(own).join(' ')
	let holder
	try {
		const v = (await call(own, 'POST', '/volumes', { name: 'data', sizeMB: 40 })).json
		const left = spawnSync(
			'nsenter',
			inside(
				'btrfs',
				'subvolume',
				'snapshot',
				'-r',
				`${pool}/${v.volumeID}+v`,
				`${pool}/${v.volumeID}v+b`,
			),
			{ encoding: 'utf8' },
		)
		assert.equal(left.status, 0, left.stderr)
		fs.mkdirSync(`${to}.partial`)
		assert.match(
			atoll(own, 'backup', to, ...where).stderr,
			/backup.partial' exists, left by an interrupted backup/,
		)
		assert.ok(!list().includes('+b'), list())
		fs.rmdirSync(`${to}.partial`)

		holder = spawn('nsenter', inside('flock', pool, 'cat'), { stdio: ['pipe', 'pipe', 'inherit'] })
		holder.stdin.write('held\n')
		await new Promise((done) => holder.stdout.once('data', done))
		const child = spawn(own.atoll(), ['backup', to, ...where], { stdio: ['ignore', 'ignore', 'pipe'] })
		const ended = new Promise((done) => child.once('close', done))
		let text = ''
		child.stderr.on('data', (chunk) => {
			text += chunk
		})
		assert.ok(await until(() => text.includes('waiting for another backup'), 20000), text)
		assert.ok(!fs.existsSync(`${to}.partial`))
		holder.stdin.end()
		assert.equal(await ended, 0, text)
		assert.ok(!list().includes('+b'), list())
	} finally {
		holder?.stdin.end()
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('a backup that is damaged or newer is refused, and nothing is ever restored over anything', async () => {
	const own = await newServer(server.buildDir, CONFIG).start()
	const to = path.join(own.base, 'backup'),
		state = path.join(own.base, 'elsewhere')
	const refused = (what) => {
		const done = atoll(own, 'restore', to, '--state', state, ...signedBy(own))
		assert.equal(done.status, 1, done.stdout)
		assert.match(done.stderr, what)
		assert.ok(!fs.existsSync(state))
	}
	try {
		assert.match(atoll(own, 'backup', to, '--state', '/nonexistent').stderr, /no running server found/)
		assert.equal(atoll(own, 'backup', to, '--state', own.stateDir, '--run', own.runDir).status, 0)
		const over = atoll(own, 'restore', to, '--state', own.stateDir, ...signedBy(own))
		assert.equal(over.status, 1)
		assert.match(over.stderr, /is not empty/)
		fs.appendFileSync(path.join(to, 'atoll.db'), 'x')
		refused(/'atoll.db' is damaged/)
		fs.truncateSync(path.join(to, 'atoll.db'), fs.statSync(path.join(to, 'atoll.db')).size - 1)
		fs.writeFileSync(path.join(to, 'extra'), '')
		refused(/files, but 'SHA256SUMS' lists/)
		fs.rmSync(path.join(to, 'extra'))
		const manifest = fs.readFileSync(path.join(to, 'manifest'), 'utf8')
		fs.writeFileSync(path.join(to, 'manifest'), manifest.replace('format=1', 'format=2'))
		refused(/made by a newer atoll/)
		fs.rmSync(path.join(to, 'manifest'))
		refused(/is not a backup/)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('W5: a backup is restored only if it is signed with the key of the server, and read once', async () => {
	const own = await newServer(server.buildDir, CONFIG).start()
	const to = path.join(own.base, 'backup'),
		state = path.join(own.base, 'restored'),
		other = path.join(own.base, 'other.key')
	const restore = (...args) => atoll(own, 'restore', to, '--state', state, ...args)
	const sums = () => spawnSync('sh', ['-c', 'ls | grep -v SHA256SUMS | xargs sha256sum >SHA256SUMS'], { cwd: to })
	try {
		assert.equal(atoll(own, 'backup', to, '--state', own.stateDir, '--run', own.runDir).status, 0)
		assert.ok(!fs.readdirSync(to).includes('export.key'))
		assert.match(restore().stderr, /--key-file.*--unsigned/)
		fs.writeFileSync(other, Buffer.alloc(32, 7))
		assert.match(restore('--key-file', other).stderr, /was changed, or was not signed with the key/)
		/* whoever can write to the directory can make the sums fit, but not the signature */
		fs.appendFileSync(path.join(to, 'key'), '\n')
		sums()
		assert.match(restore(...signedBy(own)).stderr, /was changed, or was not signed with the key/)
		assert.ok(!fs.existsSync(state))
		fs.rmSync(path.join(to, 'SHA256SUMS.hmac'))
		assert.match(restore(...signedBy(own)).stderr, /not signed.*--unsigned/)
		assert.equal(restore('--unsigned').status, 0, 'as one of an older version')
	} finally {
		await own.stop()
	}
})

test('W10: what stands in the folder of the front is not believed to be a file', async () => {
	const own = await newServer(server.buildDir, CONFIG).start()
	const to = path.join(own.base, 'backup'),
		at = path.join(own.stateDir, 'front/secrets.key'),
		kept = `${at}.kept`
	const backup = () =>
		spawnSync(own.atoll(), ['backup', to, '--state', own.stateDir, '--run', own.runDir], {
			encoding: 'utf8',
			timeout: 60000,
		})
	try {
		fs.renameSync(at, kept)
		for (const put of [() => spawnSync('mkfifo', [at]), () => fs.symlinkSync('/etc/hostname', at)]) {
			put()
			const run = backup()
			assert.equal(run.status, 1, `${run.signal} ${run.stderr}`)
			assert.ok(!fs.existsSync(to))
			fs.rmSync(at)
		}
		fs.renameSync(kept, at)
		assert.equal(backup().status, 0)
	} finally {
		await own.stop()
	}
})

// SPDX-License-Identifier: Apache-2.0
// Watching directories: as a stream and polled, flat and recursive, with entries; what ends a watch and what is
// refused.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, endOf, killRaw, rpc, sdk, start, stream, withRaw } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'

let sbx,
	raw,
	n = 0

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 300000 })
	raw = await createRaw({ timeout: 300 })
})
after(async () => {
	await sbx?.kill()
	await killRaw(raw)
})

async function sh(command) {
	const run = await start(raw, command)
	await run.ended
	assert.equal(endOf(run.events).exitCode ?? 0, 0, command)
}

async function dir() {
	const path = `/tmp/watch${n++}`
	await sh(`mkdir -p ${path}`)
	return path
}

async function watch(path, opt = {}) {
	const w = await stream(raw, 'filesystem.Filesystem/WatchDir', { path, ...opt })
	assert.ok(await until(() => w.events.some((e) => e.start) || w.trailer))
	w.seen = () =>
		w.events
			.filter((e) => e.filesystem)
			.map((e) => `${e.filesystem.type.replace('EVENT_TYPE_', '')} ${e.filesystem.name}`)
	w.sees = async (...what) => {
		for (const one of what)
			assert.ok(await until(() => w.seen().includes(one), 5000), `${one} in ${w.seen()}`)
	}
	return w
}

test('each kind of change has its event, by the name below the directory', async () => {
	const path = await dir()
	const w = await watch(path)
	await sh(`cd ${path} && echo a > f && chmod 600 f && mv f g && rm g && mkdir d && rmdir d`)
	await w.sees('CREATE f', 'WRITE f', 'CHMOD f', 'RENAME f', 'CREATE g', 'REMOVE g', 'CREATE d', 'REMOVE d')
	assert.ok(w.seen().indexOf('RENAME f') < w.seen().indexOf('CREATE g'))
	w.close()
})

test('a flat watch does not look below, a recursive one does, also into what is new', async () => {
	const path = await dir()
	await sh(`mkdir -p ${path}/old/deep`)
	const flat = await watch(path),
		deep = await watch(path, { recursive: true })
	// One after the other: what is gone again before it was looked at cannot be told of.
	for (const [command, ...what] of [
		['echo a > old/deep/f', 'CREATE old/deep/f', 'WRITE old/deep/f'],
		['mkdir -p new/x/y', 'CREATE new', 'CREATE new/x/y'],
		['echo b > new/x/y/g', 'CREATE new/x/y/g'],
		['mv new moved', 'RENAME new', 'CREATE moved'],
		['echo c > moved/x/y/h', 'CREATE moved/x/y/h'],
	]) {
		await sh(`cd ${path} && ${command}`)
		await deep.sees(...what)
	}
	await flat.sees('CREATE new', 'RENAME new', 'CREATE moved')
	assert.ok(!flat.seen().some((e) => e.includes('/')), flat.seen().join())
	flat.close()
	deep.close()
})

test('entries come with what is still there, when asked for', async () => {
	const path = await dir()
	const w = await watch(path, { includeEntry: true }),
		plain = await watch(path)
	await sh(`cd ${path} && printf 12345 > f && chmod 640 f && mv f g && rm g`)
	await w.sees('REMOVE g')
	await plain.sees('REMOVE g')
	const events = w.events.map((e) => e.filesystem).filter(Boolean)
	const chmod = events.find((e) => e.type === 'EVENT_TYPE_CHMOD' && e.entry)
	for (const e of events.filter((x) => x.entry)) {
		assert.equal(e.entry.path, `${path}/${e.name}`)
		assert.equal(e.entry.type, 'FILE_TYPE_FILE')
	}
	if (chmod) assert.equal(chmod.entry.size, '5')
	assert.ok(events.filter((e) => /RENAME|REMOVE/.test(e.type)).every((e) => !e.entry))
	assert.ok(plain.events.every((e) => !e.filesystem?.entry))
	w.close()
	plain.close()
})

test('polled: events are kept until they are fetched, once', async () => {
	const path = await dir()
	const made = await rpc(raw, 'filesystem.Filesystem/CreateWatcher', { path, recursive: true })
	const { watcherId } = made.json
	assert.match(watcherId, /^w/)
	await sh(`mkdir ${path}/d && sleep 0.2 && echo x > ${path}/d/f`)
	const got = []
	assert.ok(
		await until(async () => {
			got.push(
				...((await rpc(raw, 'filesystem.Filesystem/GetWatcherEvents', { watcherId })).json
					.events ?? []),
			)
			return got.some((e) => e.name === 'd/f')
		}),
	)
	assert.deepEqual(
		(await rpc(raw, 'filesystem.Filesystem/GetWatcherEvents', { watcher_id: watcherId })).json.events ?? [],
		[],
	)
	assert.equal((await rpc(raw, 'filesystem.Filesystem/RemoveWatcher', { watcherId })).status, 200)
	for (const method of ['GetWatcherEvents', 'RemoveWatcher']) {
		const gone = await rpc(raw, `filesystem.Filesystem/${method}`, { watcherId })
		assert.equal(gone.status, 404)
		assert.match(gone.json.message, /watcher with id w\w+ not found/)
	}
})

test('what cannot be watched is refused by its code', async () => {
	const codes = { '/no/such': 'not_found', '/etc/passwd': 'invalid_argument', '~other': 'invalid_argument' }
	for (const [path, code] of Object.entries(codes)) {
		const w = await stream(raw, 'filesystem.Filesystem/WatchDir', { path })
		assert.equal(w.status, 200)
		assert.equal((await w.ended).trailer.error.code, code, path)
		assert.equal((await rpc(raw, 'filesystem.Filesystem/CreateWatcher', { path })).json.code, code, path)
	}
	const { FileNotFoundError, InvalidArgumentError } = sdk()
	await assert.rejects(
		sbx.files.watchDir('/no/such', () => {}),
		FileNotFoundError,
	)
	await assert.rejects(
		sbx.files.watchDir('/etc/passwd', () => {}),
		InvalidArgumentError,
	)
})

test('the SDK: events, entries, stop, timeout', async () => {
	await sbx.files.makeDir('w')
	const seen = []
	const handle = await sbx.files.watchDir(
		'w',
		(e) => {
			seen.push(e)
		},
		{ recursive: true, timeoutMs: 0, includeEntry: true },
	)
	await sbx.files.write('w/sub/f.txt', 'x')
	assert.ok(await until(() => seen.some((e) => e.name === 'sub')), JSON.stringify(seen))
	await sbx.files.write('w/sub/g.txt', 'x')
	assert.ok(
		await until(() => seen.some((e) => e.name === 'sub/g.txt' && e.type === 'write')),
		JSON.stringify(seen),
	)
	await handle.stop()
	const others = [],
		other = await sbx.files.watchDir('w', (e) => others.push(e))
	await sbx.files.write('w/later', 'x')
	assert.ok(await until(() => others.some((e) => e.name === 'later')), 'whoever still watches sees it')
	await other.stop()
	assert.ok(!seen.some((e) => e.name === 'later'), JSON.stringify(seen))
	const ended = new Promise((done) => sbx.files.watchDir('w', () => {}, { timeoutMs: 700, onExit: done }))
	const why = await ended
	assert.ok(why === undefined || why instanceof Error)
})

test('keepalives come when nothing else does', async () => {
	const w = await stream(
		raw,
		'filesystem.Filesystem/WatchDir',
		{ path: await dir() },
		{ headers: { 'Keepalive-Ping-Interval': '1' } },
	)
	assert.ok(await until(() => w.events.filter((e) => e.keepalive).length >= 2, 5000))
	w.close()
})

test('a directory that goes away, and a flood of events, do not hurt', async () => {
	const path = await dir()
	const w = await watch(path, { recursive: true })
	await sh(
		`cd ${path} && for i in $(seq 3000); do : > f$i; done; cd / && rm -rf ${path} && mkdir ${path} && ` +
			`touch ${path}/again`,
	)
	await w.sees('CREATE f3000')
	const other = await watch(await dir())
	other.close()
	w.close()
})

test('F2: many watchers of one flood see all of it, in order', async () => {
	const path = await dir(),
		files = 400
	const all = await Promise.all(Array.from({ length: 10 }, () => watch(path)))
	await sh(`cd ${path} && for i in $(seq ${files}); do echo x > f$i; mv f$i g$i; rm g$i; done`)
	const wanted = Array.from({ length: files }, (_, i) => [
		`CREATE f${i + 1}`,
		`WRITE f${i + 1}`,
		`RENAME f${i + 1}`,
		`CREATE g${i + 1}`,
		`REMOVE g${i + 1}`,
	]).flat()
	for (const w of all) {
		assert.ok(
			await until(() => w.trailer || w.seen().at(-1) === wanted.at(-1), 30000),
			JSON.stringify(w.trailer ?? w.seen().slice(-3)),
		)
		const seen = w.seen()
		let at = -1
		for (const one of wanted) {
			// a WRITE may come twice, as the kernel tells it
			const next = seen.indexOf(one, at + 1)
			assert.ok(next > at, `${one} is missing, or not in order`)
			at = next
		}
		w.close()
	}
})

test('watchers are bounded, and free again when clients go', async () => {
	await withRaw({}, async (fresh) => {
		const many = []
		let refused
		for (let i = 0; i < 400 && !refused; i++) {
			const w = await stream(fresh, 'filesystem.Filesystem/WatchDir', { path: '/tmp' })
			await until(() => w.events.length > 0 || w.trailer, 5000, 5)
			refused = w.trailer?.error
			many.push(w)
		}
		assert.ok(refused, 'there is no bound')
		assert.match(refused.code, /resource_exhausted|internal/)
		for (const w of many) w.close()
		const again = async () => {
			const w = await stream(fresh, 'filesystem.Filesystem/WatchDir', { path: '/tmp' })
			await until(() => w.events.length > 0 || w.trailer, 5000, 5)
			w.close()
			return !w.trailer
		}
		assert.ok(await until(again, 5000, 100))
	})
})

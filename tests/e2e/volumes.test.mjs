// SPDX-License-Identifier: Apache-2.0
// Volumes: made, mounted in several sandboxes, kept after them; their files over the API.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, endOf, killRaw, outputOf, request, sdk, server, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { poolOf, until } from '../lib/host.mjs'
import { built } from '../ckpt/drive.mjs'

const tools = built('tools')
const noMemory = tools.why && `CRIU is not there: ${tools.why}`
const CONFIG = { pool_size_mb: 3072, checkpoint_after_s: 0, volume_max_mb: 2048, team_max_volumes: 5 }

function via(own, key = own.key) {
	const opt = { base: own.url, key }
	const call = (method, path, body) => api(method, path, body, opt)
	const at = {
		call,
		make: async (name, more) => {
			const got = await call('POST', '/volumes', { name, ...more })
			assert.equal(got.status, 201, got.text)
			return got.json
		},
		drop: (volume) => call('DELETE', `/volumes/${volume.volumeID}`),
		content: (volume, method, what, query, body, headers) =>
			request(method, `/volumecontent/${volume.volumeID}/${what}?${new URLSearchParams(query)}`, {
				base: own.url,
				body,
				headers: { Authorization: `Bearer ${volume.token}`, ...headers },
			}),
		put: (volume, path, body, query) =>
			at.content(volume, 'PUT', 'file', { path, ...query }, body, {
				'Content-Type': 'application/octet-stream',
			}),
		create: (mounts, body) =>
			createRaw(
				{
					templateID: 'base',
					timeout: 600,
					volumeMounts: Object.entries(mounts).map(([path, v]) => ({
						name: v.name,
						path,
					})),
					...body,
				},
				opt,
			),
		kill: (sbx) => killRaw(sbx, opt),
		run: async (sbx, command, user = 'user') => {
			const run = await stream(
				sbx,
				'process.Process/Start',
				{ process: { cmd: '/bin/bash', args: ['-l', '-c', command] }, stdin: false },
				{ base: own.url, user },
			)
			await run.ended
			return {
				status: endOf(run.events)?.status,
				out: outputOf(run.events).trim(),
				err: outputOf(run.events, 'stderr').trim(),
			}
		},
		sh: async (sbx, command, user) => {
			const done = await at.run(sbx, command, user)
			assert.equal(done.status, 'exit status 0', `${command}: ${done.err}`)
			return done.out
		},
	}
	return at
}

async function withServer(use, config = {}) {
	const own = await newServer(server.buildDir, { ...CONFIG, ...config }).start()
	try {
		await use(own, via(own))
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
}

test('a volume is made, found, listed and deleted, and its name is free again', () =>
	withServer(async (own, at) => {
		const one = await at.make('one-1_A')
		assert.match(one.volumeID, /^v[a-z0-9]{19}$/)
		assert.equal(one.sizeMB, 1024)
		const again = await at.call('POST', '/volumes', { name: 'one-1_A' })
		assert.equal(again.status, 400)
		assert.match(again.json.message, /already exists/)
		const two = await at.make('two', { sizeMB: 10 })
		assert.deepEqual(
			(await at.call('GET', '/volumes')).json.map((v) => [v.volumeID, v.name, v.token]).sort(),
			[
				[one.volumeID, 'one-1_A', undefined],
				[two.volumeID, 'two', undefined],
			].sort(),
		)
		const got = await at.call('GET', `/volumes/${one.volumeID}`)
		assert.deepEqual([got.status, got.json.name, got.json.token], [200, 'one-1_A', one.token])
		assert.equal((await at.call('GET', '/volumes/two')).json.volumeID, two.volumeID)
		assert.equal((await at.drop(one)).status, 204)
		assert.equal((await at.drop(one)).status, 404)
		assert.equal((await at.call('GET', `/volumes/${one.volumeID}`)).status, 404)
		assert.equal((await at.content(one, 'GET', 'dir', { path: '/' })).status, 401)
		await at.make('one-1_A')
		own.signal('SIGKILL')
		await own.exited
		await own.start()
		assert.deepEqual((await at.call('GET', '/volumes')).json.map((v) => v.name).sort(), ['one-1_A', 'two'])
	}))

test('names, sizes, mounts and counts that are not allowed are refused by name', () =>
	withServer(async (own, at) => {
		const bad = async (body, what) => {
			const got = await at.call('POST', '/volumes', body)
			assert.deepEqual([got.status, got.json.code], [400, 400], got.text)
			assert.match(got.json.message, what)
		}
		for (const name of ['', 'a b', 'a/b', '../x', 'ü', 'x'.repeat(129)]) await bad({ name }, /field 'name'/)
		await bad({}, /'name'/)
		await bad({ name: 7 }, /'name'/)
		for (const sizeMB of [0, -1, 2049, '10', 1.5]) await bad({ name: 'x', sizeMB }, /field 'sizeMB'/)
		const v = await at.make('x')
		const mount = async (volumeMounts, what) => {
			const got = await at.call('POST', '/sandboxes', {
				templateID: 'base',
				timeout: 60,
				volumeMounts,
			})
			assert.deepEqual([got.status, got.json.code], [400, 400], got.text)
			assert.match(got.json.message, what)
		}
		for (const path of [
			'',
			'/',
			'data',
			'./x',
			'/a/../b',
			'/a/./b',
			'/a//b',
			'/a/',
			'/proc',
			'/proc/x',
			'/sys',
			'/dev/shm',
			'/dev',
			'/a\n',
			`/${'x'.repeat(240)}`,
		])
			await mount([{ name: 'x', path }], /path/)
		await mount([{ name: 'nope', path: '/data' }], /volume 'nope' not found/)
		await mount([{ name: v.volumeID, path: '/data' }], /not found/)
		await mount(
			[
				{ name: 'x', path: '/data' },
				{ name: 'x', path: '/data' },
			],
			/already used/,
		)
		await mount(
			Array.from({ length: 9 }, (_, i) => ({ name: 'x', path: `/d${i}` })),
			/at most 8/,
		)
		await mount('x', /volumeMounts/)
		await mount([7], /volumeMounts/)
		await mount([{ name: 'x' }], /path/)
		// A file of the template. F8: many at a time, so that builders find the end of the new process before
		// they have read its reason.
		await Promise.all(
			Array.from({ length: 12 }, () => mount([{ name: 'x', path: '/etc/passwd' }], /\/etc\/passwd/)),
		)
		for (const name of ['b', 'c', 'd', 'e']) await at.make(name)
		const full = await at.call('POST', '/volumes', { name: 'f' })
		assert.equal(full.status, 429)
		assert.equal((await at.call('GET', '/sandboxes')).json.length, 0)
	}))

test('two sandboxes share a volume, whose files belong to the same users in both, and it outlives them', () =>
	withServer(async (own, at) => {
		const v = await at.make('shared'),
			deep = await at.make('deep')
		const a = await at.create({ '/mnt/data/in': deep, '/mnt/data': v }),
			b = await at.create({ '/srv/b': v })
		assert.deepEqual((await at.call('GET', `/sandboxes/${a.sandboxID}`)).json.volumeMounts, [
			{ name: 'shared', path: '/mnt/data' },
			{ name: 'deep', path: '/mnt/data/in' },
		])
		await at.sh(a, 'echo from a >/mnt/data/a; mkdir -p /mnt/data/d; echo deep >/mnt/data/in/x')
		await at.sh(a, 'echo secret >/mnt/data/roots; chmod 600 /mnt/data/roots', 'root')
		assert.equal(
			await at.sh(b, 'cat /srv/b/a; stat -c %U:%a /srv/b/a /srv/b/roots'),
			'from a\nuser:644\nroot:600',
		)
		assert.notEqual((await at.run(b, 'cat /srv/b/roots')).status, 'exit status 0')
		// the mount of a is not b's
		assert.equal(await at.sh(b, 'sudo cat /srv/b/roots; ls /srv/b/in'), 'secret')
		await at.sh(b, 'echo and b >>/srv/b/a')
		assert.equal(await at.sh(a, 'cat /mnt/data/a'), 'from a\nand b')
		const got = await at.content(v, 'GET', 'file', { path: '/a' })
		assert.deepEqual([got.status, got.text], [200, 'from a\nand b\n'])
		assert.equal((await at.put(v, '/api', 'by api', { uid: 1000, gid: 1000, mode: 0o600 })).status, 201)
		assert.equal(await at.sh(a, 'cat /mnt/data/api'), 'by api')
		await at.sh(
			a,
			'cp /bin/true /mnt/data/true; chmod 4755 /mnt/data/true; /mnt/data/true; grep -q " ' +
				'/mnt/data btrfs .*nosuid" /proc/mounts',
			'root',
		)
		await at.kill(a)
		await at.kill(b)
		const c = await at.create({ '/data': v })
		assert.equal(await at.sh(c, 'cat /data/a; cat /data/api'), 'from a\nand b\nby api')
		await at.kill(c)
	}))

test('a volume that is mounted cannot be deleted; the sandbox stays as it was', () =>
	withServer(async (own, at) => {
		const v = await at.make('used'),
			sbx = await at.create({ '/data': v })
		await at.sh(sbx, 'echo kept >/data/x')
		const refused = await at.drop(v)
		assert.deepEqual([refused.status, refused.json.code], [409, 409])
		assert.match(
			refused.json.message,
			new RegExp(
				`'used' is mounted in 1 sandbox, among them '${sbx.sandboxID}', which is running: ` +
					`kill it first`,
			),
		)
		assert.equal(await at.sh(sbx, 'cat /data/x'), 'kept')
		assert.equal((await at.call('POST', `/sandboxes/${sbx.sandboxID}/pause`)).status, 204)
		assert.match((await at.drop(v)).json.message, /which is paused/)
		await at.kill(sbx)
		assert.equal((await at.drop(v)).status, 204)
		const there = () => poolOf(own).some((name) => name.includes(v.volumeID))
		assert.ok(await until(() => !there()), 'it is gone from the pool')
	}))

test('a volume holds no more than its size, and subvolumes do not help', () =>
	withServer(async (own, at) => {
		const v = await at.make('small', { sizeMB: 20 }),
			sbx = await at.create({ '/data': v })
		const full = await at.run(sbx, 'dd if=/dev/zero of=/data/big bs=1M count=40 conv=fsync')
		assert.match(full.err, /Disk quota exceeded|No space left/)
		await at.sh(sbx, 'echo more >/home/user/x') // its own disk is another
		const refused = await at.put(v, '/more', Buffer.alloc(8 << 20))
		assert.deepEqual([refused.status, refused.json.code], [507, 'no_space'], refused.text)
		// BTRFS_IOC_SUBVOL_CREATE, SNAP_CREATE_V2, START_SYNC: not for sandboxes. FICLONE is.
		const tried = await at.sh(
			sbx,
			`rm /data/big; python3 - <<'PY'
import fcntl, os, struct
fd = os.open('/data', os.O_RDONLY)
for nr, size in ((14, 4096), (23, 4096), (24, 8), (8, 4), (1, 4096)):
    try:
        fcntl.ioctl(fd, (1 << 30) | (size << 16) | (0x94 << 8) | nr, bytearray(struct.pack('q', 0) + ` +
				`b'sub'.ljust(4088, b'\\0')))
        print(nr, 'worked')
    except OSError as e:
        print(nr, e.errno)
open('/data/a', 'w').write('same')
a, b = os.open('/data/a', os.O_RDONLY), os.open('/data/b', os.O_RDWR | ` +
				`os.O_CREAT)
fcntl.ioctl(b, 0x40049409, a)
print(open('/data/b').read())
PY`,
		)
		assert.equal(tried, '14 25\n23 25\n24 25\n8 25\n1 25\nsame')
		const larger = await at.call('PATCH', '/volumes/small', { sizeMB: 60 })
		assert.deepEqual([larger.status, larger.json.sizeMB], [200, 60])
		await at.sh(sbx, 'dd if=/dev/zero of=/data/big bs=1M count=40 conv=fsync')
		assert.equal(typeof (await at.call('GET', '/volumes/small')).json.usedBytes, 'number')
		await at.kill(sbx)
	}))

test('the files of a volume are reached with its token only, and no link leads out of it', () =>
	withServer(async (own, at) => {
		const v = await at.make('one'),
			other = await at.make('other')
		await at.put(other, '/x', 'of the other')
		for (const token of ['', 'x', other.token, own.key]) {
			const got = await at.content({ ...v, token }, 'GET', 'dir', { path: '/' })
			assert.deepEqual([got.status, got.json.code], [401, 'unauthenticated'])
		}
		assert.equal(
			(await request('GET', `/volumecontent/${v.volumeID}/dir?path=/`, { base: own.url })).status,
			401,
		)
		assert.equal((await at.content({ ...v, volumeID: 'vnone' }, 'GET', 'dir', { path: '/' })).status, 401)
		const sbx = await at.create({ '/data': v })
		await at.sh(
			sbx,
			'cd /data; ln -s /etc/passwd abs; ln -s ../../../../../../etc/passwd up; ln -s ' +
				'/proc/self/root/etc/passwd proc; ln -s / root; mkfifo fifo; ln -s real link; ' +
				'echo real >real',
		)
		for (const path of [
			'/abs',
			'/up',
			'/proc',
			'/root/etc/passwd',
			'/../../../etc/passwd',
			'/root/../../etc/passwd',
		])
			assert.ok([400, 404].includes((await at.content(v, 'GET', 'file', { path })).status), path)
		assert.equal((await at.content(v, 'GET', 'file', { path: '/fifo' })).status, 400)
		assert.equal((await at.content(v, 'GET', 'file', { path: '/link' })).text, 'real\n')
		const link = (await at.content(v, 'GET', 'path', { path: '/abs' })).json
		assert.deepEqual([link.type, link.target], ['symlink', '/etc/passwd'])
		// its directory is not in the volume
		assert.equal((await at.put(v, '/abs', 'x', { force: true })).status >= 400, true)
		assert.deepEqual(
			(await at.content(v, 'GET', 'dir', { path: '/root' })).json.map((e) => e.name).sort(),
			['abs', 'fifo', 'link', 'proc', 'real', 'root', 'up'],
		)
		// the link, not what it leads to
		assert.equal((await at.content(v, 'DELETE', 'path', { path: '/root' })).status, 204)
		assert.equal(await at.sh(sbx, 'cat /data/real'), 'real')
		await at.kill(sbx)
	}))

test('bad questions about files get clear answers', () =>
	withServer(async (own, at) => {
		const v = await at.make('one')
		const check = async (status, code, what, method, of, query, body, headers) => {
			const got = await at.content(v, method, of, query, body, headers)
			assert.deepEqual(
				[got.status, got.json?.code],
				[status, code],
				`${method} ${of} ${JSON.stringify(query)}: ${got.text}`,
			)
			assert.match(got.json.message, what)
		}
		await check(400, 'invalid_request', /'path' is required/, 'GET', 'path', {})
		await check(400, 'invalid_request', /'path' is required/, 'GET', 'file', { path: '' })
		await check(400, 'invalid_request', /malformed/, 'GET', 'path', { path: 'a\0b' })
		await check(400, 'invalid_request', /too long/, 'GET', 'path', { path: 'x/'.repeat(4000) })
		await check(400, 'invalid_request', /too long/i, 'GET', 'path', { path: 'x'.repeat(300) })
		await check(404, 'path_not_found', /not found/, 'GET', 'dir', { path: '/none' })
		await check(404, 'path_not_found', /not found/, 'PUT', 'file', { path: '/none/x' }, 'x')
		await check(404, 'path_not_found', /not found/, 'POST', 'dir', { path: '/none/x' })
		await check(404, 'path_not_found', /not found/, 'DELETE', 'path', { path: '/none' })
		await check(404, 'path_not_found', /not found/, 'PATCH', 'path', { path: '/none' }, { mode: 0o644 })
		assert.equal((await at.put(v, '/f', 'one')).status, 201)
		await check(409, 'path_already_exists', /exists/, 'PUT', 'file', { path: '/f' }, 'two')
		assert.equal((await at.put(v, '/f', 'two', { force: true })).status, 201)
		assert.equal((await at.put(v, '/a/b/c', 'deep', { force: true })).status, 201)
		await check(409, 'path_already_exists', /exists/, 'POST', 'dir', { path: '/a' })
		await check(409, 'path_already_exists', /exists/, 'POST', 'dir', { path: '/f', force: true })
		await check(400, 'invalid_request', /directory/, 'GET', 'dir', { path: '/f' })
		await check(400, 'invalid_request', /directory/, 'POST', 'dir', { path: '/f/x' })
		await check(400, 'invalid_request', /not a file/, 'GET', 'file', { path: '/a' })
		await check(400, 'invalid_request', /directory/, 'PUT', 'file', { path: '/a', force: true }, 'x')
		await check(400, 'invalid_request', /'uid'/, 'PUT', 'file', { path: '/u', uid: 65536 }, 'x')
		await check(400, 'invalid_request', /'mode'/, 'PUT', 'file', { path: '/u', mode: 'rw' }, 'x')
		await check(400, 'invalid_request', /'force'/, 'PUT', 'file', { path: '/u', force: 'yes' }, 'x')
		await check(400, 'depth_out_of_range', /1 to 10/, 'GET', 'dir', { path: '/', depth: 11 })
		await check(400, 'invalid_request', /'mode'/, 'PATCH', 'path', { path: '/f' }, { mode: 65536 })
		await check(400, 'invalid_request', /'uid'/, 'PATCH', 'path', { path: '/f' }, { uid: -1 })
		await check(400, 'invalid_request', /./, 'PATCH', 'path', { path: '/f' }, 'no json')
		await check(400, 'cannot_delete_root', /root/, 'DELETE', 'path', { path: '/' })
		await check(400, 'cannot_delete_root', /root/, 'DELETE', 'path', { path: '/a/..' })
		await check(404, 'invalid_request', /no such path/, 'GET', 'nothing', { path: '/' })
		await check(405, 'invalid_request', /not allowed/, 'POST', 'file', { path: '/' })
		assert.deepEqual(
			(await at.content(v, 'GET', 'dir', { path: '/', depth: 3 })).json.map((e) => e.path),
			['/a', '/a/b', '/a/b/c', '/f'],
		)
		const part = await at.content(v, 'GET', 'file', { path: '/a/b/c' }, undefined, { Range: 'bytes=1-2' })
		assert.deepEqual([part.status, part.text], [206, 'ee'])
	}))

test('large files go in and out, many at a time', () =>
	withServer(async (own, at) => {
		const v = await at.make('big')
		const data = Buffer.alloc(64 << 20, 'atoll')
		assert.equal((await at.put(v, '/large', data)).json.size, data.length)
		const back = await at.content(v, 'GET', 'file', { path: '/large' })
		assert.ok(data.equals(back.body))
		const all = await Promise.all(
			Array.from({ length: 60 }, async (_, i) => {
				const put = await at.put(v, `/many/${i}`, `file ${i}`, { force: true })
				const got = await at.content(v, 'GET', 'file', { path: `/many/${i}` })
				return [put.status, got.status, got.text]
			}),
		)
		assert.deepEqual(
			all,
			all.map((_, i) => [201, 200, `file ${i}`]),
		)
		const others = await Promise.all(Array.from({ length: 4 }, (_, i) => at.make(`v${i}`)))
		for (const other of others) assert.equal((await at.put(other, '/x', 'x')).status, 201)
		assert.equal((await at.content(v, 'GET', 'dir', { path: '/many' })).json.length, 60)
	}))

test('pause and resume, from RAM and as a boot from disk, leave the volume where it is', () =>
	withServer(
		async (own, at) => {
			const v = await at.make('kept'),
				sbx = await at.create({ '/home/user/data': v })
			const pause = (memory) => at.call('POST', `/sandboxes/${sbx.sandboxID}/pause`, { memory })
			const resume = () => at.call('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 600 })
			await at.sh(sbx, 'echo one >data/x')
			assert.equal((await pause(true)).status, 204)
			assert.equal((await at.put(v, '/y', 'meanwhile')).status, 201)
			assert.equal((await resume()).status, 201)
			assert.equal(await at.sh(sbx, 'cat data/x data/y'), 'one\nmeanwhile')
			assert.equal((await pause(false)).status, 204)
			assert.equal((await at.put(v, '/z', 'again')).status, 201)
			assert.equal((await resume()).status, 201)
			assert.equal(
				await at.sh(sbx, 'cat data/x data/y data/z; mountpoint -q data && echo mounted'),
				'one\nmeanwhileagainmounted',
			)
			await at.kill(sbx)
		},
		{ checkpoint_after_s: 3600 },
	))

test('a sandbox with volumes is written to disk and restored, with files open on them', { skip: noMemory }, () =>
	withServer(async (own, at) => {
		const v = await at.make('kept'),
			sbx = await at.create({ '/data': v, '/var/run/more': await at.make('more') })
		const info = async () => (await at.call('GET', `/sandboxes/${sbx.sandboxID}`)).json
		await stream(
			sbx,
			'process.Process/Start',
			{
				process: {
					cmd: '/bin/bash',
					args: [
						'-c',
						'exec 9>>/data/log; cd /data; ' +
							'while :; do echo tick >&9; sleep 0.2; done',
					],
				},
				stdin: false,
			},
			{ base: own.url, user: 'user' },
		)
		await at.sh(sbx, 'echo more >/run/more/x; until grep -q tick /data/log; do sleep 0.1; done')
		assert.equal((await at.call('POST', `/sandboxes/${sbx.sandboxID}/pause`)).status, 204)
		assert.ok(
			await until(async () => (await info()).pausedMemory === 'ram+disk', 60000),
			'its memory is on disk',
		)
		await own.stop({ remove: false })
		await own.start()
		assert.equal((await info()).pausedMemory, 'disk')
		const before = (await at.content(v, 'GET', 'file', { path: '/log' })).text.length
		assert.equal(
			(await at.call('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 600 })).status,
			201,
		)
		assert.ok(
			await until(
				async () => (await at.content(v, 'GET', 'file', { path: '/log' })).text.length > before,
			),
			'the process goes on',
		)
		assert.equal(
			await at.sh(sbx, 'cat /run/more/x; stat -c %U /data/log; echo new >/data/new; cat /data/new'),
			'more\nuser\nnew',
		)
		await at.kill(sbx)
	}),
)

test('forks and snapshots share the volume, and do not copy it', { skip: noMemory }, () =>
	withServer(
		async (own, at) => {
			const v = await at.make('shared'),
				sbx = await at.create({ '/data': v })
			await at.sh(sbx, 'echo one >/data/x; echo own >/home/user/own')
			const forked = await at.call('POST', `/sandboxes/${sbx.sandboxID}/fork`, { timeout: 600 })
			assert.equal(forked.status, 201, forked.text)
			const copy = forked.json[0].sandbox
			assert.ok(copy, forked.text)
			await at.sh(copy, 'echo by the copy >/data/copy; echo other >/home/user/own')
			assert.equal(await at.sh(sbx, 'cat /data/copy /home/user/own'), 'by the copy\nown')
			const snapshot = await at.call('POST', `/sandboxes/${sbx.sandboxID}/snapshots`, {})
			assert.equal(snapshot.status, 201, snapshot.text)
			const third = await at.create({}, { templateID: snapshot.json.snapshotID })
			assert.deepEqual((await at.call('GET', `/sandboxes/${third.sandboxID}`)).json.volumeMounts, [
				{ name: 'shared', path: '/data' },
			])
			assert.equal(await at.sh(third, 'cat /data/copy'), 'by the copy')
			for (const one of [sbx, copy, third]) await at.kill(one)
			assert.equal((await at.drop(v)).status, 204)
			const late = await at.call('POST', '/sandboxes', {
				templateID: snapshot.json.snapshotID,
				timeout: 60,
			})
			assert.deepEqual([late.status, late.json.code], [400, 400], late.text)
			assert.match(late.json.message, /volume 'shared' mounted, which has been deleted/)
			await at.call('DELETE', `/templates/${encodeURIComponent(snapshot.json.snapshotID)}`)
		},
		{ checkpoint_after_s: 3600 },
	),
)

test('the SDK makes, mounts and uses a volume', () =>
	withServer(async (own) => {
		const { Sandbox, Volume, VolumePathNotFoundError } = sdk('e2b')
		const opts = { apiUrl: own.url, sandboxUrl: own.url, apiKey: own.key },
			at = { apiUrl: own.url }
		const v = await Volume.create('by-sdk', opts)
		assert.equal((await Volume.connect(v.volumeId, opts)).token, v.token)
		await v.makeDir('/a/b', { force: true, ...at })
		const stat = await v.writeFile('/a/b/c.txt', 'hello', { uid: 1000, gid: 1000, mode: 0o640, ...at })
		assert.deepEqual(
			[stat.name, stat.type, stat.path, stat.size, stat.mode, stat.uid],
			['c.txt', 'file', '/a/b/c.txt', 5, 0o640, 1000],
		)
		assert.ok(stat.mtime instanceof Date)
		const sbx = await Sandbox.create('base', { ...opts, volumeMounts: { '/vol': v } })
		try {
			assert.equal(
				(await sbx.commands.run('cat /vol/a/b/c.txt; echo back >/vol/back')).stdout,
				'hello',
			)
		} finally {
			await sbx.kill()
		}
		assert.equal(await v.readFile('/back', at), 'back\n')
		assert.equal(await v.exists('/none', at), false)
		await assert.rejects(v.list('/none', at), VolumePathNotFoundError)
		assert.deepEqual(
			(await v.list('/', at)).map((e) => e.name),
			['a', 'back'],
		)
		await v.remove('/a', at)
		assert.equal(await v.exists('/a/b', at), false)
		assert.equal(await Volume.destroy(v.volumeId, opts), true)
		assert.equal(await Volume.destroy(v.volumeId, opts), false)
	}))

// SPDX-License-Identifier: Apache-2.0
// The envd services over protobuf, as generated clients in Go and other languages call them: the official Connect
// runtime with the messages of the official SDK. Every method, both kinds of stream, errors, compression.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { envd, envelope, request, routeHeaders, rpc, sdk, withRaw } from '../lib/client.mjs'
import { binaryClients } from '../lib/binary.mjs'
import { until } from '../lib/host.mjs'

sdk() // its messages are used

function bash(command, more = {}) {
	return {
		process: { cmd: '/bin/bash', args: ['-l', '-c', command], envs: {}, ...more.process },
		...more.request,
	}
}

function nothing() {
	return { out: '', err: '', pty: '', events: [] }
}

async function all(stream, got = nothing()) {
	for await (const { event } of stream) {
		const e = event.event
		got.events.push(e.case)
		if (e.case === 'start') got.pid = e.value.pid
		else if (e.case === 'data')
			got[{ stdout: 'out', stderr: 'err', pty: 'pty' }[e.value.output.case]] += Buffer.from(
				e.value.output.value,
			).toString()
		else if (e.case === 'end') got.end = e.value
	}
	return got
}

for (const gzip of [false, true]) {
	test(`a command runs over protobuf${gzip ? ' with compressed requests' : ''}`, async () => {
		await withRaw({}, async (sbx) => {
			const { process } = binaryClients(sbx, { gzip })
			const got = await all(
				process.start(
					bash('echo "$A"; pwd; echo no >&2; exit 3', {
						process: { envs: { A: 'ä=b' }, cwd: '/tmp' },
						request: { stdin: false },
					}),
				),
			)
			assert.equal(got.out, 'ä=b\n/tmp\n')
			assert.equal(got.err, 'no\n')
			assert.ok(got.pid > 1)
			assert.equal(got.events[0], 'start')
			assert.equal(got.events.at(-1), 'end')
			assert.deepEqual(
				[got.end.exitCode, got.end.exited, got.end.status, got.end.error],
				[3, true, 'exit status 3', 'exit status 3'],
			)
			const killed = await all(process.start(bash('kill -9 $$')))
			assert.deepEqual(
				[killed.end.exitCode, killed.end.exited, killed.end.status],
				[-1, false, 'signal: killed'],
			)
			const good = await all(process.start(bash('true')))
			assert.deepEqual([good.end.exitCode, good.end.error], [0, undefined])
		})
	})
}

test('list, input, connect, signals and the end of stdin', async () => {
	await withRaw({}, async (sbx) => {
		const { process } = binaryClients(sbx)
		const first = all(process.start(bash('cat; echo over', { request: { tag: 'cat', stdin: true } })))
		const listed = async (tag) => {
			const found = await until(async () =>
				(await process.list({})).processes.find((p) => p.tag === tag),
			)
			assert.ok(found, `no process with the tag ${tag}`)
			return found
		}
		const info = await listed('cat')
		assert.equal(info.config.cmd, '/bin/bash')
		assert.deepEqual(info.config.args, ['-l', '-c', 'cat; echo over'])
		const second = all(process.connect({ process: { selector: { case: 'pid', value: info.pid } } }))
		const bytes = Buffer.from([0, 1, 254, 255])
		await process.sendInput({
			process: { selector: { case: 'tag', value: 'cat' } },
			input: { input: { case: 'stdin', value: Buffer.from('one\n') } },
		})
		async function* inputs() {
			yield {
				event: {
					case: 'start',
					value: { process: { selector: { case: 'pid', value: info.pid } } },
				},
			}
			yield { event: { case: 'keepalive', value: {} } }
			for (const text of ['two\n', 'three\n'])
				yield {
					event: {
						case: 'data',
						value: {
							input: { input: { case: 'stdin', value: Buffer.from(text) } },
						},
					},
				}
		}
		await process.streamInput(inputs())
		await process.closeStdin({ process: { selector: { case: 'pid', value: info.pid } } })
		assert.equal((await first).out, 'one\ntwo\nthree\nover\n')
		assert.equal((await second).end.exitCode, 0)

		const raw = all(process.start(bash('head -c 4 | od -An -tu1', { request: { tag: 'od' } })))
		await listed('od')
		await process.sendInput({
			process: { selector: { case: 'tag', value: 'od' } },
			input: { input: { case: 'stdin', value: bytes } },
		})
		assert.equal((await raw).out.trim().split(/ +/).join(), '0,1,254,255')

		const sleep = all(process.start(bash('sleep 60', { request: { tag: 's' } })))
		await listed('s')
		await process.sendSignal({ process: { selector: { case: 'tag', value: 's' } }, signal: 9 })
		assert.equal((await sleep).end.status, 'signal: killed')
	})
})

test('a terminal is sized, written to and read', async () => {
	await withRaw({}, async (sbx) => {
		const { process } = binaryClients(sbx, { user: 'root' })
		const got = nothing()
		const run = all(
			process.start({
				process: { cmd: '/bin/sh', args: [], envs: {} },
				pty: { size: { cols: 91, rows: 17 } },
				tag: 'tty',
			}),
			got,
		)
		const sel = { selector: { case: 'tag', value: 'tty' } }
		const type = (text) =>
			process.sendInput({ process: sel, input: { input: { case: 'pty', value: Buffer.from(text) } } })
		assert.ok(await until(async () => (await process.list({})).processes.length === 1), 'it is not listed')
		await type('stty size; whoami\n')
		assert.ok(await until(() => /17 91[^]*root/.test(got.pty)), got.pty)
		await process.update({ process: sel, pty: { size: { cols: 50, rows: 10 } } })
		await type('stty size; exit 4\n')
		await run
		assert.match(got.pty, /17 91[^]*root[^]*10 50/)
		assert.equal(got.end.exitCode, 4)
	})
})

test('files are looked at, made, moved, listed and removed', async () => {
	await withRaw({}, async (sbx) => {
		const { filesystem } = binaryClients(sbx)
		const made = await filesystem.makeDir({ path: 'dir/sub' })
		assert.deepEqual(
			[made.entry.path, made.entry.type, made.entry.mode, made.entry.owner],
			['/home/user/dir/sub', 2, 0o755, 'user'],
		)
		const put = await envd(sbx, 'POST', '/files?path=dir/a.txt', Buffer.from('12345'), {
			headers: { 'Content-Type': 'application/octet-stream', 'X-Metadata-Colour': 'blue' },
		})
		assert.equal(put.status, 200, put.text)
		const { entry } = await filesystem.stat({ path: '/home/user/dir/a.txt' })
		assert.deepEqual(
			[entry.name, entry.type, entry.size, entry.permissions, entry.group],
			['a.txt', 1, 5n, '-rw-r--r--', 'user'],
		)
		assert.deepEqual(entry.metadata, { colour: 'blue' })
		assert.equal(entry.symlinkTarget, undefined)
		const json = (await rpc(sbx, 'filesystem.Filesystem/Stat', { path: '/home/user/dir/a.txt' })).json.entry
		const time = BigInt(Date.parse(json.modifiedTime.slice(0, 19) + 'Z')) / 1000n
		assert.equal(entry.modifiedTime.seconds, time)
		assert.equal(entry.modifiedTime.nanos, Number(json.modifiedTime.slice(20, 29)))
		await filesystem.move({ source: 'dir/a.txt', destination: 'dir/sub/b.txt' })
		const list = await filesystem.listDir({ path: 'dir', depth: 3 })
		assert.deepEqual(
			list.entries.map((e) => e.path),
			['/home/user/dir/sub', '/home/user/dir/sub/b.txt'],
		)
		assert.deepEqual(
			(await filesystem.listDir({ path: 'dir/sub' })).entries.map((e) => e.name),
			['b.txt'],
		)
		await filesystem.remove({ path: 'dir' })
		const gone = await filesystem.stat({ path: 'dir' }).catch((err) => err)
		assert.equal(gone.code, 5) /* not_found */
		assert.match(gone.rawMessage, /file not found/)
		const again = await filesystem.makeDir({ path: '/home/user' }).catch((err) => err)
		assert.equal(again.code, 6) /* already_exists */
	})
})

test('a directory is watched as a stream and by polling', async () => {
	await withRaw({}, async (sbx) => {
		const { process, filesystem } = binaryClients(sbx)
		await filesystem.makeDir({ path: 'w' })
		const seen = [],
			stop = new AbortController()
		const watching = (async () => {
			for await (const { event } of filesystem.watchDir(
				{ path: 'w', recursive: true, includeEntry: true },
				{ signal: stop.signal },
			))
				seen.push(event)
		})().catch((err) => err)
		const came = (what, holds) =>
			until(() => seen.some(holds)).then((found) => assert.ok(found, `no event: ${what}`))
		const event = (name, holds) =>
			came(
				name,
				({ case: kind, value }) => kind === 'filesystem' && value.name === name && holds(value),
			)
		await came('start', (e) => e.case === 'start')
		const { watcherId } = await filesystem.createWatcher({ path: 'w', recursive: false })
		// One after the other: an event tells of the file as it is when it is told.
		await all(process.start(bash('mkdir w/d')))
		await event('d', (e) => e.type === 1)
		await all(process.start(bash('echo hi > w/d/f && chmod 600 w/d/f')))
		await event('d/f', (e) => e.type === 5 && e.entry.mode === 0o600)
		await all(process.start(bash('mv w/d/f w/d/g')))
		await event('d/f', (e) => e.type === 4 && !e.entry)
		await event('d/g', () => true)
		const polled = await filesystem.getWatcherEvents({ watcherId })
		assert.deepEqual(polled.events.map((e) => [e.name, e.type]).at(0), ['d', 1])
		await filesystem.removeWatcher({ watcherId })
		const unknown = await filesystem.getWatcherEvents({ watcherId }).catch((err) => err)
		assert.equal(unknown.code, 5)
		stop.abort()
		assert.equal((await watching).code, 1) /* canceled, by us */
	})
})

test('errors and deadlines reach a protobuf client as codes', async () => {
	await withRaw({}, async (sbx) => {
		const { process, filesystem } = binaryClients(sbx)
		const missing = await all(
			process.connect({ process: { selector: { case: 'pid', value: 999999 } } }),
		).catch((err) => err)
		assert.equal(missing.code, 5)
		assert.match(missing.rawMessage, /process with pid 999999 not found/)
		const late = await all(process.start(bash('sleep 20'), { timeoutMs: 500 })).catch((err) => err)
		assert.equal(late.code, 4) /* deadline_exceeded */
		const nobody = await binaryClients(sbx, { user: 'nobody-here' })
			.filesystem.stat({ path: '/' })
			.catch((err) => err)
		assert.equal(nobody.code, 16) /* unauthenticated */
		const stranger = await binaryClients({ ...sbx, envdAccessToken: 'x' })
			.filesystem.stat({ path: '/' })
			.catch((err) => err)
		assert.equal(stranger.code, 16)
		const notDir = await all(filesystem.watchDir({ path: '/etc/passwd' })).catch((err) => err)
		assert.equal(notDir.code, 3) /* invalid_argument */
	})
})

test('a unary call ends at its deadline', async () => {
	await withRaw({}, async (sbx) => {
		const { process } = binaryClients(sbx)
		const run = all(process.start(bash('sleep 60', { request: { tag: 'deaf', stdin: true } })))
		assert.ok(await until(async () => (await process.list({})).processes.length === 1), 'it is not listed')
		/* More than the pipe takes: answered when the process has read, which it never does. */
		const res = await rpc(
			sbx,
			'process.Process/SendInput',
			{ process: { tag: 'deaf' }, input: { stdin: Buffer.alloc(1 << 20).toString('base64') } },
			{ headers: { 'Connect-Timeout-Ms': '300' } },
		)
		assert.equal(res.status, 504)
		assert.equal(res.json.code, 'deadline_exceeded')
		await process.sendSignal({ process: { selector: { case: 'tag', value: 'deaf' } }, signal: 9 })
		await run
	})
})

test('what is not a message, not gzip or not known is refused by its code', async () => {
	await withRaw({}, async (sbx) => {
		const post = (path, body, headers) =>
			request('POST', path, { body, headers: { ...routeHeaders(sbx), ...headers } })
		const proto = { 'Content-Type': 'application/proto' },
			json = { 'Content-Type': 'application/json' }
		const stat = '/filesystem.Filesystem/Stat',
			start = '/process.Process/Start'
		const refused = async (res, status, code) => {
			assert.equal(res.status, status, res.text)
			assert.equal(res.headers['content-type'].split(';')[0], 'application/json')
			assert.equal(res.json.code, code)
		}
		await refused(await post(stat, Buffer.from([0x0a, 0x05, 0x41]), proto), 400, 'invalid_argument')
		await refused(await post(stat, Buffer.from([0x0a, 0x01, 0xff]), proto), 400, 'invalid_argument')
		await refused(await post(stat, Buffer.from([0x0a, 0x01, 0x00]), proto), 400, 'invalid_argument')
		await refused(
			await post(stat, '{}', { ...json, 'Connect-Protocol-Version': '2' }),
			400,
			'invalid_argument',
		)
		await refused(
			await post(stat, '{}', { ...json, 'Connect-Timeout-Ms': 'soon' }),
			400,
			'invalid_argument',
		)
		await refused(await post(stat, '{}', { ...json, 'Content-Encoding': 'br' }), 501, 'unimplemented')
		await refused(await post(stat, '{}', { ...json, 'Content-Encoding': 'gzip' }), 400, 'invalid_argument')
		const bomb = gzipSync(
			Buffer.concat([Buffer.from('{"path":"'), Buffer.alloc(32 << 20, 0x61), Buffer.from('"}')]),
		)
		await refused(
			await post(stat, bomb, { ...json, 'Content-Encoding': 'gzip' }),
			429,
			'resource_exhausted',
		)
		const good = await post(stat, gzipSync('{"path":"/etc"}'), { ...json, 'Content-Encoding': 'gzip' })
		assert.equal(good.json.entry.name, 'etc')
		const wrong = await post(stat, '{}', { 'Content-Type': 'application/grpc' })
		assert.equal(wrong.status, 415)
		assert.equal(wrong.headers['accept-post'], 'application/json, application/proto')
		assert.equal((await post(start, '{}', json)).status, 415)
		const get = await request('GET', stat, { headers: routeHeaders(sbx) })
		assert.equal(get.status, 405)
		assert.equal(get.headers.allow, 'POST')
		assert.equal((await post('/filesystem.Filesystem/Nothing', '{}', json)).status, 404)
		const last = async (body, headers = {}) => {
			const res = await post(start, body, { 'Content-Type': 'application/connect+json', ...headers })
			assert.equal(res.status, 200)
			assert.equal(res.body[0], 2)
			return JSON.parse(res.body.subarray(5).toString()).error.code
		}
		const message = JSON.stringify({ process: { cmd: '/bin/true' } })
		assert.equal(await last(envelope(gzipSync(message), 1)), 'internal')
		assert.equal(
			await last(envelope(gzipSync(message), 1), { 'Connect-Content-Encoding': 'zstd' }),
			'unimplemented',
		)
		assert.equal(
			await last(envelope(Buffer.from('junk'), 1), { 'Connect-Content-Encoding': 'gzip' }),
			'invalid_argument',
		)
		assert.equal(await last(envelope(Buffer.from(message), 2)), 'invalid_argument')
		assert.equal(
			await last(Buffer.concat([envelope(Buffer.from(message)), envelope(Buffer.from(message))])),
			'invalid_argument',
		)
	})
})

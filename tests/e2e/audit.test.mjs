// SPDX-License-Identifier: Apache-2.0
// The audit trail: it tells what was done, all of it and nothing that must not be told; and whoever changes it is
// found out.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import zlib from 'node:zlib'
import { api, createRaw, killRaw, request, routeHeaders, sdk, start } from '../lib/client.mjs'
import { atoll, ok } from '../lib/cli.mjs'
import { newServer } from '../lib/server.mjs'
import { runCode } from '../lib/interp.mjs'
import { spawn, spawnSync } from 'node:child_process'
import { childrenOf, nameOf, sleep, until } from '../lib/host.mjs'

const { buildDir } = JSON.parse(process.env.ATOLL_TEST_SERVER)
const SECRET = 'ghp_plantedTokenThatMustNotShow42'
const sh = (...argv) => assert.equal(spawnSync(argv[0], argv.slice(1)).status, 0, argv.join(' '))
const sha = (text) => crypto.createHash('sha256').update(text).digest('hex')
let own, opt

before(async () => {
	own = await newServer(buildDir, {}).start()
	opt = { base: own.url, key: own.key }
})
after(async () => {
	const end = await own.stop()
	assert.deepEqual([end.how, end.clean], [0, true], JSON.stringify(end))
})

const filesOf = (dir) =>
	fs
		.readdirSync(path.join(dir, 'audit'))
		.sort()
		.map((name) => path.join(dir, 'audit', name))
const linesOf = (server) =>
	filesOf(server.stateDir).flatMap((f) => fs.readFileSync(f, 'utf8').split('\n').filter(Boolean))
const records = (server) => linesOf(server).map((line) => JSON.parse(line))
const verify = (...args) => atoll(['audit', 'verify', ...args])
const frontOf = (server) => childrenOf(server.pid).find((pid) => nameOf(pid) === 'atoll-front')

async function killFront(server) {
	const front = frontOf(server)
	process.kill(front, 'SIGKILL')
	assert.ok(await until(() => frontOf(server) && frontOf(server) !== front, 10000, 20), 'no new front')
	assert.ok(
		await until(
			async () =>
				(await request('GET', '/health', { base: server.url }).catch(() => ({}))).status ===
				204,
			10000,
			20,
		),
	)
}

test('the trail of a session with the SDK is the list of what it did', async () => {
	const { Sandbox } = sdk('@e2b/code-interpreter')
	const sbx = await Sandbox.create({
		apiKey: own.key,
		apiUrl: own.url,
		sandboxUrl: own.url,
		envs: { GITHUB_TOKEN: SECRET },
		timeoutMs: 120_000,
	})
	const done = []
	const code = async (text, outcome, more = {}) => {
		const got = await sbx.runCode(text, { envs: { OTHER_TOKEN: SECRET } }).catch((err) => ({ err }))
		done.push(['code.run', sha(text)], ['code.done', outcome, got.error?.name])
		return Object.assign(got, more)
	}
	const command = async (text, exit) => {
		await sbx.commands.run(text).catch(() => {})
		done.push(['command.start', sha(text)], ['command.end', exit])
	}
	await code('x = 41', 'ok')
	assert.equal((await code('print(x); x + 1', 'ok')).text, '42')
	await code('1/0', 'error')
	await command('echo hi', 0)
	await command('exit 7', 7)
	await sbx.files.write('/home/user/a.txt', 'hello')
	done.push(['file.write', sha('/home/user/a.txt')])
	assert.equal(await sbx.files.read('/home/user/a.txt'), 'hello')
	done.push(['file.read', sha('/home/user/a.txt')])
	await sbx.files.makeDir('/home/user/dir')
	done.push(['file.mkdir', sha('/home/user/dir')])
	await sbx.files.rename('/home/user/a.txt', '/home/user/dir/b.txt')
	done.push(['file.move', sha('/home/user/a.txt')])
	await sbx.files.list('/home/user/dir')
	done.push(['file.list', sha('/home/user/dir')])
	await sbx.files.remove('/home/user/dir')
	done.push(['file.remove', sha('/home/user/dir')])
	const context = await sbx.createCodeContext({ language: 'javascript' })
	done.push(['context.create', 'javascript'])
	await sbx.runCode('1 + 1', { context })
	done.push(['code.run', sha('1 + 1')], ['code.done', 'ok', undefined])
	await sbx.setTimeout(300_000)
	done.push(['sandbox.timeout'])
	await sbx.pause()
	done.push(['sandbox.pause'])
	await Sandbox.connect(sbx.sandboxId, { apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url })
	done.push(['sandbox.connect'])
	await code('x', 'ok')
	await sbx.kill()
	done.push(['sandbox.kill'])

	const of = await api('GET', `/audit?sandbox=${sbx.sandboxId}&limit=1000`, undefined, opt)
	const all = of.text
		.split('\n')
		.filter(Boolean)
		.map((line) => JSON.parse(line))
	const acts = all.filter(
		(r) =>
			![
				'sandbox.started',
				'sandbox.paused',
				'sandbox.resumed',
				'sandbox.ended',
				'sandbox.usage',
			].includes(r.kind),
	)
	assert.deepEqual(
		acts.map((r) => [
			r.kind,
			...(r.kind === 'code.run'
				? [r.fields.sha256]
				: r.kind === 'code.done'
					? [r.fields.outcome, r.fields.error]
					: r.kind === 'command.start'
						? [r.fields.line_sha256]
						: r.kind === 'command.end'
							? [r.fields.exit_code]
							: r.fields.path_sha256
								? [r.fields.path_sha256]
								: r.kind === 'context.create'
									? [r.fields.language]
									: []),
		]),
		[['sandbox.create'], ...done],
	)
	for (const r of all) assert.equal(r.sandbox, sbx.sandboxId)
	assert.equal(new Set(all.map((r) => r.team)).size, 1)
	assert.deepEqual(
		all.filter((r) => r.kind.startsWith('sandbox.')).map((r) => r.kind),
		[
			'sandbox.started',
			'sandbox.create',
			'sandbox.timeout',
			'sandbox.paused',
			'sandbox.pause',
			'sandbox.resumed',
			'sandbox.connect',
			'sandbox.ended',
			'sandbox.kill',
			'sandbox.usage',
		].slice(0, all.filter((r) => r.kind.startsWith('sandbox.')).length),
	)
	const print = all.find((r) => r.kind === 'code.done' && r.fields.results === 1)
	assert.ok(print.fields.output_bytes > 0 && print.fields.outputs === 1 && print.fields.ms >= 0)
})

test('no code, token or key is in the trail or in the log, and a correlation id joins the three', async () => {
	const id = 'my-request-0815'
	const sbx = await createRaw(
		{ timeout: 60, envVars: { GITHUB_TOKEN: SECRET }, templateID: 'code-interpreter-v1' },
		opt,
	)
	await runCode(sbx, `t = "${SECRET}"; print(t)`, {}, own.url)
	const answer = await request('POST', '/execute', {
		base: own.url,
		headers: { ...routeHeaders(sbx, 49999), 'X-Request-ID': id, 'X-Atoll-Session': 's-1' },
		body: { code: 'print(1)' },
	})
	assert.equal(answer.headers['x-request-id'], id)
	await request('GET', `/files?path=/etc/hostname&signature=v1_${SECRET}`, {
		base: own.url,
		headers: { 'E2b-Sandbox-Id': sbx.sandboxID, 'E2b-Sandbox-Port': '49983' },
	})
	await killRaw(sbx, opt)
	const proxied = () =>
		fs
			.readFileSync(own.log, 'utf8')
			.split('\n')
			.slice(0, -1)
			.find((l) => l.includes(`request=${id}`) && l.includes('proxied'))
	assert.ok(await until(proxied), 'the log has it')
	const text = linesOf(own).join('\n'),
		log = fs.readFileSync(own.log, 'utf8'),
		base = path.join(own.stateDir, 'front')
	for (const where of [
		text,
		log,
		...['audit.db', 'audit.db-wal'].map((f) => fs.readFileSync(path.join(base, f), 'latin1')),
	])
		for (const secret of [SECRET, own.key, sbx.envdAccessToken, 'print('].filter(Boolean))
			assert.ok(!where.includes(secret), `${secret} is told`)
	const mine = records(own).filter((r) => r.request === id)
	assert.deepEqual(
		mine.map((r) => [r.kind, r.session]),
		[
			['code.run', 's-1'],
			['code.done', 's-1'],
		],
	)
	assert.match(JSON.parse(proxied()).kv, /op=code\.run contentLength=\d+ resultsCount=0 error=none/)
})

test(
	'what is too long or compressed is recorded with the hash of what went in, and files that are ' +
		'put together, too',
	async () => {
		const sbx = await createRaw({ timeout: 120, templateID: 'code-interpreter-v1' }, opt)
		const of = (id) => records(own).find((r) => r.request === id)?.fields
		const long = { code: `#${'"'.repeat(5 << 20)}\nprint(7)` } // twice as long with its backslashes
		const ran = await request('POST', '/execute', {
			base: own.url,
			headers: { ...routeHeaders(sbx, 49999), 'X-Request-ID': 'long-1' },
			body: long,
		})
		assert.equal(ran.status, 200)
		assert.match(ran.text, /"text": ?"7\\n"/)
		assert.deepEqual(of('long-1'), {
			too_long: true,
			body_bytes: JSON.stringify(long).length,
			body_sha256: sha(JSON.stringify(long)),
		})
		const packed = zlib.gzipSync(JSON.stringify({ path: '/home/user/packed' }))
		await request('POST', '/filesystem.Filesystem/MakeDir', {
			base: own.url,
			headers: {
				...routeHeaders(sbx, 49983),
				'Content-Type': 'application/json',
				'Content-Encoding': 'gzip',
				'X-Request-ID': 'packed-1',
			},
			body: packed,
		})
		assert.deepEqual(
			[of('packed-1').path_sha256, of('packed-1').body_sha256],
			[sha('/home/user/packed'), undefined],
			'what it says counts, not how it was packed',
		)
		const bomb = zlib.gzipSync(Buffer.alloc(20 << 20, 32))
		await request('POST', '/filesystem.Filesystem/MakeDir', {
			base: own.url,
			headers: {
				...routeHeaders(sbx, 49983),
				'Content-Type': 'application/json',
				'Content-Encoding': 'gzip',
				'X-Request-ID': 'bomb-1',
			},
			body: bomb,
		})
		assert.deepEqual(
			[of('bomb-1').encoding, of('bomb-1').body_sha256, of('bomb-1').body_bytes],
			['gzip', sha(bomb), bomb.length],
		)
		await request('POST', '/files/compose', {
			base: own.url,
			headers: { ...routeHeaders(sbx, 49983), 'X-Request-ID': 'compose-1' },
			body: { source_paths: ['/a', '/b'], destination: '/c' },
		})
		const composed = of('compose-1')
		assert.deepEqual(
			[composed.sources, composed.sources_sha256, composed.path_sha256, composed.outcome],
			[2, sha('/a\0/b\0'), sha('/c'), 'refused'],
		)
		await killRaw(sbx, opt)
	},
)

test('a client that speaks protobuf leaves the same records as one that speaks JSON', async () => {
	const sbx = await createRaw({ timeout: 120 }, opt)
	const field = (n, content) => Buffer.concat([Buffer.from([(n << 3) | 2, content.length]), Buffer.from(content)])
	const envelope = (flags, body) =>
		Buffer.concat([Buffer.from([flags]), Buffer.from(Uint32Array.of(body.length).buffer).reverse(), body])
	const start = (line) =>
		field(1, Buffer.concat([field(1, '/bin/bash'), field(2, '-l'), field(2, '-c'), field(2, line)]))
	const send = (where, id, body, headers) =>
		request('POST', where, {
			base: own.url,
			headers: {
				...routeHeaders(sbx, 49983),
				'Connect-Protocol-Version': '1',
				'X-Request-ID': id,
				...headers,
			},
			body,
		})
	const of = (id, kind) => records(own).find((r) => r.request === id && r.kind === kind)?.fields
	const proto = { 'Content-Type': 'application/connect+proto' }
	const json = Buffer.from(
		JSON.stringify({ process: { cmd: '/bin/bash', args: ['-l', '-c', 'echo hi; exit 3'] } }),
	)
	assert.equal(
		(
			await send('/process.Process/Start', 'as-json', envelope(0, json), {
				'Content-Type': 'application/connect+json',
			})
		).status,
		200,
	)
	assert.equal(
		(await send('/process.Process/Start', 'as-proto', envelope(0, start('echo hi; exit 3')), proto)).status,
		200,
	)
	assert.equal(
		(
			await send(
				'/process.Process/Start',
				'as-packed',
				envelope(1, zlib.gzipSync(start('echo hi; exit 3'))),
				{ ...proto, 'Connect-Content-Encoding': 'gzip' },
			)
		).status,
		200,
	)
	assert.equal(of('as-json', 'command.start').line_sha256, sha('echo hi; exit 3'))
	for (const id of ['as-proto', 'as-packed']) {
		assert.deepEqual(of(id, 'command.start'), of('as-json', 'command.start'), id)
		const { outcome, exit_code: code } = of(id, 'command.end')
		assert.deepEqual([outcome, code], ['exited', 3], id)
	}
	assert.equal((await send('/process.Process/Start', 'ends-well', envelope(0, start('true')), proto)).status, 200)
	assert.deepEqual(
		[of('ends-well', 'command.end').outcome, of('ends-well', 'command.end').exit_code],
		['exited', 0],
	)
	assert.equal(
		(await send('/process.Process/Start', 'killed', envelope(0, start('kill -9 $$')), proto)).status,
		200,
	)
	assert.equal(of('killed', 'command.end').outcome, 'signal')
	assert.equal(
		(
			await send('/filesystem.Filesystem/MakeDir', 'dir-proto', field(1, '/home/user/made'), {
				'Content-Type': 'application/proto',
			})
		).status,
		200,
	)
	assert.deepEqual(
		[of('dir-proto', 'file.mkdir').path_sha256, of('dir-proto', 'file.mkdir').outcome],
		[sha('/home/user/made'), 'ok'],
	)
	await send('/process.Process/Start', 'nonsense', envelope(0, Buffer.from('nothing of the kind')), proto)
	const raw = of('nonsense', 'command.start')
	assert.deepEqual([raw.form, raw.body_bytes], ['protobuf', 24])
	await killRaw(sbx, opt)
})

test('wrong keys and tokens are recorded, and a flood of them does not fill the disk', async () => {
	// The first one begins the minute in which 60 are written down: all at once, on a server that has seen none
	// before, are within it.
	const fresh = await newServer(buildDir, {}).start(),
		to = { base: fresh.url, key: fresh.key }
	try {
		const sbx = await createRaw({ timeout: 60, secure: true }, to)
		await request('GET', '/files?path=/etc/passwd', {
			base: fresh.url,
			headers: {
				'E2b-Sandbox-Id': sbx.sandboxID,
				'E2b-Sandbox-Port': '49983',
				'X-Access-Token': 'x',
			},
		})
		await Promise.all(
			Array.from({ length: 120 }, () => api('GET', '/sandboxes', undefined, { ...to, key: null })),
		)
		const failures = records(fresh).filter((r) => r.kind === 'auth.failure')
		assert.equal(failures.length, 60)
		assert.equal(failures[0].sandbox, sbx.sandboxID)
		assert.equal(failures.at(-1).fields.call, 'GET /sandboxes')
	} finally {
		await fresh.stop()
	}
})

test('refused system calls, quotas and policies, and acts of administrators are recorded', async () => {
	const sbx = await createRaw({ timeout: 60, templateID: 'code-interpreter-v1' }, opt)
	await runCode(sbx, 'import ctypes; ctypes.CDLL(None).syscall(321, 0, 0, 0)', {}, own.url) // bpf
	assert.ok(
		await until(
			() =>
				records(own).some(
					(r) =>
						r.kind === 'violation.syscall' &&
						r.fields.call === 'bpf' &&
						r.sandbox === sbx.sandboxID,
				),
			10000,
			50,
		),
	)
	await api(
		'PUT',
		`/sandboxes/${sbx.sandboxID}/network`,
		{ allowOut: ['allowed.example'], denyOut: ['0.0.0.0/0'] },
		opt,
	)
	await runCode(
		sbx,
		'import socket\ntry:\n    socket.gethostbyname("forbidden.example")\nexcept OSError:\n    pass',
		{},
		own.url,
	)
	assert.ok(
		await until(
			() =>
				records(own).some(
					(r) =>
						r.kind === 'violation.egress' &&
						r.fields.name === 'forbidden.example' &&
						r.sandbox === sbx.sandboxID,
				),
			10000,
			50,
		),
	)
	await api('PUT', `/sandboxes/${sbx.sandboxID}/network`, { allowOut: ['not an address or a name'] }, opt)
	await api('POST', '/admin/teams', { name: 'audited' }, opt)
	const seen = records(own)
	const refused = seen.findLast((r) => r.kind === 'sandbox.network'),
		made = seen.findLast((r) => r.kind === 'team.create')
	assert.deepEqual([refused.fields.outcome, refused.fields.status], ['refused', 400])
	assert.equal(made.fields.outcome, 'ok')
	await killRaw(sbx, opt)
})

test('the commands show, export and verify it', async () => {
	const conn = ['--api-url', own.url, '--api-key', own.key]
	const sbx = await createRaw({ timeout: 60 }, opt)
	await killRaw(sbx, opt)
	const shown = atoll(['audit', 'tail', '--sandbox', sbx.sandboxID, ...conn])
	assert.deepEqual(
		shown.out
			.trimEnd()
			.split('\n')
			.map((line) => line.trim().split(/ +/)[2])
			.slice(0, 4),
		['sandbox.started', 'sandbox.create', 'sandbox.ended', 'sandbox.kill'],
	)
	const csv = atoll(['audit', 'export', '--sandbox', sbx.sandboxID, '--format', 'csv', ...conn]).out.split('\n')
	assert.match(csv[0], /^seq,time,kind,/)
	assert.match(csv[1], /^\d+,"[^"]+","sandbox.started"/)
	const file = path.join(own.base, 'export.jsonl')
	assert.equal(atoll(['audit', 'export', '--all-teams', '-o', file, ...conn]).code, 0)
	const whole = atoll(['audit', 'verify', '--key-file', path.join(own.stateDir, 'front/audit.key'), file])
	assert.equal(whole.code, 0, whole.err)
	assert.match(whole.out, /^ok: \d+ records/)
	const bad = atoll(['audit', 'export', '--format', 'xml', ...conn])
	assert.equal(bad.code, 2)
})

test(
	'from the end: page after page backwards is all of it, and the command line has as many as it is ' +
		'asked for',
	async () => {
		const none = 'i0000000000000000000',
			conn = ['--api-url', own.url, '--api-key', own.key]
		for (let i = 0; i < 22; i++)
			// more than libatoll asks for at once
			await Promise.all(
				Array.from({ length: 50 }, () =>
					api('POST', `/sandboxes/${none}/timeout`, { timeout: 60 }, opt),
				),
			)
		const page = async (query) => {
			const got = await api('GET', `/audit?sandbox=${none}&${query}`, undefined, opt)
			assert.equal(got.status, 200, got.text)
			return [
				got.text
					.split('\n')
					.filter(Boolean)
					.map((line) => JSON.parse(line).seq),
				got.headers['x-next-token'],
			]
		}
		const [all] = await page('limit=10000')
		assert.equal(all.length, 1100)
		assert.deepEqual((await page('last=500'))[0], all.slice(-500))
		const back = []
		let before = '',
			rounds = 0
		do {
			const [some, next] = await page(`last=300${before && `&before=${before}`}`)
			back.unshift(...some)
			before = next
		} while (before && ++rounds < 20)
		assert.deepEqual(back, all)
		assert.deepEqual((await page(`limit=10&after=${all[4]}&before=${all[8]}`))[0], all.slice(5, 8))
		const tail = (n) =>
			ok(['audit', 'tail', '--json', '--sandbox', none, '-n', `${n}`, ...conn])
				.split('\n')
				.filter(Boolean)
				.map((line) => JSON.parse(line).seq)
		assert.deepEqual(tail(3), all.slice(-3))
		assert.deepEqual(tail(1050), all.slice(-1050))
		assert.deepEqual(tail(100000), all)
	},
)

test(
	'a team sees its own records only, an administrator all, and bad questions are answered with the ' + 'field',
	async () => {
		const team = (await api('POST', '/admin/teams', { name: 'other' }, opt)).json
		const key = (await api('POST', `/admin/teams/${team.teamID ?? team.id}/api-keys`, { name: 'k' }, opt))
			.json.key
		const theirs = { base: own.url, key }
		const sbx = await createRaw({ timeout: 60 }, theirs)
		await killRaw(sbx, theirs)
		const mine = (await api('GET', '/audit?last=1000', undefined, opt)).text,
			other = (await api('GET', '/audit?last=1000', undefined, theirs)).text
		assert.ok(!mine.includes(sbx.sandboxID) && other.includes(sbx.sandboxID))
		assert.ok(
			other
				.split('\n')
				.filter(Boolean)
				.every((line) => JSON.parse(line).team === (team.teamID ?? team.id)),
		)
		assert.ok((await api('GET', '/admin/audit?last=1000', undefined, opt)).text.includes(sbx.sandboxID))
		assert.equal((await api('GET', '/admin/audit', undefined, theirs)).status, 403)
		for (const [query, field] of [
			['limit=0', 'limit'],
			['limit=x', 'limit'],
			['from=yesterday', 'from'],
			['sandbox=a%20b', 'sandbox'],
			['after=-1', 'after'],
			['before=0', 'before'],
			['last=10001', 'last'],
			['text=1', 'text'],
		]) {
			const got = await api('GET', `/audit?${query}`, undefined, opt)
			assert.equal(got.status, 400)
			assert.match(got.json.message, new RegExp(`'${field}'`))
		}
		assert.equal((await api('POST', '/purge', {}, theirs)).status, 200)
		const left = (await api('GET', '/audit?last=1000', undefined, theirs)).text
		const kinds = left
			.split('\n')
			.filter(Boolean)
			.map((line) => JSON.parse(line).kind)
		assert.deepEqual(
			kinds.filter((k) => k !== 'sandbox.usage'),
			['team.purge'],
		) // the last count of a sandbox may come late
		assert.equal(verify('--state', own.stateDir).code, 0)
	},
)

test(
	'an acknowledged execution has its records whatever is killed when; a torn line is mended and ' + 'told of',
	async () => {
		const sbx = await createRaw({ timeout: 300, templateID: 'code-interpreter-v1' }, opt)
		const acknowledged = []
		for (let round = 0; round < 4; round++) {
			let going = true
			const work = (async () => {
				for (let i = 0; going; i++) {
					const text = `${round} * 1000 + ${i}`
					const got = await runCode(sbx, text, {}, own.url).catch(() => null)
					if (got?.last === 'end_of_execution') acknowledged.push(text)
					// there is no front for a moment; the next execution finds out whether there
					// is one
					else if (!got) await sleep(20)
				}
			})()
			const had = acknowledged.length
			assert.ok(await until(() => acknowledged.length > had + 5, 60000, 5), 'code runs')
			await sleep(7 * round) // at one moment of an execution or another
			await killFront(own)
			going = false
			await work
		}
		const seen = records(own)
		const runs = new Set(
			seen
				.filter((r) => r.kind === 'code.run' && r.sandbox === sbx.sandboxID)
				.map((r) => r.fields.sha256),
		)
		const over = new Set(
			seen.filter((r) => r.kind === 'code.done' && r.fields.outcome === 'ok').map((r) => r.request),
		)
		const request = new Map(
			seen.filter((r) => r.kind === 'code.run').map((r) => [r.fields.sha256, r.request]),
		)
		assert.ok(acknowledged.length > 20, String(acknowledged.length))
		for (const text of acknowledged) {
			assert.ok(runs.has(sha(text)), `no record of ${text}`)
			assert.ok(over.has(request.get(sha(text))), `no end of ${text}`)
		}
		assert.equal(verify('--state', own.stateDir).code, 0)

		fs.appendFileSync(filesOf(own.stateDir).at(-1), '{"seq":99999999,"time":"20')
		const torn = verify('--state', own.stateDir)
		assert.equal(torn.code, 1)
		assert.match(torn.err, /record \d+ \(\d+\.jsonl, last line\) is torn: it ends after 26 bytes/)
		await killFront(own)
		const mended = verify('--state', own.stateDir)
		assert.equal(mended.code, 0, mended.err)
		assert.match(mended.out, /repairs: 1/)
		await killRaw(sbx, opt)
	},
)

// A copy of the trail as somebody could leave it who can write its files, but not read the key or change the database.
function damaged(name, change) {
	const dir = path.join(own.base, `damaged-${name}`)
	fs.mkdirSync(path.join(dir, 'audit'), { recursive: true })
	fs.mkdirSync(path.join(dir, 'front'))
	for (const f of fs
		.readdirSync(path.join(own.stateDir, 'front'))
		.filter((name) => /^audit\.(db|db-wal|key)$/.test(name)))
		fs.copyFileSync(path.join(own.stateDir, 'front', f), path.join(dir, 'front', f))
	fs.writeFileSync(
		path.join(dir, 'audit/00000001.jsonl'),
		change(linesOf(own)).join('\n') + (name === 'torn' ? '' : '\n'),
	)
	return verify('--state', dir)
}

function chained(lines) {
	let prev = '0'.repeat(64)
	return lines.map((line) => {
		const body = JSON.stringify({ ...JSON.parse(line), prev, hash: undefined, mac: undefined }).slice(0, -1)
		prev = sha(body)
		return `${body},"hash":"${prev}","mac":"${'0'.repeat(32)}"}`
	})
}

test(
	'a truncated, edited, reordered, re-chained or torn log is found out, and the first bad record ' + 'named',
	async () => {
		// the last count of a sandbox may come late; then the database has all of it
		await own.stop({ remove: false })
		const n = linesOf(own).length
		assert.ok(n > 20)
		assert.equal(damaged('not', (l) => l).code, 0)
		const expected = {
			truncated: [
				(l) => l.slice(0, -3),
				new RegExp(
					`record ${n - 2} is missing: the log was truncated, ` +
						`it ends with record ${n - 3}, but record ${n} is known`,
				),
			],
			edited: [
				(l) => l.with(9, l[9].replace('"fields":{', '"fields":{"x":1,')),
				/record 10 \(00000001\.jsonl, line 10\) was edited/,
			],
			reordered: [
				(l) => l.with(5, l[6]).with(6, l[5]),
				/record 7 \(00000001\.jsonl, line 6\) stands where record 6 belongs/,
			],
			rechained: [
				(l) => chained(l.with(9, l[9].replace('"fields":{', '"fields":{"x":1,'))),
				/record 1 \(00000001\.jsonl, line 1\) was re-chained/,
			],
			torn: [
				(l) => l.with(-1, l.at(-1).slice(0, 60)),
				new RegExp(
					`record ${n} \\(00000001\\.jsonl, last line\\) is torn: it ends after 60 bytes`,
				),
			],
			removed: [
				(l) => l.toSpliced(9, 1),
				/record 11 \(00000001\.jsonl, line 10\) stands where record 10 belongs/,
			],
			beheaded: [(l) => l.slice(5), /record 5 is missing: the log begins with record 6/],
		}
		for (const [name, [change, want]] of Object.entries(expected)) {
			const got = damaged(name, change)
			assert.equal(got.code, 1, name)
			assert.match(got.err, want, name)
		}
		const dir = path.join(own.base, 'damaged-rechained') // without the key the database's memory is enough
		fs.rmSync(path.join(dir, 'front/audit.key'))
		assert.match(
			verify('--state', dir).err,
			new RegExp(
				`record ${n} \\(00000001\\.jsonl, line ${n}\\) was re-chained: ` +
					'the database remembers another hash',
			),
		)
		fs.rmSync(path.join(dir, 'front'), { recursive: true })
		const head = JSON.parse(linesOf(own).at(-1))
		assert.equal(verify('--state', dir).code, 0) // with neither nobody can tell,
		// ... but who noted the head
		assert.match(verify('--state', dir, '--expect', `${head.seq}:${head.hash}`).err, /was re-chained/)
	},
)

test(
	'with audit_code = full texts can be had and purged, quotas that are used up are recorded, and ' +
		'tail follows',
	async () => {
		const full = await newServer(buildDir, { audit_code: 'full', team_max_sandboxes: 1 }).start()
		try {
			const to = { base: full.url, key: full.key },
				conn = ['--api-url', full.url, '--api-key', full.key]
			const sbx = await createRaw({ timeout: 60, templateID: 'code-interpreter-v1' }, to)
			const follow = spawn(full.atoll(), ['audit', 'tail', '--follow', '--json', ...conn], {
				stdio: ['ignore', 'pipe', 'inherit'],
			})
			let followed = ''
			follow.stdout.on('data', (d) => {
				followed += d
			})
			assert.equal(
				(await api('POST', '/sandboxes', { templateID: 'base', timeout: 30 }, to)).status,
				429,
			)
			await runCode(sbx, 'kept = "in the table"', {}, full.url)
			const refused = records(full).find((r) => r.kind === 'quota.refused')
			assert.deepEqual([refused.fields.act, refused.fields.status], ['sandbox.create', 429])
			const withText = (await api('GET', `/audit?kind=code.run&text=true`, undefined, to)).json
			assert.equal(withText.text, 'kept = "in the table"')
			assert.equal(withText.fields.sha256, sha(withText.text))
			assert.ok(!linesOf(full).join('').includes('in the table'))
			assert.match(
				atoll(['audit', 'export', '--kind', 'code.run', '--text', ...conn]).out,
				/"text":"kept = /,
			)
			assert.ok(
				await until(() => followed.includes('"kind":"code.done"'), 10000, 50),
				'tail does not follow',
			)
			await runCode(sbx, 'print("hush-4711")', { env_vars: { SOME_TOKEN: 'hush-4711' } }, full.url)
			await start(sbx, 'echo hush-4712', { base: full.url, envs: { SOME_TOKEN: 'hush-4712' } }).then(
				(run) => run.ended,
			)
			const texts = (await api('GET', `/audit?text=true`, undefined, to)).text
			assert.match(texts, /"text":"print\(\\"\[redacted\]\\"\)"/)
			assert.match(texts, /echo \[redacted\]/)
			assert.ok(!texts.includes('hush-47'), 'values of variables that are secret')
			follow.kill('SIGINT')
			assert.equal((await api('POST', '/purge', {}, to)).status, 200)
			for (const f of ['audit.db', 'audit.db-wal'])
				assert.ok(
					!fs
						.readFileSync(path.join(full.stateDir, 'front', f), 'latin1')
						.includes('in the table'),
				)
			assert.equal(verify('--state', full.stateDir).code, 0)
		} finally {
			await full.stop()
		}
	},
)

test('files of the trail come and go, and what is left can be verified', async () => {
	const brief = await newServer(buildDir, { audit_segment_kb: 16, audit_kept_s: 8 }).start()
	try {
		const to = { base: brief.url, key: brief.key }
		assert.ok(
			await until(
				async () => {
					for (let i = 0; i < 20; i++) await api('POST', '/volumes', { name: '' }, to)
					return !filesOf(brief.stateDir)[0].endsWith('00000001.jsonl')
				},
				60000,
				500,
			),
			'nothing was dropped',
		)
		const got = verify('--state', brief.stateDir)
		assert.equal(got.code, 0, got.err)
		assert.match(got.out, /beginning: earlier records were deleted/)
		let first
		assert.ok(
			await until(() => {
				try {
					return (first = JSON.parse(linesOf(brief)[0]))
				} catch (err) {
					assert.equal(err.code, 'ENOENT') // one more was dropped meanwhile
				}
			}),
		)
		assert.ok(first.seq > 1 && first.kind === 'trail.segment')
		assert.ok(
			await until(
				async () =>
					(await api('GET', '/admin/audit?limit=1', undefined, to)).json.seq >= first.seq,
			),
			'the table has them no more, either',
		)
	} finally {
		await brief.stop()
	}
})

test(
	'with audit = required nothing is done while its disk is full, and the gap is told of; with off ' +
		'there is no trail',
	async () => {
		const off = await newServer(buildDir, { audit: 'off' }).start()
		try {
			assert.equal(
				(await api('GET', '/audit', undefined, { base: off.url, key: off.key })).status,
				404,
			)
			assert.ok(!fs.existsSync(path.join(off.stateDir, 'audit')))
		} finally {
			await off.stop()
		}
		const strict = newServer(buildDir, { audit: 'required' }),
			dir = path.join(strict.stateDir, 'audit')
		fs.mkdirSync(dir, { recursive: true, mode: 0o700 })
		sh('mount', '-t', 'tmpfs', '-o', 'size=128k,mode=700', 'tmpfs', dir)
		try {
			await strict.start()
			const to = { base: strict.url, key: strict.key }
			await createRaw({ timeout: 60 }, to)
			assert.throws(() => fs.writeFileSync(path.join(dir, 'filler'), Buffer.alloc(1 << 20)), {
				code: 'ENOSPC',
			})
			assert.ok(
				await until(
					async () =>
						(
							await api(
								'POST',
								'/sandboxes',
								{ templateID: 'base', timeout: 30 },
								to,
							)
						).status === 503,
					60000,
					10,
				),
				'never refused',
			)
			const refused = await api('POST', '/sandboxes', { templateID: 'base', timeout: 30 }, to)
			assert.match(refused.json.message, /audit trail cannot be written/)
			assert.equal((await api('GET', '/sandboxes', undefined, to)).status, 200)
			fs.rmSync(path.join(dir, 'filler'))
			let last
			assert.ok(
				await until(
					async () =>
						(last = await api(
							'POST',
							'/sandboxes',
							{ templateID: 'base', timeout: 30 },
							to,
						)).status === 201,
					60000,
					50,
				),
				`refused for ever: ${last.text}`,
			)
			const got = verify('--state', strict.stateDir)
			assert.equal(got.code, 0, got.err)
			assert.match(got.out, /gaps: 1 times/)
		} finally {
			sh('umount', '-l', dir) // else it would count as left behind; the server has its own view of it
			await strict.stop()
		}
	},
)

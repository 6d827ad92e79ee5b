// SPDX-License-Identifier: Apache-2.0
// The operator's verbs: info, logs, metrics, top, timeout, pause, resume, reap, key, team, log-level, completion.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { ATOLL, atoll, ok, withId } from '../../lib/cli.mjs'
import { server } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'

const json = (args, options) => JSON.parse(ok([...args, '--json'], options))
const hours = (n) => ({ env: { ATOLL_NOW_MS: String(Date.now() + n * 3600_000) } })

test('info tells about one sandbox, without waking it', async () => {
	await withId(
		(id) => {
			const text = ok(['info', id])
			for (const words of [id, 'code-interpreter-v1', 'running', 'who=me'])
				assert.ok(text.includes(words), text)
			const all = json(['info', id])
			assert.equal(all.sandboxID, id)
			assert.deepEqual(all.metadata, { who: 'me' })
			ok(['pause', id])
			assert.equal(json(['info', id]).state, 'paused')
			assert.match(ok(['info', id]), /paused/)
			assert.equal(json(['info', id]).state, 'paused')
		},
		'--meta',
		'who=me',
	)
	const none = atoll(['info', 'i0000000000000000000'])
	assert.equal(none.code, 1)
	assert.match(none.err, /no sandbox 'i0000000000000000000'/)
	assert.equal(atoll(['info']).code, 2)
	assert.equal(atoll(['info', 'a', 'b']).code, 2)
	assert.notEqual(atoll(['info', '']).code, 0)
	assert.notEqual(atoll(['info', '../teams']).code, 0)
})

test('pause, resume and timeout', async () => {
	await withId((id) => {
		assert.equal(ok(['pause', id]), `${id}\n`)
		const again = atoll(['pause', id])
		assert.equal(again.code, 1)
		assert.match(again.err, /already paused/)
		assert.equal(ok(['resume', '--timeout', '100', id]), `${id}\n`)
		assert.equal(atoll(['resume', id]).code, 1)
		const left = () => (Date.parse(json(['info', id]).endAt) - Date.now()) / 1000
		assert.ok(left() > 90 && left() <= 101)
		ok(['timeout', id, '1h30m'])
		assert.ok(left() > 5390 && left() <= 5401)
		ok(['timeout', id, '60'])
		assert.ok(left() > 50 && left() <= 61)
		assert.equal(atoll(['timeout', id, 'soon']).code, 2)
		assert.equal(atoll(['timeout', id, '99999999']).code, 1)
		// A paused one is resumed by a command, and one that fails does not stop the others.
		ok(['pause', id])
		assert.equal(ok(['exec', id, '--', 'echo', 'awake']), 'awake\n')
		ok(['pause', '--disk-only', id])
		assert.match(ok(['info', id]), /^memory +none$/m)
		ok(['resume', id])
		ok(['pause', id])
		assert.match(ok(['info', id]), /^memory +ram/m)
		ok(['resume', '--boot', id])
		const some = atoll(['pause', 'i0000000000000000000', id])
		assert.deepEqual([some.code, some.out], [1, `${id}\n`])
	})
})

test('metrics and top show what is used', async () => {
	await withId(
		async (id) => {
			ok([
				'exec',
				id,
				'--',
				'bash',
				'-c',
				'dd if=/dev/urandom of=f bs=1M count=20 2>/dev/null; ' +
					'timeout 3 sh -c "while :; do :; done"; true',
			])
			// The pool counts what has been written out. The kernel does that within a minute, or when
			// the host asks for it.
			assert.equal(
				spawnSync('nsenter', [
					'-t',
					String(server.pid),
					'-m',
					'sync',
					'-f',
					`${server.runDir}/private/pool`,
				]).status,
				0,
			)
			assert.ok(await until(() => json(['metrics', id]).some((p) => p.diskUsed > 15e6), 60000, 500))
			const points = json(['metrics', id])
			assert.ok(points.every((p) => p.sandboxID === id && p.memTotal > 0))
			assert.ok(points.some((p) => p.cpuUsedPct > 1))
			assert.match(ok(['metrics', id]), /CPU%[\s\S]*512M/)
			assert.deepEqual(json(['metrics', id, '--since', '1s'], hours(1)), [])
			const row = json(['top']).find((r) => r.sandboxID === id)
			assert.equal(row.state, 'running')
			assert.ok(
				row.diskUsed > 15e6 && row.memTotal > 0 && row.idleSeconds < 90 && row.processCount > 0,
			)
			assert.ok(ok(['top', '--once']).includes(id))
			assert.equal(json(['top', '--once']).find((r) => r.sandboxID === id).metadata.n, '1')
			ok(['pause', id])
			assert.equal(json(['top']).find((r) => r.sandboxID === id).cpuUsedPct, null)
		},
		'--meta',
		'n=1',
	)
	assert.equal(atoll(['top', '--sort', 'colour']).code, 2)
	assert.match(atoll(['metrics', 'i0000000000000000000']).err, /no sandbox/)
})

test('logs tell what happened, and -f goes on until the end', async () => {
	await withId(async (id) => {
		const child = spawn(ATOLL, ['logs', '-f', id], { stdio: ['ignore', 'pipe', 'inherit'] })
		let text = ''
		child.stdout.on('data', (part) => {
			text += part
		})
		const ended = new Promise((done) => child.once('exit', done))
		assert.ok(await until(() => text.includes('created'), 30000))
		for (let i = 0; i < 20; i++) ok(['exec', id, '--', 'true'])
		assert.ok(await until(() => text.split('process started').length - 1 === 20, 30000), text)
		ok(['kill', id])
		assert.equal(await ended, 0)
		assert.match(text, /killed/)
		// Nothing twice, nothing lost, also within one millisecond. (Processes are told by the sandbox
		// itself, while it lives.)
		const all = text.trim().split('\n')
		assert.equal(new Set(all).size, all.length)
		assert.deepEqual(
			all.filter((l) => !l.includes('type=process')),
			ok(['logs', id])
				.trim()
				.split('\n')
				.filter((l) => !l.includes('type=process')),
		)
		const lines = ok(['logs', '--json', id])
			.trim()
			.split('\n')
			.map((l) => JSON.parse(l))
		assert.equal(lines.length, ok(['logs', id]).trim().split('\n').length)
		assert.ok(lines.every((l) => l.timestamp && l.level && l.message && l.fields.type))
		assert.deepEqual(ok(['logs', '--json', '-n', '1', id]), `${JSON.stringify(lines.at(-1))}\n`)
		assert.equal(ok(['logs', '--search', 'sandbox created', id]).trim().split('\n').length, 1)
		assert.equal(ok(['logs', '--level', 'error', id]), '')
		assert.equal(ok(['logs', '--since', '1m', id], hours(1)), '')
	})
	assert.match(atoll(['logs', 'i0000000000000000000']).err, /no sandbox/)
	assert.equal(atoll(['logs', '--limit', '1001', 'x']).code, 2)
})

test('Ctrl-C ends logs -f at once', async () => {
	await withId(async (id) => {
		const child = spawn(ATOLL, ['logs', '-f', id], { stdio: ['ignore', 'pipe', 'inherit'] })
		await new Promise((done) => child.stdout.once('data', done))
		child.kill('SIGINT')
		assert.equal(await new Promise((done) => child.once('exit', (code, signal) => done(signal))), 'SIGINT')
	})
})

test('reap kills the idle ones only, by the clock that it is given', async () => {
	const team = `reap${process.pid}`
	ok(['team', 'create', team])
	const env = { E2B_API_KEY: ok(['key', 'create', 'k', '--team', team]).trim() }
	const at = (n) => ({ env: { ...env, ...hours(n).env } })
	try {
		const [old, used, paused] = [0, 1, 2].map(() => ok(['create', '--timeout', '600'], { env }).trim())
		ok(['pause', paused], { env })
		assert.equal(ok(['reap', '--idle', '1h'], { env }), '')
		assert.equal(ok(['reap', '--idle', '2h', '--dry-run'], at(1.5)), '')
		const made = Date.now()
		assert.ok(await until(() => Date.now() > made + 600))
		const now = Date.now()
		ok(['exec', used, '--', 'true'], { env })
		// `old` was used 600 ms before that moment or earlier, `used` after it.
		const between = { env: { ...env, ATOLL_NOW_MS: String(now + 3600_000 - 300) } }
		assert.equal(ok(['reap', '--idle', '1h', '--dry-run'], between), `${old}\n`)
		assert.equal(ok(['list', '-q'], { env }).trim().split('\n').length, 3)
		assert.equal(ok(['reap', '--idle', '1h'], between), `${old}\n`)
		assert.deepEqual(ok(['list', '-q'], { env }).trim().split('\n').sort(), [used, paused].sort())
		assert.equal(ok(['reap', '--idle', '1h'], at(2)), `${used}\n`)
		assert.equal(ok(['reap', '--idle', '1h', '--paused'], at(2)), `${paused}\n`)
	} finally {
		atoll(['kill', '--all'], { env })
		ok(['team', 'rm', team])
	}
	for (const args of [
		['reap'],
		['reap', '--idle', '0'],
		['reap', '--idle', 'long'],
		['reap', '--idle', '1h', 'x'],
	])
		assert.equal(atoll(args).code, 2, args.join(' '))
})

test('keys: create, list, rotate, revoke', () => {
	const name = `test ${process.pid}`
	const key = ok(['key', 'create', name]).trim()
	assert.match(key, /^e2b_[0-9a-f]{40}$/)
	const as = (k) => ({ env: { E2B_API_KEY: k } })
	ok(['list'], as(key))
	assert.equal(atoll(['team', 'list'], as(key)).code, 1)
	assert.equal(atoll(['key', 'create', 'x', '--admin'], as(key)).code, 1)
	const listed = ok(['key', 'list'])
	assert.ok(listed.includes(name) && !listed.includes(key.slice(8, -4)))
	const row = json(['key', 'list']).find((k) => k.name === name)
	assert.equal(row.admin, false)
	const next = ok(['key', 'rotate', name, '--grace', '1h']).trim()
	ok(['list'], as(key))
	ok(['list'], as(next))
	const two = atoll(['key', 'revoke', name])
	assert.equal(two.code, 1)
	assert.match(two.err, /2 keys/)
	assert.equal(ok(['key', 'revoke', row.id]).trim(), row.id)
	assert.match(atoll(['list'], as(key)).err, /key/)
	const last = json(['key', 'rotate', name]).key
	assert.equal(atoll(['list'], as(next)).code, 1)
	ok(['list'], as(last))
	ok(['key', 'revoke', json(['key', 'list']).find((k) => k.name === name).id])
	assert.equal(atoll(['list'], as(last)).code, 1)
	assert.match(atoll(['key', 'revoke', 'local']).err, /own key|local/)
	assert.match(atoll(['key', 'revoke', name]).err, /does not exist/)
	assert.match(atoll(['key', 'list', '--team', 'no-such']).err, /no team 'no-such'/)
	for (const args of [
		['key'],
		['key', 'create'],
		['key', 'frob'],
		['key', 'create', 'a', 'b'],
		['key', 'rotate'],
	])
		assert.equal(atoll(args).code, 2, args.join(' '))
	assert.equal(atoll(['key', 'create', 'x'.repeat(65)]).code, 1)
})

test('teams: limits, blocking, and nobody sees the others', async () => {
	const name = `team${process.pid}`
	const made = json(['team', 'create', name, '--max-sandboxes', '1', '--rate-limit', '500'])
	assert.deepEqual([made.name, made.maxSandboxes, made.rateLimit], [name, 1, 500])
	const env = { E2B_API_KEY: ok(['key', 'create', 'k', '--team', made.teamID]).trim() }
	try {
		assert.equal(atoll(['team', 'create', name]).code, 1)
		const id = ok(['create'], { env }).trim()
		assert.match(atoll(['create'], { env }).err, /maximum/)
		assert.ok(!ok(['list', '-q']).includes(id))
		assert.match(atoll(['info', id]).err, /no sandbox/)
		assert.match(ok(['team', 'list']), new RegExp(name))
		assert.match(atoll(['team', 'rm', name]).err, /sandboxes/)
		const changed = json(['team', 'set', name, '--max-sandboxes', 'default', '--name', `${name}b`])
		assert.deepEqual([changed.name, changed.maxSandboxes, changed.rateLimit], [`${name}b`, null, 500])
		ok(['team', 'set', `${name}b`, '--block'])
		assert.match(atoll(['create'], { env }).err, /blocked/)
		ok(['team', 'set', `${name}b`, '--unblock'])
		assert.equal(ok(['list', '-q'], { env }), `${id}\n`)
	} finally {
		atoll(['kill', '--all'], { env })
		ok(['team', 'rm', made.teamID])
	}
	assert.equal(atoll(['list'], { env }).code, 1)
	assert.match(atoll(['team', 'rm', name]).err, /no team/)
	for (const args of [
		['team', 'set', 'x'],
		['team', 'set', 'x', '--block', '--unblock'],
		['team', 'create'],
		['team', 'rm'],
		['team', 'create', 'a', '--max-sandboxes', 'many'],
	])
		assert.equal(atoll(args).code, 2, args.join(' '))
})

test('limits: shown, changed, refused', async () => {
	await withId((id) => {
		const before = JSON.parse(ok(['limits', id, '--json']))
		assert.ok(before.some((l) => l.name === 'memoryMB' && Number(l.value) > 0))
		assert.match(ok(['limits', id, '--memory', '200', '--cpus', '0.5']), /memoryMB +200/)
		assert.match(ok(['limits', id]), /cpus +0\.5/)
		assert.match(
			ok(['limits', id, '--memory', 'default']),
			new RegExp(`memoryMB +${before.find((l) => l.name === 'memoryMB').value}`),
		)
		for (const [args, why] of [
			[['--memory', '-5'], /memoryMB/],
			[['--cpus', 'two'], /not a number/],
			[['--disk', '99999999'], /diskMB/],
		]) {
			const bad = atoll(['limits', id, ...args])
			assert.equal(bad.code, 1)
			assert.match(bad.err, why)
		}
	})
	assert.notEqual(atoll(['limits', 'iaaaaaaaaaaaaaaaaaaa']).code, 0)
})

test('log-level', () => {
	const before = ok(['log-level']).trim()
	try {
		assert.equal(ok(['log-level', 'debug']), 'debug\n')
		assert.equal(ok(['log-level']), 'debug\n')
		assert.match(atoll(['log-level', 'loud']).err, /debug, info, warn/)
	} finally {
		ok(['log-level', before])
	}
	assert.equal(atoll(['log-level', 'a', 'b']).code, 2)
})

test('completion knows verbs, options and sandboxes, and says nothing when the server is gone', async () => {
	const complete = (words, options) =>
		ok(['__complete', ...words], options)
			.split('\n')
			.map((l) => l.split('\t')[0])
			.filter(Boolean)
	assert.deepEqual(complete(['resu']), ['resume'])
	assert.ok(complete(['key', '']).includes('rotate'))
	assert.ok(complete(['list', '--']).includes('--json'))
	await withId((id) => {
		assert.ok(complete(['info', '']).includes(id))
		assert.deepEqual(complete(['kill', id.slice(0, 10)]), [id])
		assert.ok(complete(['cp', id.slice(0, 10)]).includes(`${id}:`))
		const script = path.join(
			import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname),
			'../../../packaging/completion/atoll.bash',
		)
		const bash = spawnSync(
			'bash',
			[
				'-c',
				`. "$1"; COMP_WORDS=("$2" info ''); COMP_CWORD=2; _atoll; printf '%s\\n' ` +
					`"\${COMPREPLY[@]}"`,
				'sh',
				script,
				ATOLL,
			],
			{ encoding: 'utf8' },
		)
		assert.ok(bash.stdout.split('\n').includes(id), bash.stderr)
	})
	const dead = atoll(['__complete', 'info', ''], { env: { E2B_API_URL: 'http://127.0.0.1:1' } })
	assert.deepEqual([dead.code, dead.out, dead.err], [0, '', ''])
	assert.ok(server.url)
})

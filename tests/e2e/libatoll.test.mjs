// SPDX-License-Identifier: Apache-2.0
// libatoll: its test list against this server, over plain HTTP and over TLS with host names; git with credentials; the
// log. (The same list runs against the mock in the unit tests.)
import { test, after } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ATOLL } from '../lib/cli.mjs'
import { server } from '../lib/client.mjs'
import { DOMAIN, newTlsServer } from '../lib/tls.mjs'

const LIB = path.join(path.dirname(fileURLToPath(import.meta.url)), '../lib')
const SYSTEM_CAS = '/etc/ssl/certs/ca-certificates.crt'
const resolves = spawnSync('getent', ['ahosts', `x.${DOMAIN}`]).status === 0
const program = (name) => path.join(server.buildDir, 'tests/client', name)
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-client-'))
after(() => fs.rmSync(scratch, { recursive: true }))

// An environment with nothing that points elsewhere.
function clean(more) {
	const env = { ...process.env }
	for (const name of Object.keys(env).filter((n) => /^(E2B_|ATOLL_|SSL_CERT)/.test(n))) delete env[name]
	return { ...env, ...more }
}
const plain = clean({ E2B_API_KEY: server.key, E2B_API_URL: server.url, E2B_SANDBOX_URL: server.url })

function run(file, args, env, timeout = 120000) {
	const got = spawnSync(file, args, { encoding: 'utf8', env, timeout })
	return { code: got.status, out: got.stdout, err: got.stderr, all: got.stdout + got.stderr }
}

test('the test list is green on this server, and each call is a line of the log', () => {
	const log = path.join(scratch, 'log')
	const got = run(program('sdk-list'), [], { ...plain, ATOLL_LOG: log })
	assert.equal(got.code, 0, got.all)
	assert.match(got.all, /PASSED/)
	const lines = fs
		.readFileSync(log, 'utf8')
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line))
	const ofOp = (op) => lines.filter((line) => line.op === op)
	for (const op of [
		'create_sandbox',
		'run_code',
		'write_file',
		'read_file',
		'list_directory',
		'run_command',
		'start_process',
		'watch',
		'kill_sandbox',
	])
		assert.ok(ofOp(op).length > 0, op)
	for (const line of lines) {
		assert.ok(
			line.time &&
				['info', 'error'].includes(line.level) &&
				Number.isInteger(line.contentLength) &&
				line.ms >= 0,
			JSON.stringify(line),
		)
		assert.ok(line.level === 'info' || line.error, JSON.stringify(line))
	}
	assert.ok(ofOp('run_code').some((line) => line.resultsCount === 1 && line.contentLength > 0 && line.sandbox))
	assert.ok(ofOp('write_file').every((line) => line.fileCount === 1))
	const text = fs.readFileSync(log, 'utf8')
	assert.ok(!text.includes(server.key) && !text.includes('a.bin') && !text.includes('print'))
})

test(
	'over TLS and host names the same list is green, and a wrong name or CA is refused',
	{ skip: resolves ? false : 'libnss-myhostname is not installed', timeout: 300000 },
	async () => {
		const own = await newTlsServer(server.buildDir)
		await own.start()
		try {
			const env = clean({ E2B_API_KEY: own.key, E2B_DOMAIN: own.domain, SSL_CERT_FILE: own.caFile })
			const got = run(program('sdk-list'), [], env)
			assert.equal(got.code, 0, got.all)
			const id = run(ATOLL, ['create'], env)
			assert.equal(id.code, 0, id.err)
			assert.equal(
				run(ATOLL, ['exec', id.out.trim(), '--', 'echo', 'over TLS'], env).out,
				'over TLS\n',
			)
			assert.equal(run(ATOLL, ['kill', id.out.trim()], env).code, 0)
			// Without the variable the CAs of the system count: as they are, and with this one among them.
			const bare = { ...env },
				bundle = path.join(scratch, 'bundle.pem')
			delete bare.SSL_CERT_FILE
			const stranger = run(ATOLL, ['list'], bare)
			assert.notEqual(stranger.code, 0)
			assert.match(stranger.err, /certificate/)
			fs.writeFileSync(bundle, Buffer.concat([fs.readFileSync(SYSTEM_CAS), own.ca]))
			const known = run(
				'unshare',
				[
					'-m',
					'sh',
					'-c',
					'mount --bind "$1" "$2" && exec "$3" list',
					'sh',
					bundle,
					SYSTEM_CAS,
					ATOLL,
				],
				bare,
			)
			assert.equal(known.code, 0, known.err)
			const wrong = run(ATOLL, ['list'], { ...env, E2B_DOMAIN: `other.localhost:${own.tlsPort}` })
			assert.notEqual(wrong.code, 0)
			assert.match(wrong.err, /certificate/)
			assert.ok(!wrong.err.includes(own.key))
		} finally {
			await own.stop()
		}
	},
)

test('git with a user name and a token, which is in no argument, file or record', () => {
	const token = `tok_${'0123456789abcdef'.repeat(2)}`
	const log = path.join(scratch, 'git-log')
	const got = run(program('sdk-git'), [path.join(LIB, 'git_http.py'), token], { ...plain, ATOLL_LOG: log })
	assert.equal(got.code, 0, got.all)
	assert.ok(!fs.readFileSync(log, 'utf8').includes(token))
	assert.ok(!fs.readFileSync(server.log, 'utf8').includes(token))
})

test('without a key the variable is named and nothing is sent', () => {
	const got = run(program('sdk-list'), [], clean({ E2B_DOMAIN: 'nowhere.invalid' }))
	assert.notEqual(got.code, 0)
	assert.match(got.all, /set E2B_API_KEY/)
})

test('the mock is chosen by a flag only, and says so', () => {
	const listed = run(ATOLL, ['list', '--mock', '--json'], clean())
	assert.equal(listed.code, 0, listed.err)
	assert.deepEqual(JSON.parse(listed.out), [])
	assert.match(listed.err, /mock/)
	fs.writeFileSync(path.join(scratch, 'a.py'), 'x = 6 * 7\nprint(x)\n1 / 0\n')
	const ran = run(ATOLL, ['run', '--mock', path.join(scratch, 'a.py')], clean())
	assert.deepEqual([ran.code, ran.out], [1, '42\n'], ran.err)
	assert.match(ran.err, /ZeroDivisionError/)
	const made = run(ATOLL, ['create'], clean({ ATOLL_MOCK: '1' }))
	assert.match(made.out, /^mock/)
	assert.match(made.err, /ATOLL_MOCK/)
	assert.notEqual(run(ATOLL, ['list', '--state', scratch], clean()).code, 0)
})

test(
	'installed, and built outside of the tree by pkg-config: the three examples, on this server and on the mock',
	{ timeout: 300000 },
	() => {
		const target = path.join(scratch, 'installed')
		fs.mkdirSync(target)
		const made = run(
			path.join(path.dirname(LIB), 'client/installed.sh'),
			[path.join(path.dirname(LIB), '..'), server.buildDir, target],
			clean(),
			240000,
		)
		assert.equal(made.code, 0, made.all)
		const lib = fs.readFileSync(path.join(target, 'lib.txt'), 'utf8').trim()
		for (const env of [plain, clean({ ATOLL_MOCK: '1' })]) {
			const call = (name, ...args) =>
				run(path.join(target, 'programs', name), args, { ...env, LD_LIBRARY_PATH: lib })
			const code = call('run_code')
			assert.deepEqual([code.code, code.out], [0, '42\nresult: 43\n'], code.all)
			assert.match(call('run_code', '1 / 0').out, /^error: ZeroDivisionError: division by zero\n$/)
			const files = call('files')
			assert.equal(files.code, 0, files.all)
			assert.equal(
				files.out,
				'three\nshort\nlines\ndone\nstatus 4\n18 bytes came back\n' +
					'-rw-r--r-- 18 /home/user/data/out.txt\n',
			)
			assert.equal(
				call('threads').out,
				'1 squared is 1\n2 squared is 4\n3 squared is 9\n4 squared is 16\n',
			)
		}
		assert.match(
			run(
				path.join(target, 'programs/files'),
				[],
				clean({ LD_LIBRARY_PATH: lib, E2B_DOMAIN: 'nowhere.invalid' }),
			).err,
			/E2B_API_KEY/,
		)
	},
)

test('each function has its place in a manual page, with its arguments', () => {
	const top = path.join(path.dirname(LIB), '..'),
		man = path.join(top, 'docs/man')
	const pages = fs
		.readdirSync(man)
		.filter((name) => name.endsWith('.3'))
		.map((name) => path.join(man, name))
	const got = run(
		'python3',
		[path.join(top, 'tests/client/manual.py'), path.join(top, 'src/client/atoll.h'), ...pages],
		clean(),
	)
	assert.equal(got.code, 0, got.all)
})

// SPDX-License-Identifier: Apache-2.0
// The command line: env, create, list, exec, run, kill, doctor, and what it says when something is wrong.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { ATOLL, atoll, withId } from '../../lib/cli.mjs'
import { api, server } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'

test('help and version', () => {
	assert.equal(atoll(['--help']).code, 0)
	assert.match(atoll(['--help']).out, /serve[\s\S]*doctor/)
	assert.match(atoll(['--version']).out, /^atoll \d/)
	for (const verb of [
		'serve',
		'env',
		'run',
		'create',
		'list',
		'info',
		'exec',
		'shell',
		'cp',
		'logs',
		'metrics',
		'top',
		'timeout',
		'limits',
		'pause',
		'resume',
		'kill',
		'reap',
		'key',
		'team',
		'log-level',
		'doctor',
		'selftest',
	])
		assert.match(atoll([verb, '--help']).out, new RegExp(verb))
	const bad = atoll(['frobnicate'])
	assert.equal(bad.code, 2)
	assert.match(bad.err, /frobnicate/)
	assert.equal(atoll(['create', '--nonsense']).code, 2)
	assert.match(atoll(['--state', '/nowhere', 'list']).err, /options follow the verb: atoll VERB --state/)
})

test('env prints what points an SDK here', () => {
	const got = atoll(['env', '--state', server.stateDir])
	assert.equal(got.code, 0, got.err)
	assert.match(got.out, /^export E2B_API_KEY='e2b_[0-9a-f]{40}'$/m)
	assert.ok(got.out.includes(`export E2B_API_URL='${server.url}'`))
	assert.ok(got.out.includes(`export E2B_SANDBOX_URL='${server.url}'`))
	assert.ok(got.out.includes(`export E2B_VOLUME_API_URL='${server.url}'`))
	assert.ok(got.out.includes(`export E2B_DOMAIN='atoll.localhost:${new URL(server.url).port}'`))
	assert.match(got.out, /^unset E2B_DEBUG$/m)
	for (const name of [
		'NODE_EXTRA_CA_CERTS',
		'DENO_CERT',
		'SSL_CERT_FILE',
		'REQUESTS_CA_BUNDLE',
		'CURL_CA_BUNDLE',
	]) {
		const file = new RegExp(`^export ${name}='(.*)'$`, 'm').exec(got.out)?.[1]
		assert.equal(fs.statSync(file).mode & 0o777, 0o644, `${name}: ${file}`)
	}
	const shell = spawnSync('sh', ['-c', `${got.out}\necho "$E2B_API_URL"`], { encoding: 'utf8' })
	assert.equal(shell.stdout.trim(), server.url)
})

test('create, list, exec, kill', async () => {
	await withId(
		(id) => {
			assert.match(id, /^i[a-z0-9]+$/)
			const rows = JSON.parse(atoll(['list', '--json']).out)
			const row = rows.find((r) => r.sandboxID === id)
			assert.deepEqual(row.metadata, { who: 'cli test' })
			assert.ok(atoll(['list']).out.includes(id))
			assert.ok(atoll(['list', '-q']).out.split('\n').includes(id))
			const exec = atoll(['exec', id, '--', 'bash', '-c', 'echo "$A"; echo err >&2; exit 7'])
			assert.deepEqual([exec.code, exec.out, exec.err], [7, 'x y\n', 'err\n'])
			assert.equal(atoll(['exec', id, '--', 'cat'], { input: 'through stdin' }).out, 'through stdin')
			assert.equal(atoll(['exec', id, '--user', 'root', '--', 'id', '-u']).out, '0\n')
			assert.equal(atoll(['exec', id, '--cwd', '/tmp', '--', 'pwd']).out, '/tmp\n')
			assert.equal(
				atoll(['exec', id, '--', 'echo', "it's", '$HOME', 'a  b']).out,
				"it's $HOME a  b\n",
			)
			const kill = atoll(['kill', id])
			assert.deepEqual([kill.code, kill.out], [0, `${id}\n`])
			const again = atoll(['kill', id])
			assert.notEqual(again.code, 0)
			assert.ok(again.err.includes(id))
		},
		'--meta',
		'who=cli test',
		'--env',
		'A=x y',
		'--timeout',
		'120',
	)
})

const ids = async () => (await api('GET', '/sandboxes')).json.map((s) => s.sandboxID)

test('run: a file and standard input, in several languages, and the sandbox is gone', async () => {
	const before = await ids()
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-cli-'))
	try {
		const write = (name, text) => {
			fs.writeFileSync(path.join(dir, name), text)
			return path.join(dir, name)
		}
		const py = atoll([
			'run',
			write('a.py', 'import sys\nprint("py", sys.argv[1:])\nsys.exit(4)\n'),
			'one',
			'two words',
		])
		assert.deepEqual([py.code, py.out], [4, "py ['one', 'two words']\n"], py.err)
		assert.equal(atoll(['run', write('a.js', 'console.log("js", 1 + 1)\n')]).out, 'js 2\n')
		assert.equal(atoll(['run', write('a.sh', 'echo sh $((1 + 1))\n')]).out, 'sh 2\n')
		assert.equal(atoll(['run', '-'], { input: 'print("from stdin")\n' }).out, 'from stdin\n')
		const odd = atoll(['run', write('a.xyz', 'what')])
		assert.notEqual(odd.code, 0)
		assert.match(odd.err, /a\.xyz/)
		assert.notEqual(atoll(['run', path.join(dir, 'none.py')]).code, 0)
		assert.match(atoll(['run', '--lang', 'cobol', '-'], { input: 'x' }).err, /cobol/)
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
	assert.deepEqual(
		(await ids()).filter((id) => !before.includes(id)),
		[],
	)
})

test('Ctrl-C of run ends its sandbox', async () => {
	const before = await ids(),
		more = async () => (await ids()).filter((id) => !before.includes(id)).length
	const child = spawn(ATOLL, ['run', '-'], { stdio: ['pipe', 'pipe', 'inherit'] })
	child.stdin.end('import time\nprint("up", flush=True)\ntime.sleep(60)\n')
	await new Promise((done) => child.stdout.once('data', done))
	assert.equal(await more(), 1)
	child.kill('SIGINT')
	const how = await new Promise((done) => child.once('exit', (code, signal) => done(signal ?? code)))
	assert.ok(how === 'SIGINT' || how === 130, String(how))
	assert.ok(await until(async () => (await more()) === 0, 30000))
})

test('E2B_TEMPLATE_ID is the template of create and run, unless an option names another', () => {
	const env = { E2B_TEMPLATE_ID: 'no-such-template' }
	for (const args of [['create'], ['run', '-']]) {
		const got = atoll(args, { env, input: 'print(1)' })
		assert.notEqual(got.code, 0)
		assert.match(got.err, /template 'no-such-template' not found/)
	}
	const got = atoll(['run', '-t', 'base', '-'], { env, input: 'print(1)' })
	assert.equal(got.out, '1\n', got.err)
})

test('a wrong key, a dead server and an unknown sandbox are told in words', () => {
	const key = atoll(['list', '--api-key', 'e2b_' + '0'.repeat(40)])
	assert.notEqual(key.code, 0)
	assert.match(key.err, /key|401|unauthor/i)
	const dead = atoll(['list', '--api-url', 'http://127.0.0.1:1'])
	assert.notEqual(dead.code, 0)
	assert.match(dead.err, /refused|connect/i)
	const none = atoll(['exec', 'i0000000000000000000', '--', 'true'])
	assert.notEqual(none.code, 0)
	assert.match(none.err, /i0000000000000000000|not found/)
	const template = atoll(['create', '--template', 'no-such'])
	assert.notEqual(template.code, 0)
	assert.match(template.err, /no-such/)
})

test('doctor tells what this host has, and serve runs here so nothing fatal is missing', () => {
	const { host } = new URL(server.url)
	const got = atoll(['doctor', '--json', '--listen', host])
	const told = JSON.parse(got.out)
	const by = Object.fromEntries(told.checks.map((c) => [c.name, c]))
	for (const name of [
		'kernel',
		'known holes',
		'processor',
		'capabilities',
		'user namespaces',
		'seccomp',
		'landlock',
		'core scheduling',
		'audit',
		'cgroups',
		'idle memory',
		'own view',
		'overlay',
		'idmapped mounts',
		'btrfs',
		'disk quotas',
		'nftables',
		'limits',
		'CRIU',
		'state directory',
	])
		assert.match(by[name]?.status ?? '', /^(ok|warn|fail)$/, `nothing about ${name}`)
	for (const c of told.checks)
		assert.ok(
			c.status === 'ok' || c.remedy || /not checked|cannot be told/.test(c.detail),
			`${c.name}: ${c.detail}, but no remedy`,
		)
	assert.ok(by.kernel.detail.includes(os.release()))
	assert.match(by.cgroups.detail, /version [12]/)
	for (const name of ['kernel', 'capabilities', 'user namespaces', 'seccomp', 'cgroups', 'overlay', 'nftables'])
		assert.notEqual(by[name].status, 'fail', `a server runs here without ${name}: ${by[name].detail}`)
	assert.equal(got.code, told.checks.some((c) => c.status === 'fail') ? 1 : 0)
	assert.equal(told.ok, got.code === 0)
	assert.match(atoll(['doctor', '--listen', host]).out, /^\d+ ok, \d+ warnings, \d+ failed$/m)
	assert.equal(atoll(['doctor', 'x']).code, 2)
})

test('more name servers than atoll-egress asks are refused at the start, and by doctor', () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-doctor-')),
		file = path.join(dir, 'atoll.conf')
	const servers = (n) => Array.from({ length: n }, (_, i) => `192.0.2.${i + 1}`).join(', ')
	const look = (n) => {
		fs.writeFileSync(file, `dns_servers = ${servers(n)}\n`)
		return JSON.parse(atoll(['doctor', '--json', '--state', dir, '--config', file]).out).checks.find(
			(c) => c.name === 'configuration',
		)
	}
	try {
		assert.equal(look(4).status, 'ok')
		const refused = look(5)
		assert.equal(refused.status, 'fail')
		assert.match(refused.detail, /line 1: dns_servers: more than 4 given/)
		const got = atoll(['serve', '--state', dir, '--run', dir, '--listen', '127.0.0.1:0', '--config', file])
		assert.equal(got.code, 1)
		assert.match(got.err, /dns_servers: more than 4 given/)
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
})

test('F5: doctor compares the disk that is promised with what the pool may take', () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-doctor-')),
		file = path.join(dir, 'atoll.conf')
	const look = (text) => {
		fs.writeFileSync(file, text)
		return JSON.parse(atoll(['doctor', '--json', '--state', dir, '--config', file]).out).checks.find(
			(c) => c.name === 'disk promised',
		)
	}
	try {
		const few = look('pool_size_mb = 256\npool_max_mb = 512\nmax_sandboxes = 4\ndefault_disk_mb = 128\n')
		assert.deepEqual([few.status, few.remedy], ['ok', undefined], few.detail)
		const many = look('pool_size_mb = 256\npool_max_mb = 512\nmax_sandboxes = 5\ndefault_disk_mb = 128\n')
		assert.equal(many.status, 'warn', many.detail)
		assert.match(many.detail, /may use 0\.5 GB; 5 sandboxes .* promised 0\.6 GB/)
		assert.match(many.remedy, /max_sandboxes = 4,/)
		assert.equal(look('').status, 'warn') // 1000 of 2 GB each, and 64 GB at most
		assert.match(look('no_pool = true\n').detail, /no storage pool/)
		assert.match(atoll(['doctor', '--config', path.join(dir, 'none')]).err, /none/)
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
})

test('doctor tells when the certificate ends, and whether names are found', () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-doctor-'))
	const look = () =>
		Object.fromEntries(
			JSON.parse(atoll(['doctor', '--json', '--state', dir]).out).checks.map((c) => [c.name, c]),
		)
	const init = (...args) =>
		assert.equal(
			atoll(['tls', 'init', '--state', dir, '--public', path.join(dir, 'public'), ...args]).code,
			0,
		)
	try {
		assert.match(look().certificate.detail, /the server creates one for 'atoll.localhost' when it starts/)
		assert.match(look()['host names'].detail, /^names under 'atoll.localhost' /)
		init()
		assert.match(look().certificate.detail, /'atoll.localhost': valid for 39\d days/)
		init('--days', '3')
		assert.deepEqual(
			[look().certificate.status, /tls init/.test(look().certificate.remedy)],
			['warn', true],
		)
		// a name that is reserved not to be found
		fs.writeFileSync(path.join(dir, 'tls/domain'), 'sbx.example.invalid')
		assert.deepEqual(
			[look()['host names'].status, /wildcard DNS record/.test(look()['host names'].remedy)],
			['warn', true],
		)
		fs.writeFileSync(path.join(dir, 'tls/cert.pem'), 'not a certificate')
		assert.equal(look().certificate.status, 'warn')
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
})

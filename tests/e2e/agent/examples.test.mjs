// SPDX-License-Identifier: Apache-2.0
// The agent part of libatoll, by the programs of examples/agent-c: built by their Makefile, run against the server.
import { test } from '../../lib/case.mjs'
import { after } from 'node:test'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { server } from '../../lib/client.mjs'

const EXAMPLES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../examples/agent-c')
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'agent-c-'))
after(() => fs.rmSync(dir, { recursive: true, force: true }))

const env = {
	...process.env,
	PKG_CONFIG_PATH: path.join(server.buildDir, 'meson-uninstalled'),
	LD_LIBRARY_PATH: path.join(server.buildDir, 'src/client'),
	E2B_API_URL: server.url,
	E2B_SANDBOX_URL: server.url,
	E2B_API_KEY: server.key,
}
const run = (name, args = [], more = {}) => {
	const r = spawnSync(path.join(dir, name), args, { encoding: 'utf8', timeout: 120000, env: { ...env, ...more } })
	return { ...r, all: `${r.stdout}${r.stderr}` }
}

test('they build without a warning', () => {
	for (const name of fs.readdirSync(EXAMPLES).filter((file) => /\.c$|^Makefile$/.test(file)))
		fs.copyFileSync(path.join(EXAMPLES, name), path.join(dir, name))
	const flags = spawnSync('pkg-config', ['--libs', 'libatoll'], { encoding: 'utf8', env })
	assert.equal(flags.status, 0, flags.stderr)
	const made = spawnSync(
		'make',
		[
			'-s',
			'-C',
			dir,
			'CFLAGS=-std=gnu17 -O2 -Wall -Wextra -Werror',
			...(process.env.ATOLL_TEST_ASAN ? ['CC=cc -fsanitize=address,undefined'] : []),
		],
		{ encoding: 'utf8', env },
	)
	assert.equal(made.status, 0, made.stdout + made.stderr)
})

test('policy and recovery need no server', () => {
	const policy = run('policy', ['rm -r -f /', 'git log --format=%h'])
	assert.match(policy.stdout, /^rm -r -f \/: Command not allowed by security policy: .*rule rm-root/)
	assert.match(policy.stdout, /^git log --format=%h: allowed$/m)
	assert.match(policy.stdout, /^\/tmp\/\.\.\/etc\/passwd: Command not allowed/m)
	const recovery = run('recovery', [], { E2B_MAX_RETRIES: '2' })
	assert.match(
		recovery.stdout,
		/^SERVICE_UNAVAILABLE, the breaker is closed\n(SERVICE_UNAVAILABLE, the breaker is open\n){2}/,
		recovery.all,
	)
	assert.match(
		recovery.stdout,
		new RegExp(
			'^the last one was refused in \\d+\\.\\d+ ms: the server has failed 5 times in a row; ' +
				'no calls are made for another \\d+ ms$',
			'm',
		),
	)
	const bad = run('recovery', [], { E2B_MAX_RETRIES: 'many' })
	assert.equal(bad.status, 1)
	assert.match(bad.stderr, /E2B_MAX_RETRIES must be an integer/)
})

test('a session, its files, its hooks, its new sandbox', () => {
	const r = run('sessions')
	assert.equal(r.status, 0, r.all)
	assert.match(r.stdout, /^created for example$/m)
	assert.match(r.stdout, /^out.txt: 42$/m)
	assert.match(r.stdout, /^\(in a new sandbox\) .*still here/m)
	assert.match(r.stdout, /^destroyed: example$/m)
	const keyless = run('sessions', [], { E2B_API_KEY: '' })
	assert.equal(keyless.status, 1)
	assert.match(keyless.stderr, /E2B_API_KEY/)
})

test('cache and pool', () => {
	assert.equal(
		run('cache').stdout,
		'sum(range(10)): run\nsum(range(10)): from the cache\nx = 1: run\nsum(range(10)): run\n1 hit\n',
	)
	const warm = run('warm')
	assert.equal(warm.stdout.match(/No such file/g)?.length, 3, warm.all)
	assert.match(warm.stdout, /^2 hits, 1 miss$/m)
})

test('code is made ready; names of packages are names', () => {
	const bad = run('packages', ['x; rm -rf /'])
	assert.equal(bad.status, 2)
	assert.match(bad.stdout, /is not a valid package name for pip/)
	assert.match(bad.stdout, /^python:\nimport sys\nimport os\nprint\(os\.name\)$/m)
	assert.match(bad.stdout, /^Unsupported language: cobol$/m)
})

const probe = fs.mkdtempSync(path.join(dir, 'probe-'))
const noPip =
	spawnSync('pip', ['download', '--quiet', '--no-deps', '--dest', probe, 'six'], { timeout: 20000 }).status !==
		0 && 'no registry of Python packages can be reached'

test('a package from the index', { skip: noPip }, () => {
	assert.match(run('packages', ['six']).stdout, /^pip ended with 0$/m)
})

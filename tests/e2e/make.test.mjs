// SPDX-License-Identifier: Apache-2.0
// What make does to the machine: a build changes nothing outside of the tree.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const TOP = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')

function steps(...args) {
	const { MAKEFLAGS: _, MAKELEVEL: __, ...env } = process.env
	const out = spawnSync('make', ['-n', ...args], { cwd: TOP, encoding: 'utf8', env })
	assert.equal(out.status, 0, out.stderr)
	return out.stdout.split('\n')
}

test('E3: make builds and installs nothing; the commands that need a machine set it up first', () => {
	for (const args of [[], ['build'], ['clean']])
		assert.ok(
			!steps(...args).some((line) => /scripts\/setup|apt|useradd|templates\/build/.test(line)),
			args.join(' '),
		)
	for (const command of ['run', 'demo', 'test', 'bench', 'torture', 'soak', 'compat', 'install', 'setup'])
		assert.equal(steps(command)[0], 'scripts/setup', command)
})

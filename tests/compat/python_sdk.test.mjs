// SPDX-License-Identifier: Apache-2.0
// The official Python SDK in a virtual environment below the build directory.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'

const VENV = path.join(server.buildDir, 'test-python')
const FIRST = path.join(path.dirname(fileURLToPath(import.meta.url)), 'first.py')

function install() {
	if (fs.existsSync(path.join(VENV, 'installed')))
		return null
	const venv = spawnSync('python3', ['-m', 'venv', VENV], { encoding: 'utf8' })
	if (venv.status !== 0)
		return 'python3 with venv is missing'
	const pip = spawnSync(`${VENV}/bin/python`, ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', 'e2b'], { encoding: 'utf8', timeout: 240000 })
	if (pip.status !== 0)
		return 'pip could not install the e2b package'
	fs.writeFileSync(path.join(VENV, 'installed'), '')
	return null
}

test('first program on the Python SDK', { timeout: 300000 }, async (t) => {
	const why = install()
	if (why) {
		t.skip(why)
		return
	}
	const run = spawnSync(`${VENV}/bin/python`, [FIRST], { encoding: 'utf8', timeout: 90000 })
	assert.equal(run.status, 0, run.stderr)
	assert.match(run.stdout, /done/)
})

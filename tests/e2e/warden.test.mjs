// SPDX-License-Identifier: Apache-2.0
// The warden refuses everything that a taken-over front could send, and keeps serving: tests/warden/torture.c is that front.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { server } from '../lib/client.mjs'

const built = (file) => path.join(server.buildDir, file)

function templateKey() {
	const cache = process.env.ATOLL_CACHE ?? '/var/cache/atoll'
	const keys = fs.readdirSync(path.join(cache, 'templates')).filter((name) => /^[0-9a-f]{32}$/.test(name))
	assert.ok(keys.length > 0, 'no template is built')
	return keys[0]
}

test('the warden refuses every malformed message and keeps serving', () => {
	const run = spawnSync(built('tests/warden/torture'), [built('src/warden/atolld'), built('src/egress/atoll-egress'), built('src/agent/atoll-agent'),
		built('src/init/atoll-init'), templateKey()], { encoding: 'utf8', timeout: 80000 })
	assert.equal(run.status, 0, `${run.stdout}\n${run.stderr}`)
	assert.match(run.stdout, /ok it keeps serving/)
})

test('a second warden on the same state directory is refused, the first goes on', async () => {
	const runDir = fs.mkdtempSync('/tmp/atoll-second-')
	const run = spawnSync(built('src/warden/atolld'), ['--listen', '127.0.0.1:0', '--state', server.stateDir, '--run', runDir,
		'--template', `base=${templateKey()}`], { encoding: 'utf8', timeout: 20000 })
	fs.rmSync(runDir, { recursive: true })
	assert.equal(run.status, 1, run.stderr)
	assert.match(run.stderr, /state directory .* is in use by another atolld/)
	assert.equal((await fetch(`${server.url}/health`)).status, 204)
})

// SPDX-License-Identifier: Apache-2.0
// libatoll: its test list against this server. (The same list runs against the mock in the unit tests.)
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { server } from '../lib/client.mjs'

const env = { ...process.env, E2B_API_KEY: server.key, E2B_API_URL: server.url, E2B_SANDBOX_URL: server.url, ATOLL_MOCK: '' }

test('the test list of libatoll is green on this server', () => {
	const run = spawnSync(path.join(server.buildDir, 'tests/client/sdk-list'), { encoding: 'utf8', env, timeout: 120000 })
	assert.equal(run.status, 0, run.stdout + run.stderr)
	assert.match(run.stdout + run.stderr, /PASSED/)
})

// SPDX-License-Identifier: Apache-2.0
// A host where CRIU cannot be fetched: the server says so and works.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from '../lib/case.mjs'
import { api, server as shared } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { built } from './drive.mjs'

const CACHE = process.env.ATOLL_CACHE || '/var/cache/atoll'

// A cache with the templates of the real one and nothing else.
function otherCache() {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-cache-'))
	fs.mkdirSync(path.join(dir, 'templates'))
	for (const name of ['base', 'code-interpreter-v1']) {
		const { key } = built(name)
		fs.symlinkSync(path.join(CACHE, 'templates', key), path.join(dir, 'templates', key))
	}
	return dir
}

test('without CRIU the server says what is missing, and sandboxes work', async () => {
	const cache = otherCache()
	process.env.ATOLL_DEBIAN_MIRROR = 'http://127.0.0.1:1/debian'
	const server = newServer(shared.buildDir, { cache })
	try {
		await server.start()
		assert.match(
			fs.readFileSync(server.log, 'utf8'),
			/the build of template 'tools' failed.*continuing without CRIU/,
		)
		const res = await api(
			'POST',
			'/sandboxes',
			{ templateID: 'base' },
			{ base: server.url, key: server.key },
		)
		assert.equal(res.status, 201)
		const doctor = spawnSync(server.atoll(), ['doctor', '--json'], {
			encoding: 'utf8',
			env: { ...process.env, ATOLL_CACHE: cache },
		})
		const { status, detail, remedy } = JSON.parse(doctor.stdout).checks.find(
			(check) => check.name === 'CRIU',
		)
		assert.equal(status, 'warn')
		assert.match(detail, /memory of paused sandboxes would not be written to disk/)
		assert.match(remedy, /mirror/)
	} finally {
		const end = await server.stop()
		fs.rmSync(cache, { recursive: true, force: true })
		delete process.env.ATOLL_DEBIAN_MIRROR
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

// SPDX-License-Identifier: Apache-2.0
// Building the template: a second start takes no time, an interrupted or failed build leaves nothing half-made.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { alive, childrenOf, hostMounts, until } from '../../lib/host.mjs'

const TEMPLATES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../templates')

const list = (dir) => (fs.existsSync(dir) ? fs.readdirSync(dir) : [])
const inWork = (cache) => list(cache).filter((name) => name.startsWith('tmp.'))

function family(pid) {
	return [pid, ...childrenOf(pid).flatMap(family)]
}

test('a template in the cache is found at once, by the key of its recipe', () => {
	const began = Date.now()
	const built = spawnSync(path.join(TEMPLATES, 'build'), ['base'], { encoding: 'utf8', timeout: 60000 })
	assert.equal(built.status, 0, built.stderr)
	assert.ok(Date.now() - began < 30000, `took ${Date.now() - began} ms`)
	const key = spawnSync(path.join(TEMPLATES, 'build'), ['--key', 'base'], { encoding: 'utf8' })
	assert.match(key.stdout, /^[0-9a-f]{32}\n$/)
	assert.equal(built.stdout, key.stdout)
})

// SIGKILL cannot be cleaned up after; what it leaves is never taken for a template, and goes with the next build.
for (const signal of ['SIGTERM', 'SIGKILL']) {
	test(`a build ended by ${signal} leaves nothing half-made`, async () => {
		const cache = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-cache-'))
		const child = spawn(path.join(TEMPLATES, 'build'), ['--cache', cache, 'base'], { stdio: 'ignore' })
		const exited = new Promise((done) => child.once('exit', done))
		let all = [child.pid]
		try {
			const begun = await until(
				() => inWork(cache).some((name) => list(path.join(cache, name, 'rootfs')).length > 0),
				20000,
			)
			assert.ok(begun, 'the build does not begin')
			all = family(child.pid)
			assert.ok(all.length > 3, 'nothing runs')
		} finally {
			child.kill(signal)
			await exited
		}
		assert.ok(await until(() => !all.some(alive), 5000), `still running: ${all.filter(alive)}`)
		assert.deepEqual(hostMounts(cache), [])
		assert.deepEqual(list(path.join(cache, 'templates')), [], 'something half-made looks finished')
		if (signal === 'SIGTERM') assert.deepEqual(inWork(cache), [])
		fs.rmSync(cache, { recursive: true, force: true })
	})
}

test('a recipe that does not exist is an error that names it', () => {
	const run = spawnSync(path.join(TEMPLATES, 'build'), ['no-such-recipe'], { encoding: 'utf8', timeout: 10000 })
	assert.notEqual(run.status, 0)
	assert.match(run.stderr, /no-such-recipe/)
})

// SPDX-License-Identifier: Apache-2.0
// The unit that is installed: systemd takes it, and it ends the daemon alone.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { server } from '../lib/client.mjs'

const has = spawnSync('systemd-analyze', ['--version']).status === 0

test(
	'systemd takes the unit, which leaves the sandboxes alone when the daemon ends',
	{ skip: !has && 'systemd-analyze is not there' },
	() => {
		const text = fs.readFileSync(path.join(server.buildDir, 'packaging/atoll.service'), 'utf8')
		const set = (name) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1]
		assert.equal(set('KillMode'), 'process') /* not what it started: sandboxes outlive it */
		assert.equal(
			set('Delegate'),
			undefined,
		) /* their cgroups are elsewhere: it can be started again beside them */
		assert.match(set('ExecStart'), /--on-stop keep/)
		assert.match(set('ExecStopPost'), /= stopping \]; then /) /* only when the machine goes down */
		const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-unit-'))
		try {
			const atoll = path.join(server.buildDir, 'src/cli/atoll')
			fs.writeFileSync(
				path.join(dir, 'atoll.service'),
				text
					.replace(/^ExecStart=\S+/m, `ExecStart=${atoll}`)
					.replace(/^Documentation=.*\n/m, ''),
			)
			const done = spawnSync('systemd-analyze', ['verify', path.join(dir, 'atoll.service')], {
				encoding: 'utf8',
			})
			assert.equal(done.status, 0, done.stderr)
			assert.ok(!/atoll\.service/.test(done.stderr), done.stderr)
		} finally {
			fs.rmSync(dir, { recursive: true })
		}
	},
)

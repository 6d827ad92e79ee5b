// SPDX-License-Identifier: Apache-2.0
// The programs of docs/clients.md, run as they stand there.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'
import { CLIENTS, install } from './clients.mjs'

const PAGE = fs.readFileSync(path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../docs/clients.md'), 'utf8')

// `atoll env` as the page tells, in a shell that knows nothing else.
function shell(script) {
	const atoll = path.join(server.buildDir, 'src/cli/atoll')
	return spawnSync('sh', ['-ec', `eval "$(${atoll} env --state ${server.stateDir})"\n${script}`],
		{ encoding: 'utf8', timeout: 80000, env: { PATH: process.env.PATH, HOME: '/nonexistent' } })
}

for (const [id, fence, file, command] of [['js', 'js', 'page.mjs', (dir, f) => `${process.execPath} ${f}`], ['py', 'python', 'page.py', (dir, f) => `${dir}/bin/python -B ${f}`]]) {
	test(`the program in ${fence}`, { timeout: 400000 }, (t) => {
		const { dir, why } = install(CLIENTS.find((one) => one.id === id), server.buildDir)
		if (why) {
			t.skip(why)
			return
		}
		const copy = path.join(dir, file)
		fs.writeFileSync(copy, new RegExp(`\`\`\`${fence}\n([^]*?)\`\`\``).exec(PAGE)[1])
		const run = shell(command(dir, copy))
		assert.equal(run.status, 0, run.stderr)
		assert.match(run.stdout, /^42/)
	})
}

test('the calls that look at a key', () => {
	const calls = PAGE.split('\n').filter((line) => line.startsWith('    curl') && line.includes('E2B_API_URL'))
	assert.equal(calls.length, 2)
	for (const call of calls) {
		const run = shell(call.replace('curl', 'curl -sSf').replace(/ +#.*/, ''))
		assert.equal(run.status, 0, run.stderr)
		assert.ok(Array.isArray(JSON.parse(run.stdout)), run.stdout)
	}
})

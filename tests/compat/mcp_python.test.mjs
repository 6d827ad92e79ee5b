// SPDX-License-Identifier: Apache-2.0
// The official MCP client of Python against both transports; it is stricter than that of JavaScript about what it
// takes as one event.
import { after, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, server } from '../lib/client.mjs'
import { installPython } from '../lib/pip.mjs'

const DIR = path.join(server.buildDir, 'test-clients/mcp-python')
const PROGRAM = path.join(path.dirname(fileURLToPath(import.meta.url)), 'py/mcp_agent.py')
const noClient = installPython(DIR, ['mcp~=2.3'])

after(async () => {
	for (const one of (await api('GET', '/agent/sessions')).json)
		await api('DELETE', `/agent/sessions/${one.sessionId}`)
})

for (const transport of ['http', 'stdio']) {
	test(`the SDK of Python over ${transport}: tools, results, errors, progress, long answers, giving up`, (t) => {
		if (noClient) return t.skip(noClient)
		const run = spawnSync(`${DIR}/bin/python`, [PROGRAM, transport], {
			encoding: 'utf8',
			timeout: 150000,
			maxBuffer: 1 << 26,
			env: {
				...process.env,
				E2B_API_URL: server.url,
				E2B_API_KEY: server.key,
				ATOLL: path.join(server.buildDir, 'src/cli/atoll'),
			},
		})
		assert.equal(run.status, 0, run.stderr)
		const out = JSON.parse(run.stdout)
		assert.ok(out.tools.includes('run_code') && out.tools.includes('git_push'))
		assert.equal(out.code.data.text, '21')
		assert.deepEqual([out.error.isError, out.error.data.error.name], [true, 'ZeroDivisionError'])
		assert.ok(out.plot.types.includes('image'))
		assert.deepEqual(
			[out.wrong.isError, out.wrong.text],
			[true, "INVALID_ARGUMENT: argument 'code' must be a string. Nothing was done."],
		)
		assert.match(out.unknown, /Unknown tool: nonsense/)
		assert.equal(out.odd, true)
		assert.equal(out.steps.data.stdout, 'step 1\nstep 2\nstep 3\n')
		assert.ok(out.seen.length >= 2 && out.seen.every((m) => m.startsWith('step ')), out.seen.join())
		if (transport === 'http') {
			assert.deepEqual([out.long.isError, out.long.truncated], [false, true])
			assert.ok(out.long.n > 200000 && out.long.n < 1000000, `${out.long.n}`)
			assert.match(out.long.end, /has been truncated/)
		} else {
			assert.equal(out.long.n, 1900000)
		}
		assert.deepEqual([out.whole.truncated, out.whole.n], [false, 1900000])
		assert.deepEqual(out.parallel, ['0', '2', '4', '6', '8', '10', '12', '14'])
		assert.match(out.late, /timed out/i)
		assert.equal(out.after.data.text, '20')
		assert.equal(out.anew.data.text, 'False')
		assert.match(out.anew.text, /a new one was started/)
	})
}

// SPDX-License-Identifier: Apache-2.0
// text_from_stdout: off unless asked for, by the server's configuration or the sandbox's environment.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, killRaw, server as shared } from '../../lib/client.mjs'
import { runCode } from '../../lib/interp.mjs'
import { newServer } from '../../lib/server.mjs'

async function inSandbox(envVars, use, base = shared) {
	const opt = { base: base.url, key: base.key }
	const sbx = await createRaw({ templateID: 'code-interpreter-v1', timeout: 120, envVars }, opt)
	try {
		await use((code, more) => runCode(sbx, code, more, base.url))
	} finally {
		await killRaw(sbx, opt)
	}
}

const on = { ATOLL_TEXT_FROM_STDOUT: '1' }

test('without the switch, printed text is output and nothing else', () =>
	inSandbox({}, async (run) => {
		const got = await run('print("a")')
		assert.deepEqual([got.text, got.results, got.stdout], [undefined, [], ['a\n']])
	}))

test('with it, a cell without a result has its output as text', () =>
	inSandbox(on, async (run) => {
		const got = await run('print("a"); print("\'ä\'")')
		assert.deepEqual(
			got.results.map(({ is_main_result, text, extra }) => ({ is_main_result, text, extra })),
			[{ is_main_result: true, text: "a\n'ä'", extra: {} }],
		)
		assert.equal(got.stdout.join(''), "a\n'ä'\n", 'the output itself stays')
		assert.equal(got.last, 'end_of_execution')
		assert.equal(
			(await run('import sys; sys.stdout.write("x\\n\\n"); None')).text,
			'x\n',
			'one line end is taken off, not all',
		)
		assert.equal((await run('echo b; echo e >&2', { language: 'bash' })).text, 'b')
		assert.equal((await run('console.log("j")', { language: 'js' })).text, 'j')
	}))

test('a result, an error, or no output at all: nothing is added', () =>
	inSandbox(on, async (run) => {
		const own = await run('print("a"); 7')
		assert.deepEqual([own.text, own.results.length], ['7', 1])
		const failed = await run('print("a"); 1/0')
		assert.deepEqual([failed.text, failed.results, failed.error.name], [undefined, [], 'ZeroDivisionError'])
		assert.deepEqual((await run('x = 1')).results, [])
		assert.deepEqual((await run('import sys; print("e", file=sys.stderr)')).results, [])
		const shown = await run(
			'from IPython.display import HTML, display\ndisplay(HTML("<b>"))\nprint("after")',
		)
		assert.deepEqual(
			shown.results.map((r) => [r.is_main_result, r.html, r.text].slice(0, 2)),
			[
				[false, '<b>'],
				[true, undefined],
			],
		)
		assert.equal(shown.text, 'after')
	}))

test('output too long to be a text is left as output', () =>
	inSandbox(on, async (run) => {
		const got = await run('print("x" * (5 << 20))')
		assert.deepEqual(got.results, [])
		assert.equal(got.stdout.join('').length, (5 << 20) + 1)
	}))

test('the server can be told to, and a sandbox can say no', async () => {
	const own = await newServer(shared.buildDir, { text_from_stdout: true }).start()
	try {
		await inSandbox({}, async (run) => assert.equal((await run('print("a")')).text, 'a'), own)
		await inSandbox(
			{ ATOLL_TEXT_FROM_STDOUT: '0' },
			async (run) => assert.equal((await run('print("a")')).text, undefined),
			own,
		)
	} finally {
		await own.stop()
	}
})

// SPDX-License-Identifier: Apache-2.0
// The code interpreter.
const assert = require('node:assert/strict')

const PLOT =
	'import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4], label="l")\nplt.title("T")\nplt.xlabel("x (s)")\n' +
	'plt.show()'

const prints = (language, code, want) => async (c) => {
	const run = await (await c.interpreter()).runCode(code, { language })
	assert.equal(run.error, undefined, JSON.stringify(run.error))
	assert.equal(run.logs.stdout.join(''), want)
}

module.exports = {
	'code.python': async (c) => {
		const sbx = await c.interpreter()
		const run = await sbx.runCode('import os\nx = 5; print(os.environ["GIVEN"]); x*2')
		assert.deepEqual(
			[run.text, run.logs.stdout, run.results.length, run.error],
			['10', ['at creation\n'], 1, undefined],
		)
		assert.equal((await sbx.runCode('x')).text, '5')
	},
	'code.error': async (c) => {
		const { error } = await (await c.interpreter()).runCode('1/0')
		assert.deepEqual([error.name, error.value], ['ZeroDivisionError', 'division by zero'])
		assert.match(error.traceback, /1\/0/)
	},
	'code.stream': async (c) => {
		const seen = []
		const run = await (
			await c.interpreter()
		).runCode('import sys, time\nprint("o", flush=True)\ntime.sleep(1)\nprint("e", file=sys.stderr)\n7', {
			onStdout: (out) => seen.push(['out', out.line]),
			onStderr: (out) => seen.push(['err', out.line]),
			onResult: (result) => seen.push(['result', result.text]),
		})
		assert.deepEqual(seen, [
			['out', 'o\n'],
			['err', 'e\n'],
			['result', '7'],
		])
		assert.equal(run.text, '7')
	},
	'code.javascript': prints('js', 'const a = await Promise.resolve(6); console.log(a * 7)', '42\n'),
	'code.typescript': prints('ts', 'const n: number = 6; console.log(n * 7)', '42\n'),
	'code.bash': prints('bash', 'echo $((6 * 7))', '42\n'),
	'code.r': prints('r', 'cat(6 * 7, "\\n", sep="")', '42\n'),
	'code.java': prints('java', 'System.out.println(6 * 7);', '42\n'),
	'code.context': async (c) => {
		const sbx = await c.interpreter()
		const context = await sbx.createCodeContext({ language: 'python', cwd: '/tmp' })
		await sbx.runCode('only_here = 1', { context })
		assert.equal(
			(await sbx.runCode('import os; (only_here, os.getcwd())', { context })).text,
			"(1, '/tmp')",
		)
		assert.equal((await sbx.runCode('only_here')).error.name, 'NameError')
	},
	'code.contexts': async (c) => {
		const sbx = await c.interpreter()
		c.needs(sbx.listCodeContexts, sbx.restartCodeContext, sbx.removeCodeContext)
		const context = await sbx.createCodeContext()
		await sbx.runCode('kept = 1', { context })
		await sbx.restartCodeContext(context)
		assert.equal((await sbx.runCode('kept', { context })).error.name, 'NameError')
		assert.ok((await sbx.listCodeContexts()).some((one) => one.id === context.id))
		await sbx.removeCodeContext(context.id)
		assert.ok(!(await sbx.listCodeContexts()).some((one) => one.id === context.id))
	},
	'code.table': async (c) => {
		const [result] = (
			await (await c.interpreter()).runCode('import pandas as pd\npd.DataFrame({"a": [1, 2]})')
		).results
		assert.match(result.html, /<table/)
		assert.deepEqual(result.data, { a: [1, 2] })
	},
	'code.png': async (c) => {
		const [result] = (await (await c.interpreter()).runCode(PLOT)).results
		assert.match(result.png, /^iVBORw0KGgo/)
	},
	'code.chart': async (c) => {
		const { chart } = (await (await c.interpreter()).runCode(PLOT)).results[0]
		assert.deepEqual([chart.type, chart.title, chart.x_label, chart.x_unit], ['line', 'T', 'x (s)', 's'])
		assert.deepEqual(
			chart.elements.map((one) => [one.label, one.points]),
			[
				[
					'l',
					[
						[1, 3],
						[2, 4],
					],
				],
			],
		)
	},
	'code.env': async (c) => {
		const sbx = await c.interpreter()
		assert.equal((await sbx.runCode('os.environ["ONE"]', { envs: { ONE: 'run' } })).text, 'run')
		assert.equal((await sbx.runCode('os.environ.get("ONE")')).text, undefined)
	},
	'code.timeout': async (c) => {
		const sbx = await c.interpreter()
		await assert.rejects(sbx.runCode('while True: pass', { timeoutMs: 1500 }), c.code.TimeoutError)
		assert.equal((await sbx.runCode('1 + 1')).text, '2')
	},
}

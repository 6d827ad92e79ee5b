// SPDX-License-Identifier: Apache-2.0
// Python cells: state, results of every kind, charts, errors, magics, packages.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, killRaw, shell } from '../../lib/client.mjs'
import { runCode, startCode } from '../../lib/interp.mjs'
import { until } from '../../lib/host.mjs'

const PNG = /^iVBORw0KGgo/
let sbx
const py = (code, opt) => runCode(sbx, code, opt)

before(async () => {
	sbx = await createRaw({ templateID: 'code-interpreter-v1', timeout: 900, envVars: { GIVEN: 'at creation' } })
})
after(() => killRaw(sbx))

test('a cell has its output, its value and its number', async () => {
	const got = await py('x = 5; print(1); x*2')
	assert.equal(got.text, '10')
	assert.deepEqual(got.stdout, ['1\n'])
	assert.equal(got.results.length, 1)
	assert.deepEqual(got.results[0].extra, {})
	assert.equal(got.count, 1)
	assert.equal(got.last, 'end_of_execution')
	assert.equal((await py('x')).text, '5')
	assert.equal((await py('x')).count, 3)
})

// The head of the answer and the count wait a moment for the first output: for ever they must not.
test('a cell that prints nothing yet has the head of its answer, and its number, once', async () => {
	const run = await startCode(
		sbx,
		`import os, time
while not os.path.exists('/tmp/go'): time.sleep(0.01)
print('gone')`,
	)
	assert.equal(run.status, 200)
	const types = () => run.events.map((e) => e.type)
	assert.ok(await until(() => types().includes('number_of_executions'), 60000), run.raw)
	assert.deepEqual(types(), ['number_of_executions'])
	await shell(sbx, 'touch /tmp/go')
	assert.ok(await run.ended)
	assert.deepEqual(types(), ['number_of_executions', 'stdout', 'end_of_execution'])
	const quick = await py('print(1)') // most are over by then
	assert.deepEqual(
		quick.events.map((e) => e.type),
		['number_of_executions', 'stdout', 'end_of_execution'],
	)
	assert.equal(quick.count, run.events[0].execution_count + 1)
	const silent = await py('pass')
	assert.deepEqual(
		silent.events.map((e) => e.type),
		['number_of_executions', 'end_of_execution'],
	)
})

test('an error is data: name, value, a traceback without colours; the next cell runs', async () => {
	const got = await py('1/0')
	assert.equal(got.status, 200)
	assert.equal(got.error.name, 'ZeroDivisionError')
	assert.equal(got.error.value, 'division by zero')
	assert.match(got.error.traceback, /Cell In\[\d+\], line 1\n-+> 1 1\/0/)
	assert.doesNotMatch(got.error.traceback, /\x1b/)
	assert.equal((await py('def f(:')).error.name, 'SyntaxError')
	assert.equal((await py('xyz')).error.value, "name 'xyz' is not defined")
})

test('sys.exit and exit() end the cell, not the interpreter', async () => {
	await py('kept = 1')
	for (const code of ['import sys; sys.exit(0)', 'exit()', 'raise SystemExit']) {
		const got = await py(code)
		assert.equal(got.error.name, 'SystemExit')
		assert.equal(got.error.value, '0')
		assert.deepEqual(got.stderr, [])
	}
	assert.equal((await py('kept')).text, '1')
})

test('magics, shell escapes, top-level await, indented cells', async () => {
	assert.deepEqual((await py('!pwd')).stdout, ['/home/user\n'])
	assert.deepEqual((await py('%%bash\necho $((1+1))')).stdout, ['2\n'])
	assert.match((await py('%timeit -n1 -r1 pass')).stdout.join(''), /per loop/)
	assert.equal((await py('import asyncio\nawait asyncio.sleep(0.01, 7)')).text, '7')
	assert.equal((await py('    y = 3\n    y')).text, '3')
	assert.match((await py('!pip install numpy')).stdout.join(''), /already satisfied: numpy/)
})

test('tasks that a cell leaves in the event loop go on', async () => {
	await py(
		'import asyncio\nseen = []\nasync def tick():\n    for i in range(1000):\n        seen.append(i)\n ' +
			'       await asyncio.sleep(0.01)\n' +
			'task = asyncio.create_task(tick())\nawait asyncio.sleep(0)',
	)
	assert.ok(await until(async () => Number((await py('len(seen)')).text) > 5, 30000, 100))
	await py('task.cancel()')
})

test('output of children and of C comes back too, in order with results', async () => {
	const got = await py(
		'import subprocess, os\nprint("a", flush=True)\nsubprocess.run(["echo", "b"])\nos.write(1, b"c\\n")\n' +
			'!echo d >&2\ndisplay(1)',
	)
	assert.equal(got.stdout.join(''), 'a\nb\nc\n')
	assert.equal(got.stderr.join(''), 'd\n')
	const kinds = got.events.map((e) => e.type)
	assert.ok(kinds.indexOf('stdout') < kinds.indexOf('result'))
})

test('environment: given at creation, per execution, and put back', async () => {
	const env = (name) => `import os; os.environ.get("${name}")`
	assert.equal((await py(env('GIVEN'))).text, 'at creation')
	assert.equal((await py(env('GIVEN'), { env_vars: { GIVEN: 'now' } })).text, 'now')
	assert.equal((await py(env('GIVEN'))).text, 'at creation')
	assert.equal((await py(env('ONCE'), { env_vars: { ONCE: '1' } })).text, '1')
	assert.equal((await py(`${env('ONCE')} is None`)).text, 'True')
	assert.equal((await py(env('E2B_SANDBOX'))).text, 'true')
})

test('every mime kind of display()', async () => {
	const got = await py(
		`from IPython.display import *
display(HTML("<b>h</b>"), Markdown("# m"), SVG("<svg xmlns='http://www.w3.org/2000/svg'/>"), Latex("$l$"), ` +
			`JSON({"j": 1}), Javascript("1"))
display({"image/png": "AA==", "image/jpeg": "AQ==", "application/pdf": "Ag==", "text/x-own": ` +
			`"o"}, raw=True)`,
	)
	const field = (name) => got.results.map((r) => r[name]).find((v) => v !== undefined)
	assert.equal(field('html'), '<b>h</b>')
	assert.equal(field('markdown'), '# m')
	assert.match(field('svg'), /^<svg/)
	assert.equal(field('latex'), '$l$')
	assert.deepEqual(field('json'), { j: 1 })
	assert.equal(field('javascript'), '1')
	assert.equal(field('png'), 'AA==')
	assert.equal(field('jpeg'), 'AQ==')
	assert.equal(field('pdf'), 'Ag==')
	assert.deepEqual(got.results.at(-1).extra, { 'text/x-own': 'o' })
	assert.ok(got.results.every((r) => r.is_main_result === false))
	assert.equal(got.text, undefined)
})

test('text: quotes of a string are taken off, collections are whole, dict and list are json too', async () => {
	assert.equal((await py('"str"')).text, 'str')
	assert.equal((await py('"it\'s"')).text, "it's")
	assert.equal((await py('list(range(2000))')).results[0].json.length, 2000)
	assert.match((await py('list(range(2000))')).text, /1999\]$/)
	assert.deepEqual((await py('{"a": [1, float("nan")], 2: None}')).results[0].json, { a: [1, null], 2: null })
	assert.equal((await py('{1, 2}')).results[0].json, undefined)
})

test('a frame is text, html and data', async () => {
	const got = (
		await py(
			'import pandas as pd\npd.DataFrame({"a": [1, None], "t": pd.to_datetime(["2020-01-02", ' +
				'"2020-01-03"])})',
		)
	).results[0]
	assert.deepEqual(got.data, { a: [1, null], t: ['2020-01-02T00:00:00', '2020-01-03T00:00:00'] })
	assert.match(got.html, /<table/)
	assert.match(got.text, /2020-01-02/)
})

test('a figure is a picture and its numbers', async () => {
	const got = (
		await py(`import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [4, 5, 6], label="up")
plt.plot([1, 2, 3], [6, 5, 4])
plt.axhline(5)
plt.xlabel("time (s)"); plt.ylabel("level [dB]"); plt.title("T")
plt.show()`)
	).results[0]
	assert.match(got.png, PNG)
	assert.equal(got.is_main_result, false)
	assert.deepEqual(got.chart.elements, [
		{
			label: 'up',
			points: [
				[1, 4],
				[2, 5],
				[3, 6],
			],
		},
		{
			label: 'Line 1',
			points: [
				[1, 6],
				[2, 5],
				[3, 4],
			],
		},
	])
	const { type, title, x_label, x_unit, y_unit, x_scale } = got.chart
	assert.deepEqual(
		{ type, title, x_label, x_unit, y_unit, x_scale },
		{ type: 'line', title: 'T', x_label: 'time (s)', x_unit: 's', y_unit: 'dB', x_scale: 'linear' },
	)
})

test('charts: bars standing and lying, grouped', async () => {
	const chart = async (code) =>
		(await py(`import matplotlib.pyplot as plt\n${code}\nplt.show()`)).results[0].chart
	const standing = await chart('plt.bar(["a", "b"], [1, 2]); plt.xlabel("X"); plt.ylabel("Y")')
	assert.deepEqual(standing.elements, [
		{ label: 'a', group: 'Group 0', value: 1 },
		{ label: 'b', group: 'Group 0', value: 2 },
	])
	const lying = await chart('plt.barh(["a", "b"], [1, 2], label="g"); plt.xlabel("X"); plt.ylabel("Y")')
	assert.deepEqual(
		lying.elements.map((e) => e.value),
		[1, 2],
	)
	assert.equal(lying.x_label, 'Y')
	const two = await chart(
		'x = [0, 1]\nplt.bar([v - 0.2 for v in x], [1, 2], 0.4, label="p")\nplt.bar([v + 0.2 for v in x], ' +
			'[3, 4], 0.4, label="q")\nplt.xticks(x, ["m", "n"])',
	)
	assert.deepEqual(
		two.elements.map((e) => `${e.group}${e.label}${e.value}`),
		['pm1', 'pn2', 'qm3', 'qn4'],
	)
})

test('charts: pie, scatter, boxes of both makes, several axes, unknown, blank', async () => {
	const chart = async (code) =>
		(await py(`import matplotlib.pyplot as plt, datetime\n${code}\nplt.show()`)).results[0]?.chart
	assert.deepEqual(
		(await chart('plt.pie([90, 10], labels=["x", "y"])')).elements.map((e) => e.angle),
		[324, 36],
	)
	assert.deepEqual((await chart('plt.scatter([1, 2], [3, 4], label="s")')).elements, [
		{
			label: 's',
			points: [
				[1, 3],
				[2, 4],
			],
		},
	])
	const box = { label: '1', min: 1, first_quartile: 2, median: 3, third_quartile: 4, max: 5, outliers: [20] }
	for (const make of ['', ', patch_artist=True']) {
		const got = await chart(`plt.boxplot([[1, 2, 3, 4, 5, 20], [2, 3, 4, 5, 6]]${make})`)
		assert.equal(got.type, 'box_and_whisker')
		assert.deepEqual(got.elements[0], { ...box, first_quartile: 2.25, median: 3.5, third_quartile: 4.75 })
	}
	const both = await chart('f, (a, b) = plt.subplots(1, 2)\nf.suptitle("S")\na.plot([1, 2])\nb.scatter([1], [2])')
	assert.deepEqual(
		[both.type, both.title, both.elements.map((e) => e.type)],
		['superchart', 'S', ['line', 'scatter']],
	)
	const when = await chart('plt.plot([datetime.date(2023, 9, 1), datetime.date(2023, 9, 2)], ["A", "B"])')
	assert.deepEqual(
		[when.x_scale, when.y_scale, when.elements[0].points[0][0].slice(0, 10)],
		['datetime', 'categorical', '2023-09-01'],
	)
	assert.equal((await chart('plt.gca().add_artist(plt.Circle((0, 0), 1))')).type, 'unknown')
	assert.equal(await chart('plt.subplots()'), undefined)
	assert.equal((await chart('plt.plot([1, 10]); plt.yscale("log")')).y_scale, 'log')
})

test('pictures: shown, as value, saved', async () => {
	const make = 'from PIL import Image\nim = Image.new("RGB", (4, 4))\n'
	for (const code of ['im.show()', 'im', 'im.save("/tmp/x.png")'])
		assert.match((await py(make + code)).results[0].png, PNG, code)
})

test('text in Chinese, Japanese and Korean is drawn without missing glyphs', async () => {
	const got = await py('import matplotlib.pyplot as plt\nplt.title("漢字かな한글")\nplt.show()')
	assert.deepEqual(got.stderr, [])
	assert.match(got.results[0].png, PNG)
})

test('the libraries that programs expect are there', async () => {
	const got = await py(
		'import numpy, pandas, scipy, matplotlib, seaborn, sklearn, requests, bs4, PIL, openpyxl, sympy, ' +
			'plotly, lxml\nprint("ok")',
	)
	assert.deepEqual(got.stdout, ['ok\n'])
	assert.equal(
		(
			await py(
				'from sklearn.cluster import KMeans\nKMeans(2, n_init=1).fit(numpy.random.rand(30, ' +
					'2)).labels_.shape',
			)
		).text,
		'(30,)',
	)
	assert.equal((await py('(numpy.ones((300, 300)) @ numpy.ones((300, 300)))[0, 0]')).text, 'np.float64(300.0)')
})

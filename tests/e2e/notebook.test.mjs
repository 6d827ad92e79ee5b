// SPDX-License-Identifier: Apache-2.0
// What a sandbox ran, as a notebook: complete, valid for Jupyter's own tools, there after the sandbox's end, and gone
// when it should be.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, killRaw, sdk } from '../lib/client.mjs'
import { atoll } from '../lib/cli.mjs'
import { newServer } from '../lib/server.mjs'
import { installPython } from '../lib/pip.mjs'
import { runCode } from '../lib/interp.mjs'
import { rows } from '../lib/db.mjs'
import { until } from '../lib/host.mjs'

const { buildDir } = JSON.parse(process.env.ATOLL_TEST_SERVER)
let own, opt, venv, missing // why Jupyter's tools are not here, or null

before(async () => {
	own = await newServer(buildDir, { notebook_mb: 1, notebooks_kept_s: 20 }).start()
	opt = { base: own.url, key: own.key }
	missing = installPython(path.join(buildDir, 'test-jupyter'), ['nbformat', 'nbconvert', 'ipykernel'])
	venv = missing ? null : path.join(buildDir, 'test-jupyter/bin')
})
after(async () => {
	const end = await own.stop()
	assert.deepEqual([end.how, end.clean], [0, true], JSON.stringify(end))
})

const notebook = async (id, query = '', more = {}) =>
	api('GET', `/sandboxes/${id}/notebook${query}`, undefined, { ...opt, ...more })
const joined = (text) => (Array.isArray(text) ? text.join('') : text)
const codeCells = (nb) => nb.cells.filter((c) => c.cell_type === 'code')

// Valid by nbformat, and by nbconvert a page.
function assertValid(nb) {
	if (!venv) return
	const file = path.join(own.base, 'check.ipynb')
	fs.writeFileSync(file, JSON.stringify(nb))
	const valid = spawnSync(
		path.join(venv, 'python'),
		[
			'-W',
			'error',
			'-c',
			'import nbformat, sys; nbformat.validate(nbformat.read(sys.argv[1], as_version=4))',
			file,
		],
		{ encoding: 'utf8' },
	)
	assert.equal(valid.status, 0, valid.stderr)
	const page = spawnSync(path.join(venv, 'jupyter-nbconvert'), ['--to', 'html', '--stdout', file], {
		encoding: 'utf8',
		maxBuffer: 1 << 26,
	})
	assert.equal(page.status, 0, page.stderr)
	return page.stdout
}

test('everything that the SDK ran is in the notebook, in order, with all kinds of outputs', async () => {
	const { Sandbox } = sdk('@e2b/code-interpreter')
	const sbx = await Sandbox.create({ apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url, timeoutMs: 300_000 })
	const id = sbx.sandboxId
	try {
		const code = [
			'x = 6\nprint("one")\nprint("two")\nx * 7',
			'import sys; print("warned", file=sys.stderr)',
			'1/0',
			'import pandas as pd; pd.DataFrame({"a": [1, 2]})',
			'import matplotlib.pyplot as plt; plt.bar(["p", "q"], [1, 2]); plt.show()',
			'from IPython.display import JSON, HTML, display; display(HTML("<b>bold</b>")); JSON({"k": ' +
				'[1]})',
			'"\\u00e9\\u4e2d \\U0001f600"',
		]
		for (const text of code) await sbx.runCode(text)
		const nb = (await notebook(id)).json
		assert.deepEqual([nb.nbformat, nb.nbformat_minor], [4, 5])
		assert.equal(nb.metadata.kernelspec.name, 'python3')
		const cells = codeCells(nb)
		assert.deepEqual(
			cells.map((c) => joined(c.source)),
			code,
		)
		assert.deepEqual(
			cells.map((c) => c.execution_count),
			[1, 2, 3, 4, 5, 6, 7],
		)
		const out = (i, type) => cells[i].outputs.filter((o) => o.output_type === type)
		assert.equal(joined(out(0, 'stream')[0].text), 'one\ntwo\n')
		assert.equal(joined(out(0, 'execute_result')[0].data['text/plain']), '42')
		assert.deepEqual([out(1, 'stream')[0].name, joined(out(1, 'stream')[0].text)], ['stderr', 'warned\n'])
		assert.deepEqual(
			[out(2, 'error')[0].ename, out(2, 'error')[0].evalue],
			['ZeroDivisionError', 'division by zero'],
		)
		assert.ok(out(2, 'error')[0].traceback.some((line) => line.includes('1/0')))
		assert.match(joined(out(3, 'execute_result')[0].data['text/html']), /<table/)
		const chart = out(4, 'display_data').find((o) => o.data['image/png'])
		assert.match(joined(chart.data['image/png']), /^iVBORw0KGgo/)
		assert.equal(chart.data['application/vnd.e2b.chart+json'].type, 'bar')
		assert.ok(out(5, 'display_data').some((o) => joined(o.data['text/html'] ?? '').includes('<b>bold</b>')))
		assert.deepEqual(out(5, 'execute_result')[0].data['application/json'], { k: [1] })
		assert.equal(joined(out(6, 'execute_result')[0].data['text/plain']), '\u00e9\u4e2d \u{1f600}')
		assert.deepEqual(
			cells.map((c) => c.metadata.atoll.outcome),
			['ok', 'ok', 'error', 'ok', 'ok', 'ok', 'ok'],
		)
		const page = assertValid(nb)
		if (page)
			assert.ok(
				page.includes('ZeroDivisionError') &&
					page.includes('data:image/png;base64,iVBORw0KGgo'),
			)
	} finally {
		await sbx.kill()
	}
	const file = path.join(own.base, 'out.ipynb')
	const got = atoll(['notebook', id, '-o', file, '--api-url', own.url, '--api-key', own.key]) // after its end
	assert.equal(got.code, 0, got.err)
	assert.equal(codeCells(JSON.parse(fs.readFileSync(file, 'utf8'))).length, 7)
})

test('Jupyter runs an exported notebook to the same results', async (t) => {
	if (missing) return t.skip(missing)
	const sbx = await createRaw({ timeout: 120, templateID: 'code-interpreter-v1' }, opt)
	await runCode(sbx, 'total = sum(range(10))', {}, own.url)
	await runCode(sbx, 'print("total", total)\ntotal + 1', {}, own.url)
	const nb = (await notebook(sbx.sandboxID)).json
	await killRaw(sbx, opt)
	const file = path.join(own.base, 'run.ipynb')
	fs.writeFileSync(file, JSON.stringify(nb))
	const ran = spawnSync(
		path.join(venv, 'jupyter-nbconvert'),
		['--to', 'notebook', '--execute', '--stdout', file],
		{ encoding: 'utf8', timeout: 300000, env: { ...process.env, HOME: own.base } },
	)
	assert.equal(ran.status, 0, ran.stderr)
	const again = codeCells(JSON.parse(ran.stdout)),
		before = codeCells(nb)
	for (const i of [0, 1])
		assert.deepEqual(
			again[i].outputs.map((o) => joined(o.text ?? o.data['text/plain'])),
			before[i].outputs.map((o) => joined(o.text ?? o.data['text/plain'])),
		)
})

test('several contexts and languages are told apart, and one can be had alone', async () => {
	const { Sandbox } = sdk('@e2b/code-interpreter')
	const sbx = await Sandbox.create({ apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url, timeoutMs: 300_000 })
	try {
		const second = await sbx.createCodeContext({ language: 'python' }),
			js = await sbx.createCodeContext({ language: 'javascript' })
		await sbx.runCode('a = 1')
		await sbx.runCode('a = 2', { context: second })
		await sbx.runCode('const a = 3; a', { context: js })
		await sbx.runCode('echo 4', { language: 'bash' })
		await sbx.runCode('a')
		const nb = (await notebook(sbx.sandboxId)).json
		assertValid(nb)
		assert.deepEqual(
			codeCells(nb).map((c) => joined(c.source)),
			['a = 1', 'a = 2', '%%script node\nconst a = 3; a', '%%bash\necho 4', 'a'],
		)
		assert.deepEqual(
			codeCells(nb).map((c) => c.metadata.atoll.language),
			['python', 'python', 'javascript', 'bash', 'python'],
		)
		assert.equal(nb.cells.filter((c) => c.cell_type === 'markdown').length, 5)
		assert.equal(new Set(nb.cells.map((c) => c.id)).size, nb.cells.length)
		const one = (await notebook(sbx.sandboxId, `?context=${second.id}`)).json
		assert.deepEqual(
			codeCells(one).map((c) => joined(c.source)),
			['a = 2'],
		)
		assert.equal((await notebook(sbx.sandboxId, '?context=a%20b')).status, 400)
	} finally {
		await sbx.kill()
	}
})

test(
	"it is bounded, its team's alone, survives a restart of the front, and goes with retention and " + 'purge',
	async () => {
		const sbx = await createRaw({ timeout: 300, templateID: 'code-interpreter-v1' }, opt)
		for (let i = 0; i < 4; i++) await runCode(sbx, `print("${i}" * 400000)`, {}, own.url) // 1 MB is kept
		await runCode(sbx, '"small"', {}, own.url)
		const nb = (await notebook(sbx.sandboxID)).json
		assert.equal(codeCells(nb).length, 5)
		assert.ok(JSON.stringify(nb).length < 1_300_000)
		assert.ok(joined(codeCells(nb)[3].outputs[0].text).includes('the rest of the output was not kept'))
		assertValid(nb)
		const team = (await api('POST', '/admin/teams', { name: 'nb' }, opt)).json
		const key = (await api('POST', `/admin/teams/${team.teamID ?? team.id}/api-keys`, { name: 'k' }, opt))
			.json.key
		assert.equal((await notebook(sbx.sandboxID, '', { key })).status, 404)
		const cells = () =>
			rows(
				path.join(own.stateDir, 'front/notebooks.db'),
				'SELECT COUNT(*) FROM cells WHERE sandbox=?',
				sbx.sandboxID,
			)[0][0]
		assert.ok(await until(() => cells() === 5), `${cells()} of 5 are on disk`)
		await own.stop({ remove: false })
		await own.start()
		assert.equal((await notebook(sbx.sandboxID)).status, 200)
		assert.ok(
			await until(async () => (await notebook(sbx.sandboxID)).status === 404, 60000, 500),
			'kept for ever',
		)

		const again = await createRaw({ timeout: 300, templateID: 'code-interpreter-v1' }, opt)
		await runCode(again, 'secret_of_the_team = 1', {}, own.url)
		assert.equal((await api('POST', '/purge', {}, opt)).status, 200)
		assert.equal((await notebook(again.sandboxID)).status, 404)
		for (const f of ['notebooks.db', 'notebooks.db-wal'])
			assert.ok(
				!fs
					.readFileSync(path.join(own.stateDir, 'front', f), 'latin1')
					.includes('secret_of_the_team'),
			)
	},
)

test('a sandbox that ran nothing has an empty notebook; with notebook_mb = 0 there are none', async () => {
	const sbx = await createRaw({ timeout: 60 }, opt)
	const nb = (await notebook(sbx.sandboxID)).json
	assert.deepEqual(nb.cells, [])
	assertValid(nb)
	await killRaw(sbx, opt)
	assert.equal((await notebook('i0000000000000000000')).status, 404)
	const none = await newServer(buildDir, { notebook_mb: 0 }).start()
	try {
		const to = { base: none.url, key: none.key },
			other = await createRaw({ timeout: 60, templateID: 'code-interpreter-v1' }, to)
		await runCode(other, '1', {}, none.url)
		assert.equal((await api('GET', `/sandboxes/${other.sandboxID}/notebook`, undefined, to)).status, 404)
		assert.ok(!fs.existsSync(path.join(none.stateDir, 'front/notebooks.db')))
	} finally {
		await none.stop()
	}
})

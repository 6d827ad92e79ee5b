// SPDX-License-Identifier: Apache-2.0
// JavaScript, TypeScript and bash cells; `base` runs them all.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, envd, killRaw, shell } from '../../lib/client.mjs'
import { runCode, startCode } from '../../lib/interp.mjs'
import { until } from '../../lib/host.mjs'

let sbx
const js = (code, opt) => runCode(sbx, code, { language: 'js', ...opt })
const ts = (code) => runCode(sbx, code, { language: 'ts' })
const sh = (code, opt) => runCode(sbx, code, { language: 'bash', ...opt })

before(async () => {
	sbx = await createRaw({ templateID: 'base', timeout: 900, envVars: { GIVEN: 'g' } })
})
after(() => killRaw(sbx))

test('each language says hello and keeps a state of its own', async () => {
	const hello = {
		py: 'v = 1\nprint("hello")',
		javascript: 'let v = 2; console.log("hello")',
		TypeScript: 'let v: number = 3; console.log("hello")',
		sh: 'v=4; echo hello',
	}
	for (const [language, code] of Object.entries(hello))
		assert.deepEqual((await runCode(sbx, code, { language })).stdout, ['hello\n'], language)
	assert.equal((await runCode(sbx, 'v')).text, '1')
	assert.equal((await js('v')).text, '2')
	assert.equal((await ts('v')).text, '3')
	assert.deepEqual((await sh('echo $v')).stdout, ['4\n'])
})

test('an unknown language is named, and nothing is left running', async () => {
	const got = await runCode(sbx, '1', { language: 'cobol' })
	assert.equal(got.status, 404)
	assert.equal(got.body, 'Unsupported language: cobol')
})

test('javascript: values, errors, promises, top-level await', async () => {
	assert.equal((await js('({a: 1, b: [1, 2]})')).text, '{ a: 1, b: [ 1, 2 ] }')
	assert.equal((await js('{a: 1}')).text, '{ a: 1 }')
	assert.equal((await js('"str"')).text, 'str')
	assert.equal((await js('undefined')).results.length, 0)
	assert.equal((await js('await Promise.resolve("w")')).text, 'w')
	assert.equal((await js('new Promise((r) => setTimeout(r, 20, 7))')).text, '7')
	const bad = await js('function f() {\n  null.x\n}\nf()')
	assert.equal(bad.error.name, 'TypeError')
	assert.match(bad.error.value, /Cannot read/)
	assert.match(bad.error.traceback, /at f \(In\[\d+\]:2:8\)/)
	assert.doesNotMatch(bad.error.traceback, /opt\/atoll|node:/)
	assert.equal((await js('let z = ;')).error.name, 'SyntaxError')
	assert.equal((await js('process.exit(3)')).error.value, '3')
})

test('javascript: declarations stay, and may be made again', async () => {
	await js(
		'const c = 1; let { d, ...rest } = { d: 2, e: 3 }; class K { m() { return c } }; ' +
			'function fn() { return d }',
	)
	assert.equal((await js('[c, d, rest.e, new K().m(), fn()].join()')).text, '1,2,3,1,2')
	await js('const c = await Promise.resolve(5); class K {}; function fn() { return "new" }')
	assert.equal((await js('[c, typeof new K().m, fn()].join()')).text, '5,undefined,new')
})

test('javascript: require and import, also of what npm has put into the directory', async () => {
	assert.equal(
		(
			await js(
				'const fs = require("fs"); fs.writeFileSync("/home/user/output.json", "{}"); ' +
					'fs.existsSync("output.json")',
			)
		).text,
		'true',
	)
	assert.equal((await envd(sbx, 'GET', '/files?path=output.json')).text, '{}')
	assert.deepEqual(
		(
			await js(
				'import { readFileSync as r } from "fs"\nimport path, * as all from "node:path"\n' +
					'console.log(typeof r, typeof path.join, typeof all.sep)',
			)
		).stdout,
		['function function string\n'],
	)
	assert.equal((await js('typeof r')).text, 'function')
	await js(
		'fs.mkdirSync("/home/user/node_modules/mine", { recursive: true }); ' +
			'fs.writeFileSync("/home/user/node_modules/mine/index.js", "module.exports = { n: 42 }")',
	)
	assert.equal((await js('require("mine").n')).text, '42')
	assert.equal((await js('import { n } from "mine"; n')).text, '42')
})

test('javascript: rich display', async () => {
	const got = await js(
		'display.html("<b>x</b>"); display({ [Symbol.for("Jupyter.display")]: () => ({ "text/markdown": "# ' +
			'm" }) }); display.png(Buffer.from([1])); undefined',
	)
	assert.equal(got.results[0].html, '<b>x</b>')
	assert.equal(got.results[1].markdown, '# m')
	assert.equal(got.results[2].png, 'AQ==')
})

test('javascript: errors of callbacks do not end the process', async () => {
	assert.equal(
		(
			await js(
				'setTimeout(() => { throw new Error("late") }, 5); await new Promise((r) => ' +
					'setTimeout(r, 500))',
			)
		).error.value,
		'late',
	)
	await js(
		'Promise.reject(new Error("nobody")); setTimeout(() => { require("fs").writeFileSync("/tmp/later", ' +
			'""); throw new Error("later") }, 20); globalThis.kept = 1',
	)
	assert.ok(
		await until(async () => (await shell(sbx, 'test -e /tmp/later')).code === 0),
		'the callback is not called',
	)
	assert.equal((await js('kept')).text, '1')
})

test('typescript: types are taken away, not checked', async () => {
	assert.equal((await ts('interface A { x: number }\nenum E { P, Q }\nconst v: A = { x: E.Q }\nv.x')).text, '1')
	assert.equal((await ts('const wrong: number = "text"; wrong')).text, 'text')
	assert.equal((await ts('E.Q as number')).text, '1')
	assert.equal((await ts('let x: = 3')).error.name, 'SyntaxError')
	await ts('import { sep } from "path"')
	assert.equal((await ts('sep')).text, '/')
})

test('bash: state, here documents, stdin, exit status, exit', async () => {
	await sh('cd /tmp; f() { echo "f $1"; }; set -- a')
	assert.deepEqual((await sh('pwd; f "it\'s"; cat <<E\nhere\nE')).stdout, ["/tmp\nf it's\nhere\n"])
	const failed = await sh('ls /nonexistent')
	assert.equal(failed.error.value, '2')
	assert.match(failed.stderr.join(''), /nonexistent/)
	assert.deepEqual((await sh('cat; read x; echo "end!"')).stdout, ['end!\n'])
	const ended = await sh('exit 3')
	assert.equal(ended.error.value, '3')
	assert.deepEqual(ended.stderr, [])
	assert.deepEqual((await sh('echo again')).stdout, ['again\n'])
	assert.deepEqual((await sh('echo "$GIVEN $ONCE"', { env_vars: { ONCE: "o'1" } })).stdout, ["g o'1\n"])
	assert.deepEqual((await sh('echo "${ONCE-gone}"')).stdout, ['gone\n'])
})

test('R and Java, where the template has them', async () => {
	assert.equal((await runCode(sbx, '1', { language: 'java' })).body, 'Unsupported language: java')
	const data = await createRaw({ templateID: 'code-interpreter-v1', timeout: 300, envVars: { GIVEN: 'g' } })
	const r = (code, opt) => runCode(data, code, { language: 'R', ...opt })
	const java = (code, opt) => runCode(data, code, { language: 'java', ...opt })
	try {
		await r('x <- 5')
		assert.equal((await r('x * 2')).text, '[1] 10')
		assert.equal(
			(await r('Sys.getenv(c("GIVEN", "ONCE"), names = FALSE)', { env_vars: { ONCE: 'o' } })).text,
			'[1] "g" "o"',
		)
		assert.equal((await r('Sys.getenv("ONCE", unset = "gone")')).text, '[1] "gone"')
		assert.match((await r('plot(1:3)')).results[0].png, /^iVBORw0KGgo/)
		assert.match((await r('stop("bad")')).error.value, /bad/)
		await java('int x = 5;\nint twice(int v) {\n\treturn v * 2;\n}')
		assert.equal((await java('twice(x)')).text, '10')
		assert.deepEqual(
			(await java('System.out.println(List.of(1, 2));')).stdout,
			['[1, 2]', '\n'],
			'as E2B does',
		)
		assert.deepEqual(
			(await java('System.out.print("a\\nb\\n");')).stdout,
			['a\nb\n'],
			'C7: one piece per write',
		)
		assert.deepEqual(
			(await java('System.out.println("a"); System.out.println("ü"); System.err.print("e\\n");'))
				.stdout,
			['a', '\n', 'ü', '\n'],
			'C7',
		)
		const long = 'ö'.repeat(20000)
		assert.equal(
			(await java('System.out.print("ö".repeat(20000));')).stdout.join(''),
			long,
			'C7: no character is cut',
		)
		assert.equal(
			(
				await java('System.getProperty("GIVEN") + System.getProperty("ONCE")', {
					env_vars: { ONCE: 'o' },
				})
			).text,
			'go',
		)
		assert.equal((await java('System.getProperty("ONCE", "gone")')).text, 'gone')
		assert.equal(
			(await java('throw new IllegalStateException("bad");')).error.name,
			'IllegalStateException',
		)
		assert.equal((await java('String s = 5;')).error.name, 'CompilationError')
		assert.equal((await java('System.exit(3)')).error.name, 'UnexpectedEndOfExecution')
		assert.equal((await java('1 + 1')).text, '2')
	} finally {
		await killRaw(data)
	}
})

for (const [language, loop, then, want] of [
	['javascript', 'console.log("begun"); while (true);', '"on"', (r) => r.text === 'on'],
	['javascript', 'console.log("begun"); await new Promise(() => {})', '"on"', (r) => r.text === 'on'],
	['bash', 'x=kept; echo begun; sleep 100; x=lost', 'echo $x', (r) => r.stdout[0] === 'kept\n'],
	['bash', 'echo begun; while :; do :; done', 'echo $x', (r) => r.stdout[0] === 'kept\n'],
]) {
	test(`${language}: '${loop}' stops when its client goes, and the state stays`, async () => {
		const run = await startCode(sbx, loop, { language })
		assert.ok(await until(() => run.events.some((e) => e.type === 'stdout'), 30000), 'it has begun')
		run.close()
		const next = await runCode(sbx, then, { language })
		assert.ok(want(next), JSON.stringify(next))
	})
}

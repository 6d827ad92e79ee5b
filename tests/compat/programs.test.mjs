// SPDX-License-Identifier: Apache-2.0
// Whole programs on the official clients: data work, a command line agent, one under Deno, a squad of them in Python.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { server } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { installPackages } from '../lib/npm.mjs'
import { installPython } from '../lib/pip.mjs'
import { counts, HERE, LIMIT_MS, records, run } from './programs/run.mjs'

const INTERPRETER = { '@e2b/code-interpreter': '^2.8.0' }

function program(name, prepare, check) {
	test(name, { timeout: LIMIT_MS + 300000 }, async (t) => {
		const dir = path.join(server.buildDir, 'test-clients', name.replace(/\W+/g, '-'))
		const { why, command } = prepare(dir)
		if (why) {
			t.skip(why)
			return
		}
		const before = await counts(),
			recorded = await records()
		const got = await run(...command)
		assert.equal(got.code, 0, got.text)
		assert.match(got.text, /^done$/m)
		const after = await counts()
		// Audit and usage show each of its calls, too.
		let shown, fresh
		await until(async () => {
			// one that was broken off ends when the server has noticed
			shown = await records()
			fresh = shown.begun.filter((request) => !recorded.begun.includes(request))
			return fresh.every((request) => shown.ended.includes(request))
		})
		assert.ok(
			fresh.length >= after.code - before.code, // one that was broken off counts here only
			`${fresh.length} of ${after.code - before.code} in the audit trail`,
		)
		assert.deepEqual(
			fresh.filter((request) => !shown.ended.includes(request)),
			[],
			'each has its end',
		)
		assert.ok(
			shown.sandboxes >= recorded.sandboxes + after.started - before.started,
			'usage has its sandboxes',
		)
		await check({
			dir,
			text: got.text,
			started: after.started - before.started,
			code: after.code - before.code,
			other: after.other - before.other,
		})
	})
}

const nodeProgram = (file) => (dir) => ({
	why: installPackages(dir, INTERPRETER),
	command: [process.execPath, ['--no-warnings', path.join(HERE, file), dir]],
})

program('data work', nodeProgram('datawork.mjs'), ({ started, code }) => {
	assert.ok(started === 1 && code >= 6, `${started} ${code}`)
})

program('command line agent', nodeProgram('crucible.mjs'), ({ started, code }) => {
	assert.ok(started >= 12 && code >= 30, `${started} ${code}`)
})

program(
	'agent under deno',
	(dir) => {
		const why = installPackages(dir, { ...INTERPRETER, deno: '^2.9.0' })
		// packages are looked for beside the program
		if (!why) fs.copyFileSync(path.join(HERE, 'sparc.ts'), path.join(dir, 'sparc.ts'))
		return {
			why,
			command: [
				path.join(dir, 'node_modules/.bin/deno'),
				[
					'run',
					'--node-modules-dir=manual',
					'--no-prompt',
					'--allow-env',
					'--allow-net',
					'--allow-read',
					'--allow-sys',
					path.join(dir, 'sparc.ts'),
				],
			],
		}
	},
	({ text, started, code, other }) => {
		const lines = text
			.split('\n')
			.filter((line) => line.startsWith('LOG '))
			.map((line) => JSON.parse(line.slice(4)))
		const operations = new Set(lines.map((line) => line.operation))
		assert.deepEqual(
			operations,
			new Set([
				'createSandbox',
				'executeCode',
				'readFile',
				'writeFile',
				'listFiles',
				'installPackages',
			]),
		)
		assert.equal(lines.filter((line) => line.operation === 'createSandbox').length, started)
		assert.ok(code >= 9 && other >= 3, `${code} ${other}`)
	},
)

program(
	'squad of agents',
	(dir) => ({
		why: installPython(dir, ['e2b']),
		command: [path.join(dir, 'bin/python'), ['-B', path.join(HERE, 'squad.py')]],
	}),
	({ started, other }) => {
		assert.ok(started >= 5 && other > 100, `${started} ${other}`)
		const [, token] = /^TOKEN = "(\S+)"/m.exec(fs.readFileSync(path.join(HERE, 'squad.py'), 'utf8'))
		assert.ok(!fs.readFileSync(server.log, 'utf8').includes(token), 'the token is in no log')
	},
)

// SPDX-License-Identifier: Apache-2.0
// Code that breaks its interpreter: the caller hears of it, the next execution works, the neighbour does not notice.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRaw, endOf, envd, killRaw, outputOf, server, start, withRaw } from '../../lib/client.mjs'
import { processesOf, until } from '../../lib/host.mjs'
import { interp, runCode } from '../../lib/interp.mjs'

let sbx, neighbour
const py = (code, opt) => runCode(sbx, code, opt)

before(async () => {
	;[sbx, neighbour] = await Promise.all([
		createRaw({ templateID: 'base', timeout: 900 }),
		createRaw({ templateID: 'base', timeout: 900 }),
	])
	await runCode(neighbour, 'import time; state = 1')
})
after(() => Promise.all([killRaw(sbx), killRaw(neighbour)]))

for (const [what, code, name = 'UnexpectedEndOfExecution'] of [
	['dies by SIGKILL', 'import os; os.kill(os.getpid(), 9)'],
	['dies by SIGSEGV', 'import ctypes; ctypes.string_at(0)'],
	['leaves by os._exit', 'import os; os._exit(7)'],
	['takes more memory than there is', 'b = []\nwhile True: b.append(bytearray(64 << 20))', 'MEMORY_LIMIT'],
	['closes every file', 'import os\nfor fd in range(64):\n    try: os.close(fd)\n    except OSError: pass'],
]) {
	test(`code that ${what}`, async () => {
		await py('state = 1')
		const got = await py(code)
		assert.equal(got.status, 200)
		assert.equal(got.error.name, name)
		assert.equal(got.error.traceback, '')
		assert.equal(got.errors, 1)
		assert.equal(got.last, 'end_of_execution')
		const next = await py('print(1+1)')
		assert.deepEqual(next.stdout, ['2\n'])
		assert.equal(next.count, 1)
		assert.equal((await runCode(neighbour, 'state')).text, '1')
	})
}

for (const [what, code] of [
	['kills its parent', 'import os; os.kill(os.getppid(), 9)'],
	['closes its output', 'import os; os.close(1); os.close(2)'],
	['closes sys.stdout', 'import sys; sys.stdout.close()'],
	['forks and goes on in both', 'import os\nos.fork()\nNone'],
	['ignores interrupts', 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)'],
	['recurses for ever', 'def f(): f()\nf()'],
	['raises what has no text', 'class E(Exception):\n    def __str__(self): raise ValueError\nraise E'],
	['shows what cannot be shown', 'class R:\n    def __repr__(self): raise ValueError\nR()'],
]) {
	test(`code that ${what}`, async () => {
		const got = await py(code)
		assert.equal(got.last, 'end_of_execution')
		assert.deepEqual((await py('print(1+1)')).stdout, ['2\n'])
	})
}

test('code that replaces sys.stdout loses its own output only', async () => {
	assert.deepEqual((await py('import sys, io\nsys.stdout = io.StringIO()\nprint(1)\n2')).text, '2')
	assert.deepEqual((await py('sys.stdout = sys.__stdout__\nprint(3)')).stdout, ['3\n'])
})

test('code that forks without end is held by the limit; a restart of the context clears it away', async () => {
	const bomb = py('import os\nwhile True:\n    try: os.fork()\n    except OSError: pass')
	let over = false
	bomb.finally(() => {
		over = true
	})
	assert.ok(await until(() => over || processesOf(server.slot).length > 200, 60000), 'it does not fork')
	assert.equal((await envd(neighbour, 'GET', '/health')).status, 204)
	const [context] = (await interp(sbx, 'GET', '/contexts')).json
	assert.equal((await interp(sbx, 'POST', `/contexts/${context.id}/restart`)).text, 'null')
	// or the lack of memory was first
	assert.match((await bomb).error.name, /^(ContextRestarting|UnexpectedEndOfExecution|MEMORY_LIMIT)$/)
	assert.equal((await py('1+1')).text, '2')
})

test('code that deletes the interpreter gets a reason, and the sandbox still answers', async () => {
	await py('import shutil; shutil.rmtree("/usr/lib/python3.13", ignore_errors=True)')
	const [context] = (await interp(sbx, 'GET', '/contexts')).json
	await interp(sbx, 'POST', `/contexts/${context.id}/restart`)
	const got = await py('1')
	assert.equal(got.status, 500)
	assert.match(got.body, /The python runtime did not start: .*encodings/s)
	assert.deepEqual((await runCode(sbx, 'console.log(1)', { language: 'js' })).stdout, ['1\n'])
	assert.equal((await envd(sbx, 'GET', '/health')).status, 204)
})

// Whoever goes away while a cell runs interrupts it, and so does a pause: at any moment, also between two lines of
// the interpreter's own.
test('an interrupt hits code of the user only, and the interpreter goes on', { timeout: 300000 }, async () => {
	const code = fs.readFileSync(new URL('interrupt.py', import.meta.url)),
		octets = { headers: { 'Content-Type': 'application/octet-stream' } }
	await withRaw({ timeout: 900 }, async (own) => {
		assert.equal(
			(await envd(own, 'POST', '/files?path=/tmp/interrupt.py&username=user', code, octets)).status,
			200,
		)
		const run = await start(own, 'cd /tmp && python3 interrupt.py', { user: 'user' })
		await run.ended
		assert.equal(endOf(run.events)?.status, 'exit status 0', outputOf(run.events, 'stderr'))
		assert.match(outputOf(run.events), /^5000 cells, some interrupted, then \['result', 'done'\]$/m)
	})
})

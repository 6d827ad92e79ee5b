// SPDX-License-Identifier: Apache-2.0
// libatoll against the official SDK for JavaScript: execute 1+1 in the same sandbox, in turns; and what many calls
// leave allocated.
import path from 'node:path'
import readline from 'node:readline'
import { spawn } from 'node:child_process'
import { sdk } from '../tests/lib/client.mjs'
import { stats, timed } from './measure.mjs'

export const CONFIG = { log_level: 'warn' }
const ROUND = 50

export async function client(server, quick) {
	Object.assign(process.env, server.env())
	const { Sandbox } = sdk('@e2b/code-interpreter')
	const sbx = await Sandbox.create({ timeoutMs: 3600000 })
	const child = spawn(path.join(server.buildDir, 'tests/client/sdk-bench'), [sbx.sandboxId], {
		stdio: ['pipe', 'pipe', 'inherit'],
	})
	const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]()
	const ask = async (what) => {
		child.stdin.write(`${what}\n`)
		const got = await lines.next()
		if (got.done) throw new Error('sdk-bench ended')
		return got.value.trim().split(' ').map(Number)
	}
	const js = [],
		c = []
	try {
		for (let round = 0; round < (quick ? 6 : 20); round++) {
			const times = (await ask(ROUND)).map((us) => us / 1000)
			const own = []
			for (let i = 0; i < ROUND; i++) own.push(await timed(() => sbx.runCode('1+1')))
			if (round > 0) {
				// the first warms both up
				c.push(...times)
				js.push(...own)
			}
		}
		const calls = quick ? 5000 : 100000
		const [rss, heap] = await ask(`grow ${calls}`)
		return { c: stats(c), js: stats(js), calls, rss, heap }
	} finally {
		child.stdin.end()
		await sbx.kill()
	}
}

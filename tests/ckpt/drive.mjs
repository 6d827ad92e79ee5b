// SPDX-License-Identifier: Apache-2.0
// The engine alone with one sandbox (drive.c), and plain HTTP to the init of that sandbox.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import assert from 'node:assert/strict'
import readline from 'node:readline'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'
import { leftovers, until } from '../lib/host.mjs'

const BUILD = fileURLToPath(new URL('../../templates/build', import.meta.url))
const CACHE = process.env.ATOLL_CACHE || '/var/cache/atoll'

// The key of a recipe that is built, or why there is none.
export function built(name) {
	const run = spawnSync(BUILD, ['--cache', CACHE, name], { encoding: 'utf8' })
	return run.status === 0 ? { key: run.stdout.trim() } : { why: run.stderr.trim().split('\n').at(-1) }
}

// How many init, of that pid, has accepted and not closed: they have the name of its listener.
function connectionsOf(pid) {
	const [, ...lines] = fs.readFileSync(`/proc/${pid}/net/unix`, 'utf8').split('\n')
	const own = lines
		.map((line) => line.split(/\s+/))
		.filter((field) => field[7] === '@atoll-init')
		.map((field) => field[5])
	assert.ok(own.includes('01'), 'init does not listen')
	return own.filter((state) => state === '03').length
}

export class Drive {
	async open(template, tools) {
		this.base = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-ckpt-'))
		const dirs = ['state', 'run'].map((name) => path.join(this.base, name))
		dirs.forEach((dir) => fs.mkdirSync(dir))
		const program = path.join(server.buildDir, 'tests/ckpt/ckpt-drive')
		this.child = spawn(
			program,
			[
				'--template',
				template,
				'--tools',
				tools,
				'--cache',
				CACHE,
				'--state',
				dirs[0],
				'--run',
				dirs[1],
				'--init',
				path.join(server.buildDir, 'src/init/atoll-init'),
			],
			{ stdio: ['pipe', 'pipe', 'inherit'] },
		)
		this.ended = new Promise((done) => this.child.once('exit', done))
		this.lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]()
		const { port, instance } = await this.answer()
		this.slot = Number(instance)
		server.url = `http://127.0.0.1:${port}` // where the helpers of ../lib send their requests from now on
		return this
	}

	async answer() {
		const { value: line } = await this.lines.next()
		if (!line?.startsWith('ok ')) throw new Error(line ?? 'the engine ended')
		return Object.fromEntries(
			line
				.slice(3)
				.split(' ')
				.map((word) => word.split('=')),
		)
	}

	do(command) {
		this.child.stdin.write(`${command}\n`)
		return this.answer()
	}

	// Connections of others to init cannot be kept; it takes init a moment to see that they are gone.
	async freeze() {
		const { pid } = await this.do('drop')
		assert.ok(
			await until(() => connectionsOf(pid) === 0, 30000, 10),
			'init holds on to connections of ours',
		)
		return this.do('freeze')
	}

	// Ends all and returns what was left behind.
	async close() {
		this.child.stdin.end('quit\n')
		await this.ended
		let left
		await until(
			() => {
				left = leftovers(
					this.slot,
					path.join(this.base, 'state'),
					path.join(this.base, 'run'),
					this.child.pid,
				)
				return Object.values(left).every((n) => n === 0)
			},
			60000,
			250,
		)
		fs.rmSync(this.base, { recursive: true, force: true })
		return left
	}
}

// SPDX-License-Identifier: Apache-2.0
// One sandbox, and what it has promised to keep: numbered records, each acknowledged, one half in files and the other
// in a variable of its interpreter.
//
// The variable's first item is a mark made with it: another mark means that the memory was lost. That is allowed only
// after its memory was given up on purpose.
import { randomBytes } from 'node:crypto'
import { envd, outputOf, start } from '../lib/client.mjs'
import { sleep } from '../lib/host.mjs'
import { runCode } from '../lib/interp.mjs'

const PATIENCE_MS = 60000
const TRIES = 20 // at least: a machine that stood still for a minute is no proof
const WRITE_MS = 15

function limit(ms, promise) {
	let timer
	const late = new Promise((_, fail) => {
		timer = setTimeout(fail, ms, new Error(`no answer within ${ms} ms`))
	})
	return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

export class Lost extends Error {}

export class Player {
	constructor(world, sbx, from) {
		this.world = world
		this.sbx = sbx
		this.id = sbx.sandboxID
		this.files = new Set(from?.files)
		this.vars = new Set(from?.vars)
		this.mark = from?.mark ?? null
		// its memory was given up, or perhaps: the mark may be another one
		this.mayForget = from?.mayForget ?? false
		this.next = from?.next ?? 1
		this.acked = 0
		this.writing = null
	}

	// What a copy made now has to have, at least.
	promise() {
		return {
			files: [...this.files],
			vars: [...this.vars],
			mark: this.mark,
			mayForget: this.mayForget,
			next: this.next,
		}
	}

	// --- writing ---

	async writeFile(n) {
		const res = await envd(this.sbx, 'POST', `/files?path=/home/user/r/${n}&username=user`, `${n}\n`, {
			base: this.world.server.url,
			timeout: 20000,
			headers: { 'Content-Type': 'application/octet-stream' },
		})
		return res.status === 200
	}

	run(code) {
		return limit(20000, runCode(this.sbx, code, {}, this.world.server.url))
	}

	// Of the mark the answer tells, since the memory may have become another between two of them.
	async writeVar(n) {
		const fresh = randomBytes(6).toString('hex')
		const mark = this.mark
		const res = await this.run(`rec = globals().get("rec", ["${fresh}"]); rec.append(${n}); rec[0]`)
		if (res.status !== 200 || res.error || res.last !== 'end_of_execution' || !res.text) return false
		this.see(res.text, mark)
		return true
	}

	see(text, before) {
		if (text === this.mark) return
		if (this.mark && this.mark !== before) return // an answer from before, which came late
		if (this.mark && !this.mayForget && this.vars.size)
			throw new Lost(`${this.id}: the memory is another one: ${this.vars.size} records`)
		this.mark = text
		this.mayForget = false
		this.vars.clear()
	}

	async writeOne() {
		const n = this.next++
		const good = n % 2 ? await this.writeFile(n) : await this.writeVar(n)
		if (!good) return
		this.acked++
		;(n % 2 ? this.files : this.vars).add(n)
	}

	begin() {
		this.stopped = false
		this.writing = (async () => {
			while (!this.stopped) {
				await this.writeOne().catch((err) => {
					if (err instanceof Lost) this.broken = err
				})
				await sleep(WRITE_MS) // records come at this pace
			}
		})()
	}

	async end() {
		this.stopped = true
		await this.writing
	}

	// --- reading ---

	async readFiles() {
		const run = await limit(
			20000,
			start(this.sbx, 'cd /home/user/r 2>/dev/null && find . -type f | xargs -r cat', {
				base: this.world.server.url,
				user: 'user',
			}),
		)
		const how = await limit(20000, run.ended)
		if (how.how !== 'end' || !run.events.some((e) => e.event?.end))
			throw new Error('the list of files is incomplete')
		return new Set(outputOf(run.events).split('\n').filter(Boolean).map(Number))
	}

	async readVars() {
		const res = await this.run('print(*globals().get("rec", []))')
		if (res.status !== 200 || res.error || res.last !== 'end_of_execution')
			throw new Error(
				`the variable cannot be read: ${res.status} ` +
					JSON.stringify(res.error ?? res.body.slice(0, 200)),
			)
		const [mark, ...numbers] = res.stdout.join('').trim().split(' ')
		return { mark, numbers: new Set(numbers.map(Number)) }
	}

	// Wakes it and compares: how many records are gone. The writer stands still meanwhile.
	async check() {
		await this.end()
		if (this.broken) throw this.broken
		const end = Date.now() + PATIENCE_MS
		for (let tries = 1; ; tries++) {
			try {
				await this.awake()
				return await this.compare()
			} catch (err) {
				if (err instanceof Lost || (tries > TRIES && Date.now() > end))
					throw err instanceof Lost ? err : new Lost(`${this.id}: ${err.message}`)
				await sleep(100) // a daemon is down: the next try finds out whether it is back
			}
		}
	}

	async awake() {
		const res = await this.world.call('POST', `/sandboxes/${this.id}/connect`, { timeout: 86400 })
		if (res.status === 404) throw new Lost(`${this.id} is gone`)
		if (res.status !== 200 && res.status !== 201) throw new Error(`connect: ${res.status} ${res.text}`)
	}

	async compare() {
		const files = await this.readFiles()
		const { mark, numbers } = await this.readVars()
		if (mark !== this.mark) this.see(mark || null, this.mark)
		const gone = [...this.files].filter((n) => !files.has(n)),
			forgotten = [...this.vars].filter((n) => !numbers.has(n))
		if (gone.length || forgotten.length)
			throw new Lost(
				`${this.id}: ${gone.length} files (${gone.slice(0, 5)}) and ${forgotten.length} ` +
					`variables (${forgotten.slice(0, 5)}) are gone`,
			)
		this.mayForget = false
	}
}

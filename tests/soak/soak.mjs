// SPDX-License-Identifier: Apache-2.0
// The soak: users create, use, pause, keep and kill sandboxes for a long time, with many alive. Afterwards almost
// nothing may have failed, no program may have grown, and everything must be back at its first count. Each bound that
// is missed is printed, and the exit status is 1.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Acts } from './acts.mjs'
import { SoakWorld } from './world.mjs'
import { random } from '../torture/world.mjs'
import { sleep, until } from '../lib/host.mjs'
import { thin } from '../lib/thin.mjs'

const ACTS = {
	code: 30,
	command: 20,
	files: 16,
	look: 10,
	watch: 8,
	plot: 6,
	replace: 10,
	pause: 8,
	expire: 2,
	snapshot: 2,
}
const NEED_PYTHON = ['code', 'plot']
const FAILURES_MAX = 0.001
const GROWTH_MAX = 0.1
const GROWTH_SPARE = 2 ** 20 // bytes: a tenth of a small program is less than what it allocates for one request
const WARM_UP_S = 600 // what is cached, is cached then
const SAMPLES = 240 // of the memory, evenly over the time
const USAGE =
	'tests/soak/run [--duration SECONDS] [--sandboxes N] [--users N] [--rate ACTS_PER_SECOND] [--seed N] ' +
	'[--build-dir DIR] [--keep] [--verbose]'

function options(argv) {
	const opt = {
		duration: 3600,
		sandboxes: 200,
		users: 8,
		rate: 10,
		seed: Math.floor(Math.random() * 2 ** 31),
		keep: false,
		verbose: false,
		buildDir: path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../build'),
	}
	for (let i = 0; i < argv.length; i++) {
		const name = argv[i].replace(/^--/, '')
		if (['duration', 'sandboxes', 'users', 'rate', 'seed'].includes(name) && argv[i + 1] > 0)
			opt[name] = Number(argv[++i])
		else if (argv[i] === '--build-dir' && argv[i + 1]) opt.buildDir = path.resolve(argv[++i])
		else if (['keep', 'verbose'].includes(name)) opt[name] = true
		else throw new Error(`unknown option, or not a number: '${argv[i]}'\nusage: ${USAGE}`)
	}
	return opt
}

const mb = (bytes) => (bytes / 2 ** 20).toFixed(1)
const middle = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]

class Soak {
	constructor(opt) {
		this.opt = opt
		this.rnd = random(opt.seed)
		this.world = new SoakWorld(opt.buildDir, opt.sandboxes)
		this.acts = new Acts(this.world.server, this.rnd)
		this.done = {} // name: times in ms
		this.failures = []
		this.making = 0
		this.samples = [] // { at: seconds, memory, alive }
	}

	say(text) {
		console.log(`${String(Math.round(this.seconds())).padStart(5)} s  ${text}`)
	}

	seconds() {
		return (performance.now() - this.began) / 1000
	}

	async attempt(name, box) {
		const began = performance.now()
		try {
			await this.acts[name](box)
		} catch (err) {
			this.failures.push(`${name}${box ? ` of ${box.id}` : ''}: ${err.message}`)
			this.say(`FAILED ${this.failures.at(-1)}`)
			if (box)
				// what it knows is uncertain now
				await this.acts.kill(box).catch(() => {})
		}
		;(this.done[name] ??= []).push(performance.now() - began)
	}

	free(name) {
		return [...this.acts.boxes].filter((box) => !box.busy && (box.python || !NEED_PYTHON.includes(name)))
	}

	async actOnce() {
		if (this.acts.boxes.size + this.making < this.opt.sandboxes) {
			this.making++
			await this.attempt('create')
			this.making--
			return
		}
		const name = this.rnd.weighted(ACTS),
			box = this.rnd.pick(this.free(name))
		if (!box) return
		box.busy = true
		await this.attempt(name, name === 'expire' ? undefined : box)
		box.busy = false
	}

	// While the first sandboxes are made there is no pause between two acts.
	async user() {
		while (this.seconds() < this.opt.duration && !this.stopped) {
			const began = performance.now(),
				growing = this.acts.boxes.size < this.opt.sandboxes
			await this.actOnce()
			const pause = ((this.opt.users * 1000) / this.opt.rate) * (0.5 + this.rnd.below(1000) / 1000)
			const spare = pause - (performance.now() - began)
			if (!growing && spare > 0) await sleep(spare) // so much use per second, and no more
		}
	}

	async observe() {
		const step = this.opt.duration / SAMPLES
		for (let n = 1; this.seconds() < this.opt.duration && !this.stopped; n++) {
			const at = Math.min(n * step, this.opt.duration)
			await until(() => this.stopped || this.seconds() >= at, this.opt.duration * 1000, 200)
			this.samples.push({
				at: this.seconds(),
				memory: this.world.memory(),
				alive: this.acts.boxes.size,
			})
			if (n % 20 === 0 || this.opt.verbose) this.say(this.progress())
		}
	}

	total() {
		return Object.values(this.done).reduce((sum, list) => sum + list.length, 0)
	}

	progress() {
		const { memory, alive } = this.samples.at(-1)
		const parts = Object.entries(memory).map(([name, bytes]) => `${name} ${mb(bytes)}`)
		return `${this.total()} acts, ${this.failures.length} failed, ${alive} alive; MB: ${parts.join(', ')}`
	}

	// --- the bounds: each returns what it missed ---

	failed() {
		const share = this.failures.length / Math.max(1, this.total())
		const what = `failures: ${this.failures.length} of ${this.total()} acts, ${(100 * share).toFixed(2)} %`
		return share < FAILURES_MAX ? [] : [`${what}, must be < ${100 * FAILURES_MAX} %`]
	}

	// The middle of the first third after the warm-up against that of the last one.
	grown() {
		const missed = [],
			warm = Math.min(WARM_UP_S, this.opt.duration / 2)
		const later = this.samples.filter((s) => s.at >= warm)
		const third = Math.max(1, Math.floor(later.length / 3))
		for (const name of Object.keys(later.at(-1)?.memory ?? {})) {
			const of = (list) => middle(list.map((s) => s.memory[name] ?? 0))
			const first = of(later.slice(0, third)),
				last = of(later.slice(-third))
			const limit = Math.max(first * (1 + GROWTH_MAX), first + GROWTH_SPARE)
			const text =
				`${mb(first)} MB after ${Math.round(warm)} s, ${mb(last)} MB at the end, at ` +
				`most ${mb(limit)}`
			console.log(`  ${name.padEnd(14)} ${text}`)
			if (last > limit) missed.push(`memory of ${name}: ${text}`)
		}
		return missed
	}

	async left() {
		const more = await this.world.leaks(120000)
		const now = this.world.counts()
		console.log(
			`  ${Object.entries(now)
				.map(([key, n]) => `${key} ${n} (${this.world.base[key]})`)
				.join(', ')}`,
		)
		return Object.entries(more).map(([key, change]) => `${key} are not back at the first count: ${change}`)
	}

	async warmUp() {
		await this.acts.create('code-interpreter-v1')
		await this.acts.create('base')
		const [box, other] = this.acts.boxes
		for (const name of Object.keys(ACTS))
			// what is opened or made when it is first needed, is there then
			await this.acts[name](name === 'replace' ? other : box)
		// through a pipe, of which the front keeps one; smaller ones are copied
		await this.acts.files(box, 1 << 20)
		const failed = await this.acts.end()
		if (failed.length) throw new Error(failed.join('; '))
		await this.world.baseline()
	}

	report() {
		console.log('acts:')
		for (const [name, list] of Object.entries(this.done)) {
			const sorted = [...list].sort((a, b) => a - b)
			const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))].toFixed(0)
			const times = `p50 ${at(0.5)} ms  p99 ${at(0.99)} ms  max ${at(1)} ms`
			console.log(`  ${name.padEnd(10)} ${String(list.length).padStart(7)}   ${times}`)
		}
	}

	async use() {
		await this.warmUp()
		this.began = performance.now()
		await Promise.all([this.observe(), ...Array.from({ length: this.opt.users }, () => this.user())])
		this.report()
		const missed = this.failed()
		console.log('memory:')
		missed.push(...this.grown())
		missed.push(...(await this.acts.end()))
		console.log('counts, and at the beginning:')
		missed.push(...(await this.left()))
		const check = this.world.sql('PRAGMA integrity_check')
		if (check !== 'ok') missed.push(`the database: ${check}`)
		return missed
	}

	async run() {
		for (const name of ['SIGINT', 'SIGTERM'])
			process.once(name, () => {
				this.stopped = true
			})
		this.began = performance.now()
		const missed = []
		try {
			await this.world.begin()
			const { seed, sandboxes, users, duration } = this.opt
			console.log(
				`soak: seed ${seed}, ${sandboxes} sandboxes, ${users} users, ${duration} s, ` +
					`log ${this.world.server.log}`,
			)
			missed.push(...(await this.use()))
		} catch (err) {
			missed.push(`it broke off: ${err.stack}`)
		}
		if (this.stopped) missed.push('it was stopped before its time')
		const end = await this.world.end(this.opt.keep || missed.length > 0)
		if (!this.opt.keep) thin(this.world.server.base)
		if (!end.clean || end.how !== 0)
			missed.push(`the server ended with ${end.how} and left ${JSON.stringify(end.left)}`)
		return { missed, acts: this.total(), failures: this.failures.length }
	}
}

export async function soak(argv) {
	const opt = options(argv)
	const { missed, acts, failures } = await new Soak(opt).run()
	for (const one of missed) console.log(`MISSED ${one}`)
	console.log(
		`soak: seed ${opt.seed}, ${opt.duration} s, ${opt.sandboxes} sandboxes, ${acts} acts, ` +
			`${failures} failed, ${missed.length} bounds missed`,
	)
	return missed.length
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = (await soak(process.argv.slice(2))) ? 1 : 0

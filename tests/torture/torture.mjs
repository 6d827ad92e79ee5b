// SPDX-License-Identifier: Apache-2.0
// Torture: clients write numbered records and get acknowledgements, while sandboxes are paused, resumed, kept, forked
// and booted, the daemons are killed, and the disk is full, at random points. Afterwards every acknowledged record must
// be there, and nothing else.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Acts } from './acts.mjs'
import { Lost } from './player.mjs'
import { Stores } from './stores.mjs'
import { World, random } from './world.mjs'
import { shell } from '../lib/client.mjs'
import { sleep, until } from '../lib/host.mjs'

const PLAYERS = 2
const PLAYERS_MAX = 4
const SNAPSHOTS_MAX = 3
const ROUND = 25 // cycles, after which everything is counted
const HIT_MS = 400
const ROOM = 2 ** 30 // in the pool, for what is to be kept

const ACTS = {
	pause: 20,
	pauseToDisk: 12,
	pauseCold: 6,
	bootCold: 6,
	expire: 4,
	fork: 12,
	snapshot: 12,
	fromSnapshot: 12,
	dropSnapshot: 4,
	replace: 6,
	killWhilePausing: 4,
	overReboot: 3,
}
const LONG = { volume: 10, dropVolume: 4, outAndIn: 5 } // beside those, with --long
const FAULTS = { none: 40, front: 18, warden: 14, both: 10, full: 10, poolFull: 4 }

function options(argv) {
	const opt = {
		cycles: 1000,
		seed: Math.floor(Math.random() * 2 ** 31),
		keep: false,
		long: false,
		verbose: false,
		buildDir: path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../build'),
	}
	for (let i = 0; i < argv.length; i++) {
		if (argv[i] === '--cycles' || argv[i] === '--seed') opt[argv[i].slice(2)] = Number(argv[++i])
		else if (argv[i] === '--build-dir') opt.buildDir = path.resolve(argv[++i] ?? '')
		else if (['--keep', '--long', '--verbose'].includes(argv[i])) opt[argv[i].slice(2)] = true
		else
			throw new Error(
				`unknown option '${argv[i]}'\nusage: tests/torture/run [--cycles N] [--seed N] ` +
					`[--build-dir DIR] [--long] [--keep] [--verbose]`,
			)
	}
	if (!(opt.cycles > 0) || !Number.isInteger(opt.seed)) throw new Error('--cycles and --seed want numbers')
	return opt
}

class Torture {
	constructor(opt) {
		this.opt = opt
		this.rnd = random(opt.seed)
		this.world = new World(opt.buildDir)
		this.notes = []
		this.acts = new Acts(this.world, this.rnd, (text) => this.notes.push(text))
		this.stores = new Stores(this.world, this.acts, (text) => this.notes.push(text))
		this.sum = { cycles: 0, acknowledged: 0, lost: 0, leaked: 0, failed: 0 }
		this.faults = {}
	}

	say(text) {
		console.log(`cycle ${this.sum.cycles}: ${text}`)
	}

	lose(err, player) {
		this.sum.lost += Math.max(1, player ? player.files.size + player.vars.size : 1)
		this.say(`LOST ${err.message}`)
	}

	// --- faults ---

	async strike(fault) {
		await sleep(this.hits.below(HIT_MS)) // at one moment of the acts or another
		if (fault === 'full') {
			this.world.fill()
			await sleep(100 + this.hits.below(HIT_MS)) // full for as long
		} else if (fault === 'poolFull') {
			await this.hog()
		} else if (fault !== 'none') {
			this.world.kill(fault)
		}
	}

	// Two sandboxes take all that their quotas and the pool have, and give it back.
	async hog() {
		const made = await Promise.all(
			[1, 2].map(() =>
				this.world.call('POST', '/v2/sandboxes', { templateID: 'base', timeout: 600 }),
			),
		)
		const hogs = made.filter((res) => res.status === 201).map((res) => res.json)
		const all = (command) =>
			Promise.all(hogs.map((hog) => shell(hog, command, { base: this.world.server.url })))
		await all('for m in 1500 400 100 50 20 5; do fallocate -l ${m}M /tmp/hog$m; done')
		await sleep(100 + this.hits.below(HIT_MS)) // full for as long
		await all('rm /tmp/hog*; sync')
		await Promise.all(hogs.map((hog) => this.world.call('DELETE', `/sandboxes/${hog.sandboxID}`)))
		await until(() => this.world.poolFree() > ROOM, 60000, 200)
	}

	// --- one cycle ---

	choose() {
		const { players, snapshots } = this.acts
		for (;;) {
			const act = this.rnd.weighted(this.opt.long ? { ...ACTS, ...LONG } : ACTS)
			if (act === 'fork' && players.size >= PLAYERS_MAX) continue
			if (['fromSnapshot', 'dropSnapshot', 'outAndIn'].includes(act) && snapshots.length === 0)
				continue
			if (act === 'fromSnapshot' && players.size >= PLAYERS_MAX) continue
			return act === 'snapshot' && snapshots.length >= SNAPSHOTS_MAX ? 'dropSnapshot' : act
		}
	}

	async cycle() {
		const { acts, rnd, world } = this
		// of their own: what is chosen next does not depend on who is faster
		acts.rnd = random(rnd.below(2 ** 31))
		this.hits = random(rnd.below(2 ** 31))
		const act = this.choose(),
			fault = act === 'overReboot' ? 'none' : rnd.weighted(FAULTS)
		const player = rnd.pick([...acts.players])
		this.notes.length = 0
		acts.count(act)
		this.faults[fault] = (this.faults[fault] ?? 0) + 1
		if (this.opt.verbose) this.say(`${act} of ${player.id} with ${fault}`)
		if (act === 'replace' || act === 'killWhilePausing') await this.verify(player)
		let touched = []
		const acting = (act in LONG ? this.stores[act]() : acts[act](player)).then((more) => {
			touched = more ?? []
		})
		await Promise.all([acting.catch((err) => this.hurt(err, player)), this.strike(fault)])
		await world.heal()
		if (fault === 'none' && this.notes.length) {
			this.sum.failed++
			this.say(`FAILED ${act} without a fault: ${this.notes.join('; ')}`)
		}
		await this.reconcile(fault !== 'none')
		for (const one of new Set([player, ...touched])) await this.verify(one)
		await this.thin()
		this.sum.cycles++
	}

	hurt(err, player) {
		if (err instanceof Lost) this.lose(err, player)
		else this.notes.push(err.message)
	}

	async verify(player) {
		if (!this.acts.players.has(player)) return
		try {
			await player.check()
			player.begin()
		} catch (err) {
			this.hurt(err, player)
			if (!(err instanceof Lost)) throw err
			this.acts.players.delete(player)
			this.sum.acknowledged += player.acked
			await this.world.call('DELETE', `/sandboxes/${player.id}`)
		}
	}

	// What came of acts that were never answered: known to the server only. What the server does not know any
	// more is lost.
	async reconcile(faulty) {
		const { acts, world } = this
		const ids = new Set([...acts.players].map((player) => player.id))
		const list = (await world.call('GET', '/v2/sandboxes?limit=100')).json
		for (const one of list.filter((s) => !ids.has(s.sandboxID))) {
			if (!faulty) this.notes.push(`${one.sandboxID} is nobody's`)
			await world.call('DELETE', `/sandboxes/${one.sandboxID}`)
		}
		for (const what of await this.stores.check()) this.lose(new Error(what))
		const kept = new Set(acts.snapshots.map((s) => s.id)),
			known = (await world.call('GET', '/snapshots')).json.map((s) => s.snapshotID)
		for (const id of known.filter((name) => !kept.has(name)))
			await world.call('DELETE', `/templates/${encodeURIComponent(id)}`)
		for (const one of acts.snapshots.filter((s) => !known.includes(s.id))) {
			this.lose(new Error(`snapshot ${one.id} is gone`))
			acts.snapshots.splice(acts.snapshots.indexOf(one), 1)
		}
	}

	async thin() {
		const { acts } = this
		while (acts.players.size > PLAYERS) {
			const one = [...acts.players].at(-1)
			await this.verify(one)
			this.sum.acknowledged += one.acked
			if (acts.players.has(one)) await acts.kill(one)
		}
		while (acts.players.size < PLAYERS && !(await acts.create())) await sleep(200) // between tries
	}

	// --- everything ---

	async clear() {
		const { acts, world } = this
		for (const one of [...acts.players]) {
			await this.verify(one)
			if (!acts.players.has(one)) continue
			this.sum.acknowledged += one.acked
			await acts.kill(one)
		}
		while (acts.snapshots.length) {
			const copies = await acts.fromSnapshot()
			for (const one of copies) {
				await this.verify(one)
				if (acts.players.has(one)) await acts.kill(one)
			}
			await acts.dropSnapshot()
		}
		await this.stores.clear()
		const more = await world.leaks()
		if (Object.keys(more).length) {
			this.sum.leaked += Object.keys(more).length
			this.say(`LEAKED ${JSON.stringify(more)} ${world.strays().join(' ')}`)
			world.base = { ...world.base, ...world.counts() } // told once
		}
		const check = world.sql('PRAGMA integrity_check')
		if (check !== 'ok') {
			this.sum.lost++
			this.say(`LOST the store: ${check}`)
		}
	}

	async warmUp() {
		const first = await this.acts.create()
		await first.check()
		await this.acts.kill(first)
		await this.world.baseline()
		this.notes.length = 0
	}

	async run() {
		const began = Date.now()
		await this.world.begin()
		console.log(`torture: seed ${this.opt.seed}, ${this.opt.cycles} cycles, log ${this.world.server.log}`)
		for (const name of ['SIGINT', 'SIGTERM'])
			process.once(name, () => {
				this.opt.cycles = 0
			}) // after this cycle
		let end
		try {
			await this.warmUp()
			while (this.sum.cycles < this.opt.cycles) {
				await this.thin()
				for (let i = 0; i < ROUND && this.sum.cycles < this.opt.cycles; i++) await this.cycle()
				await this.clear()
				this.say(
					`${Math.round((Date.now() - began) / 1000)} s, ${this.sum.acknowledged} ` +
						`acknowledged, ${this.sum.lost} lost, ` +
						`${this.sum.leaked} leaked, ${this.sum.failed} failed`,
				)
			}
		} finally {
			for (const one of this.acts.players) one.stopped = true
			this.world.drain()
			end = await this.world.end(this.opt.keep || this.sum.lost || this.sum.leaked || this.sum.failed)
		}
		if (!end.clean) {
			this.sum.leaked++
			console.log(`LEAKED after the end: ${JSON.stringify(end.left)}`)
		}
		return {
			...this.sum,
			acts: this.acts.done,
			faults: this.faults,
			starts: this.world.starts,
			seconds: Math.round((Date.now() - began) / 1000),
		}
	}
}

export async function torture(argv) {
	const opt = options(argv)
	const sum = await new Torture(opt).run()
	const list = (table) =>
		Object.entries(table)
			.map(([key, n]) => `${key} ${n}`)
			.join(', ')
	console.log(
		`acts: ${list(sum.acts)}\n` +
			`faults: ${list(sum.faults)}; the server was started again ${sum.starts} times`,
	)
	console.log(
		`torture: seed ${opt.seed}, ${sum.cycles} cycles, ${sum.acknowledged} acknowledged records, ` +
			`${sum.lost} lost, ${sum.leaked} leaked, ${sum.failed} failed, ${sum.seconds} s`,
	)
	return sum
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const sum = await torture(process.argv.slice(2))
	process.exitCode = sum.lost || sum.leaked || sum.failed ? 1 : 0
}

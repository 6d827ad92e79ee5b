// SPDX-License-Identifier: Apache-2.0
// What a client does to sandboxes. Each act may be hit by a fault at any moment: then an error is an answer as good as
// any, but what was promised before it still holds. Without a fault every act has to work.
import { Player } from './player.mjs'
import { sleep, until } from '../lib/host.mjs'

const good = { pause: [204, 409], connect: [200, 201], fork: [201], snapshots: [201] }

export class Acts {
	constructor(world, rnd, note) {
		this.world = world
		this.rnd = rnd
		this.note = note // of an act that did not work: why
		this.players = new Set()
		this.snapshots = [] // { id, promise }
		this.done = {}
	}

	count(what) {
		this.done[what] = (this.done[what] ?? 0) + 1
	}

	// null: no answer, or not a good one.
	async ask(player, what, body = {}) {
		const res = await this.world
			.call('POST', `/sandboxes/${player.id}/${what}`, body)
			.catch((err) => ({ status: 0, text: err.message }))
		if (good[what].includes(res.status)) return res
		this.note(`${what}: ${res.status} ${res.text}`)
		return null
	}

	async create(templateID = 'code-interpreter-v1', promise) {
		const body = {
			templateID,
			timeout: 86400,
			autoPause: true,
			...(this.rnd.below(2) && { autoResume: { enabled: true } }),
		}
		const res = await this.world
			.call('POST', '/v2/sandboxes', body)
			.catch((err) => ({ status: 0, text: err.message }))
		if (res.status !== 201) {
			this.note(`create: ${res.status} ${res.text}`)
			return null
		}
		return this.adopt(new Player(this.world, res.json, promise))
	}

	adopt(player) {
		this.players.add(player)
		player.begin()
		return player
	}

	async kill(player) {
		this.players.delete(player)
		await player.end()
		const res = await this.world
			.call('DELETE', `/sandboxes/${player.id}`)
			.catch((err) => ({ status: 0, text: err.message }))
		if (res.status !== 204) this.note(`kill: ${res.status} ${res.text}`)
	}

	info(player) {
		return this.world.call('GET', `/sandboxes/${player.id}`).then(
			(res) => res.json ?? {},
			() => ({}),
		)
	}

	// --- the acts ---

	async pause(player) {
		// paused for a while or for a moment
		if (await this.ask(player, 'pause', {})) await sleep(this.rnd.below(300))
		await this.ask(player, 'connect', { timeout: 86400 })
	}

	async pauseToDisk(player) {
		if (!(await this.ask(player, 'pause', {}))) return
		await until(
			async () => ['ram+disk', undefined].includes((await this.info(player)).pausedMemory),
			3000,
			50,
		)
		await this.ask(player, 'connect', { timeout: 86400 })
	}

	async pauseCold(player) {
		player.mayForget = true
		await this.ask(player, 'pause', { memory: false })
		await this.ask(player, 'connect', { timeout: 86400 })
	}

	async bootCold(player) {
		if (!(await this.ask(player, 'pause', {}))) return
		player.mayForget = true
		await this.ask(player, 'connect', { timeout: 86400, memory: false })
	}

	async expire(player) {
		const res = await this.world
			.call('POST', `/sandboxes/${player.id}/timeout`, { timeout: 1 })
			.catch((err) => ({ status: 0, text: err.message }))
		if (res.status !== 204) this.note(`timeout: ${res.status} ${res.text}`)
		await sleep(1000 + this.rnd.below(500)) // its timeout passes, and meets the connect or not
		await this.ask(player, 'connect', { timeout: 86400 })
	}

	async fork(player) {
		const promise = player.promise()
		const res = await this.ask(player, 'fork', { count: 1 + this.rnd.below(3), timeout: 86400 })
		const copies = []
		for (const one of res?.json ?? []) {
			if (one.sandbox) copies.push(this.adopt(new Player(this.world, one.sandbox, promise)))
			else this.note(`fork: ${JSON.stringify(one.error)}`)
		}
		return copies
	}

	async snapshot(player) {
		const promise = player.promise()
		const res = await this.ask(player, 'snapshots', {})
		if (res)
			this.snapshots.push({
				id: res.json.snapshotID,
				promise: res.json.memory ? promise : { ...promise, vars: [], mark: null },
			})
	}

	// From one of those made before, however long ago.
	async fromSnapshot() {
		const one = this.rnd.pick(this.snapshots)
		const copy = one && (await this.create(one.id, one.promise))
		return copy ? [copy] : []
	}

	async dropSnapshot() {
		const one = this.snapshots.splice(this.rnd.below(this.snapshots.length), 1)[0]
		const res =
			one &&
			(await this.world
				.call('DELETE', `/templates/${encodeURIComponent(one.id)}`)
				.catch((err) => ({ status: 0, text: err.message })))
		if (res && res.status !== 204) this.note(`drop: ${res.status} ${res.text}`)
	}

	// Both end it, so what it has kept is looked at before.
	async replace(player) {
		await this.kill(player)
		const made = await this.create()
		return made ? [made] : []
	}

	async killWhilePausing(player) {
		const pausing = this.world.call('POST', `/sandboxes/${player.id}/pause`, {}).catch(() => null)
		await sleep(this.rnd.below(60)) // at one moment of the pause or another
		await this.kill(player)
		await pausing
		const made = await this.create()
		return made ? [made] : []
	}

	// All to disk, the server down and up again, all back.
	async overReboot() {
		const all = [...this.players]
		await Promise.all(all.map((player) => player.end()))
		for (const player of all) {
			await player.awake()
			await this.ask(player, 'pause', {})
		}
		for (const player of all) {
			const safe = await until(
				async () => (await this.info(player)).pausedMemory === 'ram+disk',
				60000,
				50,
			)
			if (!safe)
				throw new Error(
					`the memory of ${player.id} does not get to disk: ` +
						JSON.stringify(await this.info(player)),
				)
		}
		await this.world.reboot()
		return all
	}
}

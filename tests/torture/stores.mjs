// SPDX-License-Identifier: Apache-2.0
// What outlives sandboxes, for the long form of the torture: volumes with records in them, and snapshots that leave the
// server as a file and come back. As in acts.mjs: a fault may hit at any moment, and what was acknowledged before it
// holds.
import fs from 'node:fs'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { request } from '../lib/client.mjs'

const VOLUMES_MAX = 3

export class Stores {
	constructor(world, acts, note) {
		this.world = world
		this.acts = acts
		this.note = note
		this.volumes = [] // { id, token, records: [text] }
		this.outside = [] // { id, file, promise }: snapshots that are in a file, and maybe nowhere else
		this.made = 0
	}

	async ask(good, what, asking) {
		const res = await asking.catch((err) => ({ status: 0, text: err.message }))
		if (good.includes(res.status)) return res
		this.note(`${what}: ${res.status} ${res.text}`)
		return null
	}

	content(volume, method, n, body) {
		return request(method, `/volumecontent/${volume.id}/file?${new URLSearchParams({ path: `/r${n}` })}`, {
			base: this.world.server.url,
			body,
			timeout: 60000,
			headers: {
				Authorization: `Bearer ${volume.token}`,
				...(body && { 'Content-Type': 'application/octet-stream' }),
			},
		})
	}

	// --- the acts ---

	async volume() {
		if (this.volumes.length < VOLUMES_MAX) {
			const res = await this.ask(
				[201],
				'make a volume',
				this.world.call('POST', '/volumes', { name: `t${this.made++}`, sizeMB: 50 }),
			)
			if (res) this.volumes.push({ id: res.json.volumeID, token: res.json.token, records: [] })
		}
		const volume = this.acts.rnd.pick(this.volumes)
		for (let i = 0; volume && i < 3; i++) {
			const text = `record ${volume.records.length} ${'x'.repeat(this.acts.rnd.below(20000))}`
			if (
				!(await this.ask(
					[200, 201, 204],
					'write to a volume',
					this.content(volume, 'PUT', volume.records.length, text),
				))
			)
				return
			volume.records.push(text)
		}
	}

	async dropVolume() {
		const volume = this.volumes.splice(this.acts.rnd.below(this.volumes.length), 1)[0]
		if (volume) await this.ask([204], 'drop a volume', this.world.call('DELETE', `/volumes/${volume.id}`))
	}

	atoll(...args) {
		const { server } = this.world
		const child = spawn(
			server.atoll(),
			['snapshot', ...args, '--state', server.stateDir, '--run', server.runDir],
			{
				stdio: ['ignore', 'pipe', 'pipe'],
				env: {
					...process.env,
					E2B_API_URL: server.url,
					E2B_API_KEY: server.key,
					E2B_SANDBOX_URL: server.url,
				},
			},
		)
		let text = '',
			out = ''
		child.stderr.on('data', (part) => {
			text += part
		})
		child.stdout.on('data', (part) => {
			out += part
		})
		return new Promise((done) =>
			child.once('close', (code) => done({ status: code === 0 ? 200 : code, text, id: out.trim() })),
		)
	}

	// Out, away, and in again.
	async outAndIn() {
		const one = this.acts.rnd.pick(this.acts.snapshots)
		if (!one) return
		const file = path.join(this.world.server.base, `out${this.made++}`)
		if (!(await this.ask([200], 'export', this.atoll('export', one.id, file)))) {
			fs.rmSync(file, { force: true })
			return
		}
		this.acts.snapshots.splice(this.acts.snapshots.indexOf(one), 1)
		this.outside.push({ ...one, file })
		if (
			await this.ask(
				[204],
				'drop',
				this.world.call('DELETE', `/templates/${encodeURIComponent(one.id)}`),
			)
		)
			await this.bringIn(this.outside.at(-1))
	}

	async bringIn(one) {
		const res = await this.ask([200], 'import', this.atoll('import', one.file))
		if (!res) return false
		this.outside.splice(this.outside.indexOf(one), 1)
		this.acts.snapshots.push({ id: res.id, promise: one.promise })
		fs.rmSync(one.file)
		return true
	}

	// --- afterwards ---

	// What is wrong, in words. The server serves again, so everything has to work.
	async check() {
		const wrong = [],
			known = (await this.world.call('GET', '/volumes')).json.map((v) => v.volumeID)
		for (const id of known.filter((name) => !this.volumes.some((v) => v.id === name)))
			await this.ask([204], 'drop', this.world.call('DELETE', `/volumes/${id}`))
		for (const volume of this.volumes) {
			for (const [n, text] of volume.records.entries()) {
				const got = await this.content(volume, 'GET', n)
				if (got.status === 200 && got.text === text) continue
				wrong.push(`record ${n} of volume ${volume.id}: ${got.status} ${got.text.slice(0, 80)}`)
			}
		}
		for (const one of [...this.outside]) {
			// the first may never have gone
			await this.world.call('DELETE', `/templates/${encodeURIComponent(one.id)}`)
			if (!(await this.bringIn(one)))
				wrong.push(`snapshot ${one.id} does not come back from its file`)
		}
		return wrong
	}

	async clear() {
		while (this.volumes.length) await this.dropVolume()
	}
}

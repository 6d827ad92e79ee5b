// SPDX-License-Identifier: Apache-2.0
// The server that is tortured: on a small disk of its own, so that the disk can be filled; killed and started again;
// counted.
import fs from 'node:fs'
import path from 'node:path'
import { execFileSync, spawnSync } from 'node:child_process'
import { api } from '../lib/client.mjs'
import { alive, cgroupsOf, childrenOf, commandOf, counts, nameOf, poolOf, processesOf, until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'
import { thin } from '../lib/thin.mjs'

const DISK = 5 * 2 ** 30
const CONFIG = {
	log_level: 'info',
	on_stop: 'kill',
	checkpoint_after_s: 0,
	pool_size_mb: 3072,
	pool_max_mb: 4096,
	default_disk_mb: 2048,
}

export function random(seed) {
	let s = seed >>> 0
	const next = () => {
		s = (s + 0x6d2b79f5) >>> 0
		let t = Math.imul(s ^ (s >>> 15), s | 1)
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
	}
	return {
		below: (n) => Math.floor(next() * n),
		pick: (list) => list[Math.floor(next() * list.length)],
		weighted: (table) => {
			let at = next() * Object.values(table).reduce((a, b) => a + b)
			return Object.keys(table).find((key) => (at -= table[key]) < 0)
		},
	}
}

export class World {
	constructor(buildDir, config = CONFIG) {
		this.server = newServer(buildDir, config)
		this.disk = path.join(this.server.base, 'disk')
		this.server.stateDir = path.join(this.disk, 'state')
		this.starts = 0
	}

	async begin() {
		const image = path.join(this.server.base, 'disk.img')
		fs.closeSync(fs.openSync(image, 'w'))
		fs.truncateSync(image, DISK)
		fs.mkdirSync(this.disk)
		execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', image])
		execFileSync('mount', ['-o', 'loop', image, this.disk])
		await this.server.start()
	}

	call(method, where, body, timeout = 60000) {
		return api(method, where, body, { base: this.server.url, key: this.server.key, timeout })
	}

	// --- what happens to it ---

	front() {
		return childrenOf(this.server.pid).find((pid) => nameOf(pid) === 'atoll-front')
	}

	kill(which) {
		const pids = [which !== 'warden' && this.front(), which !== 'front' && this.server.pid].filter(Boolean)
		this.isDown ||= which !== 'front'
		for (const pid of pids) process.kill(pid, 'SIGKILL')
	}

	fill() {
		const { bavail, bsize } = fs.statfsSync(this.disk)
		spawnSync('fallocate', ['-l', String(Math.max(1, bavail) * bsize), path.join(this.disk, 'filler')])
		try {
			// the last blocks
			fs.writeFileSync(path.join(this.disk, 'filler2'), Buffer.alloc(2 ** 20))
		} catch (err) {
			if (err.code !== 'ENOSPC') throw err
		}
	}

	drain() {
		for (const name of ['filler', 'filler2']) fs.rmSync(path.join(this.disk, name), { force: true })
	}

	// Whatever has happened: it serves again.
	async heal() {
		this.drain()
		if (this.isDown || !alive(this.server.pid)) {
			await this.server.exited
			await this.server.start()
			this.isDown = false
			this.starts++
		}
		const up = await until(
			async () =>
				(await this.call('GET', '/v2/sandboxes', undefined, 2000).catch(() => ({}))).status ===
				200,
			30000,
			20,
		)
		if (!up) throw new Error(`the server does not answer any more, see ${this.server.log}`)
	}

	async reboot() {
		this.server.signal('SIGTERM')
		await this.server.exited
		await this.server.start()
		this.starts++
	}

	// --- what it holds ---

	subvolumes() {
		try {
			return poolOf(this.server)
		} catch {
			return ['?']
		}
	}

	poolFree() {
		const run = spawnSync(
			'nsenter',
			[
				'-t',
				String(this.server.pid),
				'-m',
				'stat',
				'-f',
				'-c',
				'%a %S',
				`${this.server.runDir}/private/pool`,
			],
			{ encoding: 'utf8' },
		)
		const [blocks, size] = run.stdout.split(' ').map(Number)
		return blocks * size
	}

	sql(text) {
		const db = path.join(this.server.stateDir, 'front/atoll.db')
		const run = spawnSync(
			'python3',
			[
				'-c',
				'import sqlite3, sys\nfor r in sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", 10, ' +
					'uri=True).execute(sys.argv[2]): print(*r)',
				db,
				text,
			],
			{ encoding: 'utf8' },
		)
		return run.status === 0 ? run.stdout.trim() : `error: ${run.stderr.trim().split('\n').at(-1)}`
	}

	counts() {
		return {
			...counts(this.server),
			subvolumes: this.subvolumes().length,
			rows:
				Number(this.sql('SELECT count(*) FROM sandboxes WHERE ended_ms IS NULL')) +
				Number(this.sql('SELECT count(*) FROM snapshots')),
		}
	}

	// When the interpreter is there that sandboxes are forked from, and nothing comes or goes any more.
	async baseline() {
		const { slot, runDir } = this.server
		let last = '',
			same = 0
		const settled = await until(
			() => {
				const now = JSON.stringify(this.counts())
				const warm = processesOf(slot, runDir).some((pid) =>
					commandOf(pid).includes('/runtimes/python/zygote.py'),
				)
				same = warm && now === last ? same + 1 : 0
				last = now
				return same >= 3
			},
			120000,
			500,
		)
		if (!settled) throw new Error(`the server does not come to rest: ${last}`)
		this.base = this.counts()
		this.cgroups = new Set(cgroupsOf(this.server.slot))
		return this.base
	}

	// What is more than at the beginning, after some patience.
	async leaks(ms = 60000) {
		let more
		await until(
			() => {
				const now = this.counts()
				more = Object.fromEntries(
					Object.entries(now)
						.filter(([key, n]) => !(n <= this.base[key]))
						.map(([key, n]) => [key, `${this.base[key]} -> ${n}`]),
				)
				return Object.keys(more).length === 0
			},
			ms,
			500,
		)
		return more
	}

	// Names, for whoever has to find out.
	strays() {
		return [...cgroupsOf(this.server.slot).filter((dir) => !this.cgroups.has(dir)), ...this.subvolumes()]
	}

	async end(keep) {
		await this.heal().catch((err) => console.error(err.message))
		const end = await this.server.stop({ remove: false })
		spawnSync('umount', [this.disk])
		if (end.clean && !keep) fs.rmSync(this.server.base, { recursive: true, force: true })
		if (keep !== true) thin(this.server.base)
		return end
	}
}

// SPDX-License-Identifier: Apache-2.0
// The server of the soak, and what it holds: the memory of its programs, and what each sandbox would leave behind.
import fs from 'node:fs'
import { spawnSync } from 'node:child_process'
import { childrenOf, commOf, fdsOf, processesOf } from '../lib/host.mjs'
import { World } from '../torture/world.mjs'

// Rows that belong to something that lives. All other tables are histories, which the server's own retention bounds.
const LIVE_ROWS = [
	'sandboxes WHERE ended_ms IS NULL',
	'snapshots',
	'volumes',
	'templates',
	'builds',
	'layers',
	'webhooks',
	'deliveries',
]

const DAEMONS = [
	'atolld',
	'atoll-front',
	'atoll-egress',
	'atoll-agent',
	'atoll-refusals',
	'atoll-webhooks',
	'atoll-oidc',
	'atoll-sweeper',
	'atoll-ckpt',
	'atoll-guard',
	'atoll-reclaim',
	'atoll-holder',
]

function pssOf(pid) {
	try {
		return (
			Number(/^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) *
			1024
		)
	} catch {
		return 0 // it has ended meanwhile
	}
}

export class SoakWorld extends World {
	constructor(buildDir, sandboxes) {
		super(buildDir, {
			log_level: 'warn',
			max_sandboxes: sandboxes + 50,
			pool_size_mb: 4096,
			pool_max_mb: 65536,
			default_memory_mb: 512,
			default_disk_mb: 512,
			warm_pool_size: 2,
			warm_pool_max: 2, // what it learns from bursts would stay for hours
		})
	}

	async begin() {
		await this.server.start()
	}

	// Of each program of the server: the memory of all its processes, shared pages in parts.
	memory() {
		const sums = {}
		const { pid: warden, slot, runDir } = this.server
		for (const pid of new Set([warden, ...childrenOf(warden), ...processesOf(slot, runDir)])) {
			const name = commOf(pid)
			if (DAEMONS.includes(name)) sums[name] = (sums[name] ?? 0) + pssOf(pid)
		}
		return sums
	}

	counts() {
		const rows = Number(
			this.sql(`SELECT ${LIVE_ROWS.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ')}`),
		)
		return { ...super.counts(), rows, counters: this.counters(), frontFds: fdsOf(this.front()) }
	}

	// Quota groups of the pool: one for each subvolume that has not been forgotten.
	counters() {
		const show = ['-m', 'btrfs', 'qgroup', 'show', `${this.server.runDir}/private/pool`]
		const run = spawnSync('nsenter', ['-t', String(this.server.pid), ...show], { encoding: 'utf8' })
		return run.status === 0 ? run.stdout.trim().split('\n').length : 0
	}

	end(keep) {
		return this.server.stop({ remove: !keep })
	}
}

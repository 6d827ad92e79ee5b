// SPDX-License-Identifier: Apache-2.0
// What each test file took: wall time, processor time, tests. A run ends with a table of the slowest, and writes all
// of it to a file.
import fs from 'node:fs'
import { cpuOf, cpuOfCgroups, processesOf, nameOf } from './host.mjs'

const SHOWN = 15

// Processor time of a shared server until now, in seconds: its daemons, and all sandboxes that it has had.
export function cpuOfServer({ slot, runDir }) {
	const daemons = processesOf(-1, runDir).filter((pid) => nameOf(pid).startsWith('atoll'))
	return cpuOfCgroups(slot) + daemons.reduce((sum, pid) => sum + cpuOf(pid).own, 0)
}

export class Times {
	constructor() {
		this.began = Date.now()
		this.rows = []
	}

	add(file, lane, beganMs, cases, cpu) {
		this.rows.push({
			file,
			lane,
			at: (beganMs - this.began) / 1000,
			wall: (Date.now() - beganMs) / 1000,
			cpu,
			tests: cases.length,
			slowest: cases
				.filter((c) => c.ms > 1000)
				.sort((a, b) => b.ms - a.ms)
				.slice(0, 5)
				.map((c) => ({ name: c.name, seconds: c.ms / 1000 })),
		})
	}

	table() {
		const rows = [...this.rows].sort((a, b) => b.wall - a.wall),
			sum = (key) => rows.reduce((all, row) => all + row[key], 0)
		const columns = (name, wall, cpu, tests) =>
			`${name.padEnd(36)} ${wall.padStart(8)} ${cpu.padStart(8)} ${tests.padStart(6)}`
		const line = (name, wall, cpu, tests) => columns(name, wall.toFixed(1), cpu.toFixed(1), String(tests))
		return [
			columns('slowest files', 'wall s', 'cpu s', 'tests'),
			...rows.slice(0, SHOWN).map((row) => line(row.file, row.wall, row.cpu, row.tests)),
			line(`all ${rows.length} files`, sum('wall'), sum('cpu'), sum('tests')),
			`wall time of the run: ${((Date.now() - this.began) / 1000).toFixed(0)} s`,
		]
	}

	write(file) {
		fs.writeFileSync(
			file,
			JSON.stringify(
				{
					seconds: (Date.now() - this.began) / 1000,
					files: [...this.rows].sort((a, b) => b.wall - a.wall),
				},
				null,
				'\t',
			) + '\n',
		)
	}
}

// SPDX-License-Identifier: Apache-2.0
// What the sanitizers of any program of any server have to say. All of them write into one directory, each process a
// file of its own, as whoever they run; what a test or a server does with their output cannot hide it.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const LINES = 12

export class Reports {
	constructor() {
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-reports-'))
		fs.chmodSync(this.dir, 0o1777) // the daemons have users of their own
		this.seen = new Set()
	}

	// For every process that is started from here on. Programs without a sanitizer ignore them. Undefined behaviour
	// is a trap instruction (SIGILL, see meson.build), and a failed assertion is SIGABRT: both are reported like
	// errors of memory.
	env() {
		const signals = ['abort', 'segv', 'sigbus', 'sigfpe', 'sigill']
			.map((name) => `handle_${name}=2`)
			.join(':') // 2: no program takes it back
		const log = `log_path=${path.join(this.dir, 'report')}:log_exe_name=1`
		return { ASAN_OPTIONS: `${log}:${signals}:detect_stack_use_after_return=1`, TSAN_OPTIONS: log }
	}

	// Those that have come since the last call, as failed cases.
	fresh() {
		return fs
			.readdirSync(this.dir)
			.filter((name) => !this.seen.has(name))
			.map((name) => {
				this.seen.add(name)
				const text = fs.readFileSync(path.join(this.dir, name), 'utf8')
				const at = text.split('\n').findIndex((line) => /ERROR:|WARNING:|SUMMARY:/.test(line))
				return {
					name: `no sanitizer report (${name})`,
					outcome: 'fail',
					why: text
						.split('\n')
						.slice(Math.max(at, 0), Math.max(at, 0) + LINES)
						.join('\n'),
				}
			})
	}

	remove() {
		fs.rmSync(this.dir, { recursive: true, force: true })
	}
}

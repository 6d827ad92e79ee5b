// SPDX-License-Identifier: Apache-2.0
// The program `atoll`: run to its end, or on a terminal that a script types into.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawnSync } from 'node:child_process'
import assert from 'node:assert/strict'
import { server } from './client.mjs'

export const ATOLL = path.join(server.buildDir, 'src/cli/atoll')
const PTY = path.join(path.dirname(fileURLToPath(import.meta.url)), 'pty.py')

export function atoll(args, { input = '', env = {}, encoding = 'utf8', timeout = 60000 } = {}) {
	const run = spawnSync(ATOLL, args, {
		encoding,
		input,
		timeout,
		env: { ...process.env, ...env },
		maxBuffer: 1 << 28,
	})
	return { code: run.status, out: run.stdout, err: String(run.stderr) }
}

// The output of a call that has to go well.
export function ok(args, options) {
	const got = atoll(args, options)
	assert.equal(got.code, 0, `atoll ${args.join(' ')}: ${got.err}`)
	return got.out
}

// A sandbox for as long as `use` takes.
export async function withId(use, ...args) {
	const id = ok(['create', ...args]).trim()
	try {
		return await use(id)
	} finally {
		atoll(['kill', id])
	}
}

// Runs it on a terminal. steps: {expect}, {send}, {resize: [rows, cols]}, {signal}, {run: argv}. Tells what was on the
// screen, how it ended, and whether the terminal's modes are as they were before.
export function onTerminal(args, steps, opt) {
	return terminal([ATOLL, ...args], steps, opt)
}

// The same for any program.
export function terminal(argv, steps, { env = {} } = {}) {
	const run = spawnSync('python3', [PTY, ...argv], {
		encoding: 'utf8',
		input: JSON.stringify(steps),
		timeout: 170000,
		env: { ...process.env, TERM: 'xterm', ...env },
	})
	assert.equal(run.status, 0, run.stderr)
	return JSON.parse(run.stdout)
}

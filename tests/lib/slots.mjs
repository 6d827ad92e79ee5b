// SPDX-License-Identifier: Apache-2.0
// The 16 instance slots of a machine, and the lock of what there is once on it. Several runs share both.
import fs from 'node:fs'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { commandOf, processesOf, slotHolders, until } from './host.mjs'

const SLOTS = 16
const WAIT_MS = 15 * 60 * 1000
const LOCK = process.env.ATOLL_TEST_LOCK ?? '/run/lock/atoll-tests'

// Lines that tell who holds which slot.
export function tellSlots() {
	return slotHolders().map(({ slot, stateDir, pid }) => {
		const who = pid
			? `pid ${pid} (${commandOf(pid).slice(0, 60)})`
			: `no server, ${processesOf(slot).length} processes of sandboxes`
		return `slot ${slot}: ${stateDir || 'unknown'}, ${who}`
	})
}

export const freeSlots = () => SLOTS - slotHolders().length

// Waits until `wanted` slots are free. say() is called once if there is a wait. False if over() is true before that:
// nobody needs them.
export async function waitForSlots(wanted, say, over = () => false) {
	if (over()) return false
	if (freeSlots() >= wanted) return true
	say(
		`waiting for ${wanted} of ${SLOTS} instance slots to be free; they are held by\n${tellSlots()
			.map((line) => `    ${line}`)
			.join('\n')}`,
	)
	if (!(await until(() => over() || freeSlots() >= wanted, WAIT_MS, 500)))
		throw new Error(
			`no ${wanted} instance slots became free within ${WAIT_MS / 60000} minutes; they are held ` +
				`by\n${tellSlots().join('\n')}`,
		)
	return !over()
}

// Holds the machine's default ports and directories: one test file of all runs at a time. Returns the function that
// gives it back.
// The holder ends with our end of its pipe, so a killed run holds nothing.
export async function lockMachine() {
	fs.mkdirSync(path.dirname(LOCK), { recursive: true })
	const child = spawn('flock', [LOCK, 'sh', '-c', 'echo held; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] })
	await new Promise((done, fail) => {
		child.stdout.once('data', done)
		child.once('error', fail)
		child.once('exit', (code) => fail(new Error(`flock ended with ${code}`)))
	})
	return () =>
		new Promise((done) => {
			child.once('exit', done)
			child.stdin.end()
		})
}

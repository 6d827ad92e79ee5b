// SPDX-License-Identifier: Apache-2.0
// A server whose front has clocks that a test moves (tests/clock): hours pass in a moment, and nothing waits for them.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { newServer } from './server.mjs'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export class Clock {
	constructor() {
		this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-clock-'))
		this.file = path.join(this.dir, 'ahead')
		fs.chmodSync(this.dir, 0o755)
		this.set(0)
	}

	// In place: the front has the file mapped.
	set(ms) {
		const bytes = Buffer.alloc(8)
		bytes.writeBigInt64LE(BigInt(ms))
		const fd = fs.openSync(this.file, fs.constants.O_WRONLY | fs.constants.O_CREAT, 0o644)
		fs.writeSync(fd, bytes)
		fs.closeSync(fd)
		this.ahead = ms
	}

	pass(ms) {
		this.set(this.ahead + ms)
	}

	now() {
		return Date.now() + this.ahead
	}

	remove() {
		fs.rmSync(this.dir, { recursive: true, force: true })
	}
}

export function serverWithClock(buildDir, clock, config) {
	return newServer(buildDir, config, {
		args: ['--front', path.join(buildDir, 'tests/clock/atoll-front')],
		env: { ATOLL_TEST_CLOCK: clock.file },
	})
}

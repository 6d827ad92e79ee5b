// SPDX-License-Identifier: Apache-2.0
// node:test with a time limit on every case: a server that hangs must fail one case, not the whole run.
import nodeTest, { after, afterEach, before } from 'node:test'

const LIMIT_MS = process.env.ATOLL_TEST_ASAN ? 360000 : 180000

export function test(name, options, fn) {
	if (typeof options === 'function') return nodeTest(name, { timeout: LIMIT_MS }, options)
	return nodeTest(name, { timeout: LIMIT_MS, ...options }, fn)
}

export { after, afterEach, before }

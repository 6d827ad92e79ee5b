// SPDX-License-Identifier: Apache-2.0
// What is kept of a server whose test has failed: logs, databases and settings. Images of its storage are gigabytes.
import fs from 'node:fs'
import path from 'node:path'

const MOST = 16 << 20

// Removes the large files of a server that has ended. ATOLL_TEST_KEEP, which --keep sets, leaves all.
export function thin(base) {
	if (process.env.ATOLL_TEST_KEEP || !fs.existsSync(base)) return
	const dev = fs.statSync(base).dev
	for (const entry of fs.readdirSync(base, { recursive: true, withFileTypes: true })) {
		const file = path.join(entry.parentPath ?? entry.path, entry.name),
			st = entry.isFile() && fs.lstatSync(file, { throwIfNoEntry: false })
		if (st && st.dev === dev && st.blocks * 512 > MOST && !/\.log$/.test(file)) fs.rmSync(file)
	}
}

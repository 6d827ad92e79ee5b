// SPDX-License-Identifier: Apache-2.0
// Runs clients and holds the results against the table.
import assert from 'node:assert/strict'
import { test } from '../lib/case.mjs'
import { server } from '../lib/client.mjs'
import { GROUPS, IDS } from './capabilities.mjs'
import { tryClient } from './clients.mjs'
import { readTable, UPDATE, writeColumn } from './table.mjs'

const LIMIT_MS = 600000 // installing included; each client has a limit of its own

function update(client, found) {
	const results = Object.fromEntries(IDS.map((id) => [id, found.results[id]?.outcome ?? 'none']))
	writeColumn(client.id, { title: client.title, versions: found.versions, results })
}

// What stands in the table as working and does not work, and what the table does not know.
export function broken(claimed, results, ids) {
	return ids.filter(
		(id) => claimed[id] === undefined || (claimed[id] === 'yes' && results[id]?.outcome !== 'yes'),
	)
}

// again: another way to the server, whose results are not written into the table.
export function holdToTable(client, run = tryClient) {
	const name = client.again ? `${client.id} ${client.again}` : client.id
	let found
	test(`${name} is tried`, { timeout: LIMIT_MS }, async (t) => {
		found = await run(client, server)
		if (found.skip) {
			t.skip(found.skip)
			return
		}
		if (client.h2) assert.ok(found.h2 >= client.h2, `only ${found.h2} requests came by HTTP/2`)
		const strange = Object.keys(found.results).filter((id) => !IDS.includes(id))
		assert.deepEqual(strange, [], 'every capability has its row')
		for (const [id, { outcome, why }] of Object.entries(found.results)) {
			if (outcome === 'no' && UPDATE) console.log(`${client.id} ${id}: ${why}`)
		}
		if (UPDATE && !client.again) update(client, found)
	})
	for (const [group, rows] of GROUPS) {
		test(`${name}: ${group}`, (t) => {
			if (!found || found.skip) {
				t.skip(found?.skip ?? 'was not tried')
				return
			}
			const claimed = readTable()[client.id]?.results ?? {}
			const bad = broken(claimed, found.results, Object.keys(rows))
			assert.deepEqual(
				bad,
				[],
				bad
					.map((id) => `${id}: ${found.results[id]?.why ?? found.results[id]?.outcome}`)
					.join('\n'),
			)
			const fresh = Object.keys(rows).filter(
				(id) => claimed[id] !== 'yes' && found.results[id]?.outcome === 'yes',
			)
			if (fresh.length) t.skip(`works, and is not in the table: ${fresh.join(', ')} (make compat)`)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0
// The table itself: the page shows what was found, and a claim that fails is noticed.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { IDS, LATER } from './capabilities.mjs'
import { CLIENTS } from './clients.mjs'
import { broken } from './hold.mjs'
import { ORDER, PAGE, page, readTable } from './table.mjs'

test('docs/compatibility.md is what make compat has written', () => {
	const table = readTable()
	assert.equal(fs.readFileSync(PAGE, 'utf8'), page(table))
	assert.deepEqual(Object.keys(table).sort(), [...ORDER].sort(), 'every client has its column')
	assert.deepEqual([...CLIENTS.map((one) => one.id), 'cli'].sort(), [...ORDER].sort())
	for (const [id, column] of Object.entries(table))
		assert.deepEqual(Object.keys(column.results), IDS, `${id} has been asked for everything`)
})

test('only what is not for now is missing', () => {
	for (const [id, column] of Object.entries(readTable())) {
		const missing = IDS.filter((one) => column.results[one] === 'no' && !LATER.includes(one))
		assert.deepEqual(missing, [], id)
	}
})

test('a claim that does not hold is found', () => {
	const claimed = { a: 'yes', b: 'yes', c: 'no', d: 'none', e: 'yes' }
	const results = {
		a: { outcome: 'yes' },
		b: { outcome: 'no' },
		c: { outcome: 'no' },
		d: { outcome: 'yes' },
		f: { outcome: 'yes' },
	}
	assert.deepEqual(broken(claimed, results, ['a', 'b', 'c', 'd', 'e', 'f']), ['b', 'e', 'f'])
})

// SPDX-License-Identifier: Apache-2.0
// The messages between front and warden: what docs/protocol-warden.md says of each, against the table of the code.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { read, TOP } from './blocks.mjs'

const PAGE = 'docs/protocol-warden.md'
const TABLE = fs.readFileSync(path.join(TOP, 'src/ipc/messages.tbl'), 'utf8')

// Rows of the code's table of that kind: arrays of columns.
const rows = (kind) =>
	[...TABLE.matchAll(new RegExp(`^${kind}\\(([^)]*)\\)`, 'gm'))].map((m) => m[1].split(',').map((s) => s.trim()))

// Rows of the page's table with that heading, one for each message that a row names.
function described(heading) {
	const lines = read(PAGE).split('\n')
	const from = lines.indexOf(heading)
	assert.ok(from > 0, `${PAGE} has no table '${heading}'`)
	const end = lines.findIndex((line, i) => i > from && !line.startsWith('|'))
	return lines
		.slice(from + 2, end)
		.map((line) =>
			line
				.split('|')
				.slice(1, -1)
				.map((s) => s.trim()),
		)
		.flatMap(([names, ...rest]) => [...names.matchAll(/`([A-Z_]+)`/g)].map((m) => [m[1], ...rest]))
}

const answers = (text) => [...new Set([...text.matchAll(/`(RE_[A-Z_]+)`/g)].map((m) => m[1]))].sort()
const sorted = (all) => all.map(([name]) => name).sort()

test('the page describes each request as the table has it', () => {
	const requests = rows('REQUEST'),
		page = described('| request | body | answer |')
	assert.ok(requests.length > 20)
	assert.deepEqual(sorted(page), sorted(requests))
	for (const [type, , body, answer, other, fd] of requests) {
		const [, said, text] = page.find(([name]) => name === type)
		assert.equal(said, `\`${body}\``, `body of ${type}`)
		const want = [answer, other].filter((name) => name !== 'MSG_NONE').sort()
		assert.deepEqual(answers(text), want, `answers of ${type}`)
		assert.equal(/with one fd/.test(text), fd === '1', `descriptor of ${type}`)
	}
})

test('the page describes each event as the table has it', () => {
	const events = rows('EVENT'),
		page = described('| event | body | meaning |')
	assert.ok(events.length > 5)
	assert.deepEqual(sorted(page), sorted(events))
	for (const [type, , body, fd] of events) {
		const [, said, text] = page.find(([name]) => name === type)
		assert.equal(said, `\`${body}\``, `body of ${type}`)
		assert.equal(/carries one fd/.test(text), fd === '1', `descriptor of ${type}`)
	}
})

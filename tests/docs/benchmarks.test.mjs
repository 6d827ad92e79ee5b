// SPDX-License-Identifier: Apache-2.0
// docs/benchmarks.md and its pictures are what bench/report.mjs makes of the results that are stored beside them.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { lineChart } from '../../bench/chart.mjs'
import { render, STORED } from '../../bench/report.mjs'
import { TOP, read } from './blocks.mjs'

const result = JSON.parse(read(STORED))
const files = render(result)

for (const [name, text] of Object.entries(files))
	test(`${name} is made from ${STORED}`, () =>
		assert.equal(read(name), text, 'make it again: node bench/report.mjs'))

test('nothing else lies beside the page', () => {
	const folder = path.dirname(STORED)
	const there = fs.readdirSync(path.join(TOP, folder)).map((name) => `${folder}/${name}`)
	assert.deepEqual(
		there.filter((name) => name !== STORED && !files[name]),
		[],
	)
})

test('a changed figure changes the page', () => {
	const changed = structuredClone(result)
	changed.beside.cell.atoll.p50 *= 3
	changed.growth.sizes.steps[0].up.p50 *= 3
	const other = render(changed)
	assert.deepEqual(
		Object.keys(files).filter((name) => files[name] !== other[name]),
		['docs/benchmarks.md', 'docs/benchmarks/files.svg'],
	)
})

test('the page names a command for every figure, and no figure is missing', () => {
	const page = files['docs/benchmarks.md']
	assert.doesNotMatch(page, /undefined|NaN|Infinity|null/)
	for (const line of page.split('\n').filter((l) => /^\| (Create|Execute|Pause|Resume|Upload|Kill)/.test(l)))
		assert.match(line, /`bench\/run --only [a-z]+` \|$/)
})

test('what was not measured is said with its reason', () => {
	const without = structuredClone(result)
	for (const rows of [without.beside.first, without.beside.cell])
		rows[Object.keys(rows)[1]] = { skipped: 'the | reason' }
	const page = render(without)['docs/benchmarks.md']
	assert.equal(page.match(/not measured \| {2}\| {2}\| the \\\| reason/g)?.length, 2)
})

test('pictures are complete and escape what they are given', () => {
	const lines = [
		{
			name: 'a<b',
			points: [
				[1, 5],
				[10, 0.5],
				[10000, 70],
			],
		},
	]
	const text = (n) => `${n}`
	for (const log of [true, false]) {
		const svg = lineChart({ title: 'x & <y>', x: { name: 'n', log, text }, y: { log, text }, lines })
		assert.match(svg, /^<svg [^>]*>\n<title>x &amp; &lt;y&gt;<\/title>/)
		assert.equal(svg.match(/<circle /g).length, 3)
		assert.doesNotMatch(svg, /NaN|Infinity|undefined/)
	}
})

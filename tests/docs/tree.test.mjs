// SPDX-License-Identifier: Apache-2.0
// The pages against the tree: folders and who includes whom, programs, source files that are named, indexes of pages.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { pages, read, TOP } from './blocks.mjs'

const SRC = path.join(TOP, 'src')
const MAP = 'docs/architecture.md'

const folders = (dir) =>
	fs
		.readdirSync(dir, { withFileTypes: true })
		.filter((e) => e.isDirectory())
		.map((e) => e.name)
		.sort()
const sources = (dir) =>
	fs
		.readdirSync(dir, { recursive: true })
		.filter((name) => /\.[ch]$/.test(name))
		.map((name) => path.join(dir, name))

// Rows of the first table behind a line that has this text: arrays of cells.
function table(page, after) {
	const lines = read(page).split('\n')
	const from = lines.findIndex((line, i) => line.startsWith('|') && i > lines.findIndex((l) => l.includes(after)))
	assert.ok(from > 0, `${page} has no table behind '${after}'`)
	const end = lines.findIndex((line, i) => i > from && !line.startsWith('|'))
	return lines.slice(from + 2, end).map((line) =>
		line
			.split('|')
			.slice(1, -1)
			.map((cell) => cell.trim()),
	)
}

function included(folder) {
	const all = new Set()
	for (const file of sources(path.join(SRC, folder))) {
		for (const [, name] of fs.readFileSync(file, 'utf8').matchAll(/^#include "([a-z_]+)\//gm)) all.add(name)
	}
	all.delete(folder)
	return [...all].sort()
}

test('the table of folders is that of src', () => {
	const rows = table(MAP, '## Folders')
	assert.deepEqual(rows.map(([name]) => name.replace(/`/g, '')).sort(), folders(SRC))
	for (const [name, , calls] of rows)
		assert.deepEqual(
			calls.split(/\s+/).filter(Boolean).sort(),
			included(name.replace(/`/g, '')),
			`what src/${name} includes`,
		)
})

test('a folder stands below those that it calls', () => {
	const seen = new Set()
	for (const [name, , calls] of table(MAP, '## Folders')) {
		for (const call of calls.split(/\s+/).filter(Boolean))
			assert.ok(seen.has(call), `${name} calls ${call}, which stands below it`)
		seen.add(name.replace(/`/g, ''))
	}
})

test('the floors are those of src/front', () => {
	assert.deepEqual(
		table(MAP, 'The **floors**')
			.map(([name]) => name.replace(/`/g, ''))
			.sort(),
		folders(path.join(SRC, 'front')),
	)
})

test('the table of programs has all that are built, and no other', () => {
	const named = table(MAP, '## Processes')
		.map(([name]) => /^`([^`]+)`/.exec(name)?.[1])
		.filter(Boolean)
	const text = folders(SRC)
		.flatMap((folder) => [path.join(SRC, folder, 'meson.build'), ...sources(path.join(SRC, folder))])
		.map((file) => fs.readFileSync(file, 'utf8'))
		.join('\n')
	const built = [...text.matchAll(/executable\('(atoll[a-z-]*)'/g)].map((m) => m[1])
	assert.deepEqual(
		built.filter((name) => name !== 'atoll' && !named.includes(name)),
		[],
	)
	assert.deepEqual(
		named.filter((name) => !built.includes(name) && !text.includes(`"${name}`)),
		[],
	)
})

test('source files that pages name are there', () => {
	const missing = pages()
		.filter((page) => page.endsWith('.md'))
		.flatMap((page) =>
			[...read(page).matchAll(/`((?:[a-z_]+\/)+[a-z0-9_]+\.(?:c|h|py|mjs|tbl))`/g)]
				.map((m) => m[1])
				.filter(
					(file) =>
						!fs.existsSync(path.join(TOP, file)) &&
						!fs.existsSync(path.join(SRC, file)),
				)
				.map((file) => `${page}: ${file}`),
		)
	assert.deepEqual(missing, [])
})

test('indexes have every page', () => {
	const linked = (page) =>
		new Set([...read(page).matchAll(/\]\(([^)#]+\.md)/g)].map((m) => path.join(path.dirname(page), m[1])))
	const internals = linked(MAP),
		front = linked('README.md')
	assert.deepEqual(
		pages().filter((page) => page.startsWith('docs/internals/') && !internals.has(page)),
		[],
	)
	assert.deepEqual(
		pages().filter((page) => /^docs\/[^/]*\.md$/.test(page) && !front.has(page)),
		[],
	)
})

// Of enum TYPE in a header of src/ipc, without its count.
function messages(header, type) {
	const body = new RegExp(`enum ${type} \\{([^]*?)^\\}`, 'm').exec(
		fs.readFileSync(path.join(SRC, 'ipc', header), 'utf8'),
	)[1]
	return [...body.matchAll(/^\t([A-Z]{2}_[A-Z_]+)\b/gm)]
		.map((m) => m[1])
		.filter((name) => !name.endsWith('_COUNT'))
}

// ... and those between front and warden, which have a table of their own.
const warden = () =>
	[
		...fs
			.readFileSync(path.join(SRC, 'ipc/messages.tbl'), 'utf8')
			.matchAll(/^(?:REQUEST|REPLY|EVENT)\(([A-Z_]+),/gm),
	].map((m) => m[1])

test('the protocol page has every message, and no other', () => {
	const known = [
		warden(),
		messages('egress.h', 'eg_type'),
		messages('webhooks.h', 'hk_type'),
		messages('oidc.h', 'oi_type'),
		messages('refusals.h', 'au_type'),
		messages('rules.h', 'fe_type'),
	]
		.flat()
		.sort()
	assert.ok(known.length > 40, `${known.length} messages found in src/ipc`)
	const named = new Set(
		[...read('docs/protocol-warden.md').matchAll(/`((?:OP|RE|EV|EG|HK|AU|FE|OI)_[A-Z_]+)`/g)].map(
			(m) => m[1],
		),
	)
	assert.deepEqual([...named].sort(), known)
})

test('make help has every target', () => {
	const text = read('Makefile')
	const targets = /^\.PHONY: (.*)$/m
		.exec(text)[1]
		.split(' ')
		.filter((name) => !['build', 'ready', 'help'].includes(name))
	assert.deepEqual(
		targets.filter((name) => !text.includes(`@echo 'make ${name} `)),
		[],
	)
})

// The text of all C sources, with string literals that follow each other as one.
const literals = () =>
	sources(SRC)
		.map((file) => fs.readFileSync(file, 'utf8'))
		.join('\n')
		.replace(/"\s*\n?\s*"/g, '')
		.replace(/\\"/g, '"')

const FOREIGN = ['Address already in use', 'self-signed certificate in certificate chain'] // of libc and of OpenSSL

test('messages that the page on troubleshooting explains are those of the programs', () => {
	const text = literals(),
		missing = []
	for (const after of ['## The server does not start', '## A client gets an error']) {
		for (const [cell] of table('docs/troubleshooting.md', after)) {
			for (const [, message] of cell.matchAll(/`([^`]+)`/g)) {
				// What varies is written as '...', a number, N or an address; a file name is no
				// message.
				const parts = message
					.split(/'\.\.\.[^']*'|\.\.\.|…|'[^']*'|\b[N\d][\d.:]*\b|\(|\)|: /)
					.map((part) => part.trim())
					.filter((part) => part.length >= 10)
				missing.push(
					...parts
						.filter((part) => !text.includes(part) && !FOREIGN.includes(part))
						.map((part) => `${message}: '${part}'`),
				)
			}
		}
	}
	assert.deepEqual(missing, [])
})

// Tables, programs and comments may be wider, and so may a line of one word.
test('prose wraps at 100 columns', () => {
	const long = pages()
		.filter((page) => page.endsWith('.md'))
		.flatMap((page) => {
			let fenced = false
			return read(page)
				.split('\n')
				.flatMap((line, i) => {
					if (line.startsWith('```')) fenced = !fenced
					const prose = !fenced && !/^(\||\t| {4}|<!--|```)/.test(line)
					return prose && [...line].length > 100 && /\S \S/.test(line.slice(0, 100))
						? [`${page}:${i + 1}`]
						: []
				})
		})
	assert.deepEqual(long, [])
})

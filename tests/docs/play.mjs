// SPDX-License-Identifier: Apache-2.0
// A case for each block of the pages: run, or skipped with the reason.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from '../lib/case.mjs'
import { installPython } from '../lib/pip.mjs'
import { server } from '../lib/client.mjs'
import { blocksOf, pages, TOP } from './blocks.mjs'
import { Stage } from './stage.mjs'
import { SETUPS } from './setups.mjs'

const npm = fs.existsSync(path.join(process.env.ATOLL_TEST_NPM ?? '', 'node_modules'))
	? process.env.ATOLL_TEST_NPM
	: null
const python = path.join(server.buildDir, 'test-clients/py')
const only = process.env.ATOLL_DOCS_ONLY ?? '' // part of the name of a page, for who writes it
let noPython

export const all = pages()
	.flatMap(blocksOf)
	.filter((b) => b.what !== 'text')
export const needsNone = (b) => b.server === 'none'

// Lines that a person types; those of a console have a prompt, and what is between them is what was answered.
function script(text) {
	const lines = text.split('\n')
	const typed = lines.some((l) => l.startsWith('$ '))
		? lines.filter((l) => l.startsWith('$ ')).map((l) => l.slice(2))
		: lines
	return typed
		.map((l) => {
			const serve = /\batoll serve\b(.*)&\s*(#.*)?$/.exec(l)
			return serve ? `${l}\nready ${/--listen (\S+)/.exec(serve[1])?.[1] ?? '127.0.0.1:8080'}` : l
		})
		.join('\n')
}

function checkJson(text) {
	try {
		JSON.parse(text)
	} catch {
		for (const line of text.split('\n').filter(Boolean))
			// or one value per line
			JSON.parse(line)
	}
}

const RUN = {
	sh: (stage, b) => stage.shell(script(b.text), { alone: needsNone(b) }),
	js: (stage, b) => {
		stage.file(`block-${b.line}.mjs`, b.text)
		return stage.shell(`node --no-warnings block-${b.line}.mjs`)
	},
	py: (stage, b) => {
		stage.file(`block-${b.line}.py`, b.text)
		return stage.shell(`python block-${b.line}.py`)
	},
	c: (stage, b) => {
		stage.file(`block-${b.line}.c`, b.text)
		return stage.shell(
			`cc -Wall -Wextra -Werror $CFLAGS -o block-${b.line} block-${b.line}.c $(pkg-config ` +
				`--cflags --libs libatoll)\n./block-${b.line}`,
		)
	},
	conf: (stage, b) => {
		stage.file('block.conf', b.text)
		return stage.shell('atolld --config "$PWD/block.conf" --version')
	},
	json: (stage, b) => {
		checkJson(b.text)
		return { code: 0, out: '' }
	},
}

function testedBy(b) {
	const [file] = b.why.split(' ')
	assert.ok(
		fs.readFileSync(path.join(TOP, file), 'utf8').includes(b.page),
		`${file} does not say that it runs what ${b.page} has`,
	)
}

async function play(t, stage, b) {
	if (b.what === 'not run') {
		t.skip(b.why)
		return
	}
	if (b.what === 'tested by') {
		testedBy(b)
		return
	}
	if (b.file) {
		stage.file(b.file, b.text)
		return
	}
	const why =
		(b.kind === 'js' || b.clients) && !npm
			? 'the official clients could not be installed from npm'
			: b.kind === 'py'
				? noPython
				: null
	if (why) {
		t.skip(why)
		return
	}
	assert.ok(
		RUN[b.kind],
		`what is to be done with '${b.kind}'? Give the fence a language that tests/docs knows, or say that ` +
			`it is <!-- text -->`,
	)
	if (b.setup) SETUPS[b.setup](stage)
	const got = await RUN[b.kind](stage, b)
	assert.equal(got.code, 0, `${b.page}:${b.line} ended with ${got.code}:\n${b.text}\n${got.out.slice(-2000)}`)
	if (b.expect)
		assert.ok(
			got.out.includes(b.expect),
			`${b.page}:${b.line} does not print '${b.expect}', but:\n${got.out.slice(-2000)}`,
		)
}

// A case for each of those, page by page. own(): the server that they are for.
export function playAll(blocks, own, skip) {
	if (skip) {
		test(`${blocks.length} blocks of the pages`, { skip }, () => {})
		return
	}
	for (const page of new Set(blocks.filter((b) => b.page.includes(only)).map((b) => b.page))) {
		let stage
		test(`${page} is opened`, { timeout: 300_000 }, () => {
			noPython ??= installPython(python, ['e2b', 'e2b-code-interpreter']) ?? ''
			stage = new Stage(page, own(), { npm, python: noPython ? null : python })
		})
		for (const b of blocks.filter((one) => one.page === page))
			test(`${page}:${b.line} ${b.kind}`, { timeout: 200_000 }, (t) => play(t, stage, b))
		test(`${page} is closed`, () => stage.remove())
	}
}

// SPDX-License-Identifier: Apache-2.0
// Every command and program of README, manual pages and docs/, run as it stands there. A block that is not run is listed with the reason.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { installPython } from '../lib/pip.mjs'
import { server } from '../lib/client.mjs'
import { blocksOf, pages, read, TOP } from './blocks.mjs'
import { pageServer, RUN_DIR, somebodysServer, Stage } from './stage.mjs'
import { SETUPS } from './setups.mjs'

const NOT_RUN_MAX = 12			// of all pages; each with a reason that is worth reading
const npm = fs.existsSync(path.join(process.env.ATOLL_TEST_NPM ?? '', 'node_modules')) ? process.env.ATOLL_TEST_NPM : null
const only = process.env.ATOLL_DOCS_ONLY ?? ''
const busy = somebodysServer() && 'there is a server in /var/lib/atoll here, where these commands would look for one'
let own, python, noPython

before(async () => {
	if (busy)
		return
	own = await pageServer(server.buildDir, { pool_size_mb: 2048, warm_pool_size: 2, default_memory_mb: 1024, default_disk_mb: 1024 }).start()
	python = path.join(server.buildDir, 'test-clients/py')
	noPython = installPython(python, ['e2b', 'e2b-code-interpreter'])
})
after(async () => {
	if (!own)
		return
	spawnSync(path.join(server.buildDir, 'src/cli/atoll'), ['kill', '--all', '--state', own.stateDir])
	const end = await own.stop()
	if (own.madeRun)
		fs.rmSync(RUN_DIR, { recursive: true, force: true })
	assert.ok(end.clean, JSON.stringify(end.left))
})

// Lines that a person types; those of a console have a prompt, and what is between them is what was answered.
function script(text) {
	const lines = text.split('\n')
	const typed = lines.some((l) => l.startsWith('$ ')) ? lines.filter((l) => l.startsWith('$ ')).map((l) => l.slice(2)) : lines
	return typed.map((l) => {
		const serve = /\batoll serve\b(.*)&\s*(#.*)?$/.exec(l)
		return serve ? `${l}\nready ${/--listen (\S+)/.exec(serve[1])?.[1] ?? '127.0.0.1:8080'}` : l
	}).join('\n')
}

function checkJson(text) {
	try {
		JSON.parse(text)
	} catch {
		for (const line of text.split('\n').filter(Boolean))	// or one value per line
			JSON.parse(line)
	}
}

const RUN = {
	sh: (stage, b) => stage.shell(script(b.text), { alone: b.server === 'none' }),
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
		return stage.shell(`cc -Wall -Wextra -Werror -o block-${b.line} block-${b.line}.c $(pkg-config --cflags --libs libatoll)\n./block-${b.line}`)
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
	assert.ok(fs.readFileSync(path.join(TOP, file), 'utf8').includes(b.page), `${file} does not say that it runs what ${b.page} has`)
}

async function runBlock(t, stage, b) {
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
	const why = (b.kind === 'js' || b.clients) && !npm ? 'the official clients could not be installed from npm' : b.kind === 'py' ? noPython : null
	if (why) {
		t.skip(why)
		return
	}
	assert.ok(RUN[b.kind], `what is to be done with '${b.kind}'? Give the fence a language that tests/docs/blocks.mjs knows, or say that it is <!-- text -->`)
	if (b.setup)
		SETUPS[b.setup](stage)
	const got = await RUN[b.kind](stage, b)
	assert.equal(got.code, 0, `${b.page}:${b.line} ended with ${got.code}:\n${b.text}\n${got.out.slice(-2000)}`)
	if (b.expect)
		assert.ok(got.out.includes(b.expect), `${b.page}:${b.line} does not print '${b.expect}', but:\n${got.out.slice(-2000)}`)
}

const all = pages().map((page) => [page, blocksOf(page).filter((b) => b.what !== 'text')])

for (const [page, blocks] of all.filter(([page, list]) => list.length && page.includes(only))) {
	let stage
	test(`${page}: ${blocks.length} blocks`, { skip: busy }, () => {
		stage = new Stage(page, own, { npm, python: noPython ? null : python })
	})
	for (const b of blocks)
		test(`${b.page}:${b.line} ${b.kind}`, { timeout: 200_000, skip: busy }, (t) => runBlock(t, stage, b))
	test(`${page}: is left`, { skip: busy }, () => stage.remove())
}

test('nearly all of them are run', () => {
	const none = all.flatMap(([, list]) => list).filter((b) => b.what === 'not run')
	assert.ok(none.length <= NOT_RUN_MAX, none.map((b) => `${b.page}:${b.line}: ${b.why}`).join('\n'))
	assert.ok(none.every((b) => b.why.length > 15), 'each has a reason')
})

test('what pages link to is there', () => {
	const broken = pages().filter((page) => page.endsWith('.md')).flatMap((page) =>
		[...read(page).matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)].map((m) => m[1])
			.filter((to) => !fs.existsSync(path.resolve(TOP, path.dirname(page), to))).map((to) => `${page}: ${to}`))
	assert.deepEqual(broken, [])
})

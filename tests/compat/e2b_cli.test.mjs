// SPDX-License-Identifier: Apache-2.0
// The official command line client: every verb that works on sandboxes, with an API key only. What it can do is a
// column of docs/compatibility.md; docs/clients.md shows some.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { terminal } from '../lib/cli.mjs'
import { api, createRaw, killRaw, server } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { IDS } from './capabilities.mjs'
import { installCli, PACKAGE, PROGRAM } from './e2b_cli.mjs'
import { holdToTable } from './hold.mjs'

const HOME = path.join(server.buildDir, 'test-clients/cli-home') // somebody's login must not be used, nor changed
const MARK = `cli-${process.pid}`
const found = {}
let sbx, why

before(async () => {
	why = installCli()
	fs.mkdirSync(HOME, { recursive: true })
	if (!why) sbx = await createRaw({ timeout: 300, metadata: { mark: MARK } })
})
after(() => sbx && killRaw(sbx))

function environment(key = server.key) {
	const env = { ...process.env, HOME, E2B_API_KEY: key, NO_COLOR: '1', NO_UPDATE_NOTIFIER: '1' }
	delete env.FORCE_COLOR
	return env
}

function e2b(args, { input = '', key, onText = () => {} } = {}) {
	return new Promise((done) => {
		const child = spawn(process.execPath, [PROGRAM, ...args], { env: environment(key), timeout: 60000 })
		let out = '',
			err = ''
		child.stdout.on('data', (part) => {
			out += part
			onText(out)
		})
		child.stderr.on('data', (part) => {
			err += part
		})
		child.once('close', (code, signal) => done({ code: signal ?? code, out, err }))
		child.stdin.on('error', () => {})
		child.stdin.end(input)
	})
}

async function ok(...args) {
	const got = await e2b(args)
	assert.equal(got.code, 0, `e2b ${args.join(' ')}: ${got.out}${got.err}`)
	return got.out
}

// Of `--format json`: one value, or one per line, after headings in words.
const lines = (text) =>
	text
		.split('\n')
		.filter((line) => line.startsWith('{'))
		.map((line) => JSON.parse(line))

// ids: the rows of the table that this shows.
function cli(name, ids, fn) {
	test(name, async (t) => {
		if (why) return t.skip(why)
		for (const id of ids) found[id] = { outcome: 'no', why: name }
		await fn(t)
		for (const id of ids) found[id] = { outcome: 'yes' }
	})
}

const running = async (id) => (await api('GET', `/sandboxes/${id}`)).json?.state

cli('sandbox list, with filters', ['sandbox.list'], async () => {
	const id = sbx.sandboxID
	assert.match(await ok('sandbox', 'list'), new RegExp(`${id}.*base.*Running`))
	const listed = async (...args) =>
		JSON.parse(await ok('sandbox', 'list', '--format', 'json', ...args)).map((one) => one.sandboxId)
	assert.deepEqual(await listed('--metadata', `mark=${MARK}`), [id])
	assert.deepEqual(await listed('--metadata', `mark=${MARK}x`), [])
	assert.ok((await listed('--template', 'base', '--state', 'running', '--order', 'asc')).includes(id))
	assert.ok(!(await listed('--state', 'paused')).includes(id))
	assert.deepEqual(
		await listed(
			'--metadata',
			`mark=${MARK}`,
			'--started-after',
			new Date(Date.now() + 3600e3).toISOString(),
		),
		[],
	)
})

cli('sandbox info', ['sandbox.info'], async () => {
	assert.match(await ok('sandbox', 'info', sbx.sandboxID), /State: running/)
	const info = JSON.parse(await ok('sandbox', 'info', sbx.sandboxID, '--format', 'json'))
	const want = (await api('GET', `/sandboxes/${sbx.sandboxID}`)).json
	assert.deepEqual(
		[
			info.sandboxId,
			info.templateId,
			info.name,
			info.state,
			info.cpuCount,
			info.memoryMB,
			info.metadata,
			info.lifecycle,
		],
		[
			sbx.sandboxID,
			want.templateID,
			'base',
			'running',
			want.cpuCount,
			want.memoryMB,
			{ mark: MARK },
			{ onTimeout: 'kill', autoResume: false },
		],
	)
	assert.equal(Date.parse(info.endAt), Date.parse(want.endAt))
})

cli(
	'sandbox exec: output, code, user, directory, environment, stdin',
	['commands.run', 'commands.error', 'commands.background', 'commands.stdin', 'commands.eof'],
	async () => {
		assert.equal(await ok('sandbox', 'exec', sbx.sandboxID, 'echo', 'hello there'), 'hello there\n')
		const all = await e2b([
			'sandbox',
			'exec',
			'-u',
			'root',
			'-c',
			'/tmp',
			'-e',
			'A=b',
			sbx.sandboxID,
			'sh',
			'-c',
			'id -un; pwd; echo $A; echo e >&2; exit 3',
		])
		assert.equal(all.code, 3, all.err)
		assert.equal(all.out, 'root\n/tmp\nb\n')
		assert.match(all.err, /^e$/m)
		const input = 'line ä\n'.repeat(20000)
		const piped = await e2b(['sandbox', 'exec', sbx.sandboxID, 'sh', '-c', 'sleep 1; cat'], { input })
		assert.equal(piped.code, 0, piped.err)
		assert.ok(piped.out === input, `${piped.out.length} of ${input.length} came back`)
		const background = await e2b(['sandbox', 'exec', '-b', sbx.sandboxID, 'sleep', '77'])
		assert.equal(background.code, 0, background.err)
		assert.match(
			await ok('sandbox', 'exec', sbx.sandboxID, 'ps', '-o', 'args', '-p', background.err.trim()),
			/sleep 77/,
		)
	},
)

cli('sandbox metrics', ['sandbox.metrics'], async () => {
	let got
	assert.ok(
		await until(
			async () => {
				got = lines(await ok('sandbox', 'metrics', '--format', 'json', sbx.sandboxID))
				return got.length > 0
			},
			20000,
			500,
		),
		'no metrics at all',
	)
	assert.ok(got[0].cpuCount > 0 && got[0].memTotal > 0 && got[0].diskTotal > 0, JSON.stringify(got[0]))
	assert.match(await ok('sandbox', 'metrics', sbx.sandboxID), /CPU:.*Memory:.*Disk:/)
})

cli('sandbox logs', [], async () => {
	const got = lines(await ok('sandbox', 'logs', '--format', 'json', sbx.sandboxID))
	assert.ok(
		got.some((line) => line.message === 'sandbox created' && line.level === 'info'),
		JSON.stringify(got),
	)
	assert.match(await ok('sandbox', 'logs', sbx.sandboxID), /INFO .*sandbox created/)
	assert.doesNotMatch(await ok('sandbox', 'logs', '--level', 'ERROR', sbx.sandboxID), /sandbox created/)
})

cli('template create from a Dockerfile, list, publish, delete', [], async () => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-e2b-cli-'))
	const name = `cli-made-${process.pid}`
	try {
		fs.writeFileSync(
			path.join(dir, 'e2b.Dockerfile'),
			'FROM e2bdev/base\nENV COLOUR=green\nCOPY page.txt /srv/page.txt\nRUN cp /srv/page.txt ' +
				'/srv/copy.txt\n',
		)
		fs.writeFileSync(path.join(dir, 'page.txt'), 'a page\n')
		const create = [
			'template',
			'create',
			name,
			'--path',
			dir,
			'--cpu-count',
			'1',
			'--memory-mb',
			'512',
			'--cmd',
			'sleep 4321',
			'--ready-cmd',
			'pgrep -f "sleep 4321"',
		]
		assert.match(await ok(...create), new RegExp(`${name}.* finished`))
		const text = await ok('template', 'list', '--format', 'json'),
			listed = JSON.parse(text.slice(text.indexOf('[')))
		const one = listed.find((t) => t.aliases.includes(name))
		assert.deepEqual([one.buildStatus, one.envdVersion], ['ready', sbx.envdVersion])
		assert.ok(!listed.some((t) => t.aliases.includes('base')), "the templates of the server are no team's")
		assert.match(await ok('template', 'list'), new RegExp(name))
		const made = await createRaw({ templateID: name, timeout: 60 })
		try {
			assert.equal(
				await ok(
					'sandbox',
					'exec',
					made.sandboxID,
					'sh',
					'-c',
					'cat /srv/copy.txt; echo $COLOUR; pgrep -fc "^sleep 4321"',
				),
				'a page\ngreen\n1\n',
			)
		} finally {
			await killRaw(made)
		}
		fs.writeFileSync(path.join(dir, 'e2b.Dockerfile'), 'FROM e2bdev/base\nRUN echo on the way; exit 9\n')
		const failed = await e2b(create)
		assert.equal(failed.code, 1)
		assert.match(failed.out + failed.err, /exit status 9/)
		const isPublic = async () => (await api('GET', `/templates/${name}`)).json.public
		await ok('template', 'publish', '-y', name)
		assert.equal(await isPublic(), true)
		await ok('template', 'unpublish', '-y', name)
		assert.equal(await isPublic(), false)
		await ok('template', 'delete', '-y', name)
		assert.equal((await api('GET', `/templates/${name}`)).status, 404)
	} finally {
		fs.rmSync(dir, { recursive: true })
	}
})

cli('sandbox create, kill, and what is gone', ['sandbox.create', 'sandbox.timeout', 'sandbox.kill'], async () => {
	const id = (await ok('sandbox', 'create', '--detach', '--timeout', '60', 'base')).trim().split(/\s+/).at(-1)
	const { json } = await api('GET', `/sandboxes/${id}`)
	assert.equal(Math.round((Date.parse(json.endAt) - Date.parse(json.startedAt)) / 1000), 60, id)
	assert.match(await ok('sandbox', 'kill', id), /has been killed/)
	assert.equal((await api('GET', `/sandboxes/${id}`)).status, 404)
	assert.match((await e2b(['sandbox', 'kill', id])).err, /wasn't found/)
	for (const args of [
		['info', id],
		['exec', id, 'true'],
		['metrics', id],
	]) {
		const got = await e2b(['sandbox', ...args])
		assert.equal(got.code, 1, `${args[0]}: ${got.out}`)
		assert.match(got.err, /not found|wasn't found/)
	}
	assert.match(await ok('sandbox', 'logs', id), /sandbox killed/, 'the logs outlive the sandbox')
})

cli(
	'sandbox connect: a terminal with its size, user, directory and variables',
	['sandbox.connect', 'pty.create', 'pty.resize'],
	() => {
		const got = terminal(
			[
				process.execPath,
				PROGRAM,
				'sandbox',
				'connect',
				'-u',
				'root',
				'-c',
				'/tmp',
				'-e',
				'A=b',
				sbx.sandboxID,
			],
			[
				{ expect: '# ' },
				{ send: 'stty size; echo "<$(pwd) $(id -un) $A>"\r' },
				{ expect: '24 80' },
				{ expect: '</tmp root b>' },
				{ resize: [50, 132] },
				{ send: 'while [ "$(stty size)" = "24 80" ]; do sleep 0.1; done; stty size\r' },
				{ expect: '50 132' },
				{ send: 'exit\r' },
			],
			{ env: environment() },
		)
		assert.deepEqual([got.code, got.ended], [0, true], got.screen)
	},
)

cli('sandbox create: a terminal in a new sandbox, which ends with it', [], async () => {
	const got = terminal(
		[process.execPath, PROGRAM, 'sandbox', 'create', 'base'],
		[
			{ expect: '$ ' },
			{ send: 'echo "id=$E2B_SANDBOX_ID="\r' },
			{ expect: 'id=i' },
			{ expect: '=' },
			{ send: 'exit\r' },
		],
		{ env: environment() },
	)
	assert.equal(got.ended, true, got.screen)
	const [, id] = /id=(i[a-z0-9]{19})=/.exec(got.screen)
	assert.ok(
		await until(async () => (await running(id)) === undefined, 10000, 200),
		`${id} is ${await running(id)}`,
	)
})

cli('sandbox pause and resume', ['sandbox.pause'], async () => {
	const one = await createRaw({ timeout: 120 })
	try {
		const background = await e2b(['sandbox', 'exec', '-b', one.sandboxID, 'sleep', '78'])
		assert.equal(background.code, 0, background.err)
		await ok('sandbox', 'pause', one.sandboxID)
		assert.equal(await running(one.sandboxID), 'paused')
		assert.match(await ok('sandbox', 'list', '--state', 'paused'), new RegExp(one.sandboxID))
		await ok('sandbox', 'resume', one.sandboxID)
		assert.equal(await running(one.sandboxID), 'running')
		assert.match(
			await ok('sandbox', 'exec', one.sandboxID, 'ps', '-o', 'args', '-p', background.err.trim()),
			/sleep 78/,
		)
	} finally {
		await killRaw(one)
	}
})

cli('sandbox logs follow until the sandbox ends', [], async () => {
	const one = await createRaw({ timeout: 120 })
	let text = ''
	const following = e2b(['sandbox', 'logs', '-f', '--format', 'json', one.sandboxID], {
		onText: (all) => {
			text = all
		},
	})
	assert.ok(await until(() => text.includes('sandbox created'), 30000), 'it does not begin')
	await e2b(['sandbox', 'exec', one.sandboxID, 'true'])
	await killRaw(one)
	const got = await following
	assert.equal(got.code, 0, got.err)
	assert.ok(
		lines(got.out).some((line) => line.message === 'sandbox created'),
		got.out,
	)
})

cli('sandbox kill --all by metadata leaves the others', [], async () => {
	const [one, two] = await Promise.all(
		['a', 'b'].map((v) => createRaw({ timeout: 60, metadata: { of: `${MARK}-${v}` } })),
	)
	try {
		await ok('sandbox', 'kill', '--all', '--metadata', `of=${MARK}-a`)
		assert.equal((await api('GET', `/sandboxes/${one.sandboxID}`)).status, 404)
		assert.equal((await api('GET', `/sandboxes/${two.sandboxID}`)).status, 200)
	} finally {
		await killRaw(one)
		await killRaw(two)
	}
})

cli('a wrong key is told', [], async () => {
	const got = await e2b(['sandbox', 'list'], { key: `e2b_${'0'.repeat(40)}` })
	assert.equal(got.code, 1, got.out)
	assert.match(got.err, /401|[Uu]nauthorized|API key/)
})

holdToTable({ id: 'cli', title: 'CLI' }, () => {
	if (why) return { skip: why }
	const { version } = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json'), 'utf8'))
	const results = Object.fromEntries(IDS.map((id) => [id, found[id] ?? { outcome: 'none' }]))
	return { versions: { '@e2b/cli': version }, results }
})

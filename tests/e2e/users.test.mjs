// SPDX-License-Identifier: Apache-2.0
// OS users inside: user, root, others, unknown ones; sudo.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, envd, killRaw, outputOf, rpc, runAny, sdk, start, stream } from '../lib/client.mjs'

let sbx, raw

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 300000 })
	raw = await createRaw({ timeout: 300 })
})
after(async () => {
	await sbx?.kill()
	await killRaw(raw)
})

test('the default user is user, uid 1000, in its home', async () => {
	const got = await sbx.commands.run('id -un; id -u; id -gn; echo $HOME $USER $LOGNAME; pwd; echo $SHELL')
	assert.equal(got.stdout, 'user\n1000\nuser\n/home/user user user\n/home/user\n/bin/bash\n')
})

test('root on request', async () => {
	const got = await sbx.commands.run('id -u; echo $HOME; pwd; id -G', { user: 'root' })
	assert.equal(got.stdout, '0\n/root\n/root\n0\n')
})

test('a user made inside, with its supplementary groups', async () => {
	await sbx.commands.run('groupadd -g 4321 crew && useradd -m -G crew other', { user: 'root' })
	const got = await sbx.commands.run('id -un; id -Gn; pwd', { user: 'other' })
	assert.equal(got.stdout, 'other\nother crew\n/home/other\n')
})

test('an unknown user is unauthenticated, by name', async () => {
	const { AuthenticationError } = sdk()
	const err = await sbx.commands.run('id', { user: 'nobody-here' }).catch((e) => e)
	assert.ok(err instanceof AuthenticationError, String(err))
	assert.match(err.message, /invalid username: 'nobody-here'/)
	const stat = await rpc(raw, 'filesystem.Filesystem/Stat', { path: '/' }, { user: 'nobody-here' })
	assert.equal(stat.status, 401)
	assert.deepEqual(stat.json, { code: 'unauthenticated', message: "invalid username: 'nobody-here'" })
	const file = await envd(raw, 'GET', '/files?path=/etc/passwd&username=nobody-here')
	assert.equal(file.status, 401)
	assert.equal(file.json.code, 401)
	const up = await envd(raw, 'POST', '/files?path=/tmp/x&username=nobody-here', 'x', {
		headers: { 'Content-Type': 'application/octet-stream' },
	})
	assert.equal(up.status, 401)
	assert.equal((await envd(raw, 'GET', '/files?path=/tmp/x')).status, 404, 'written for nobody')
})

test(
	'C8: an unknown user is refused on every path of envd, and a header that names nobody is the ' + 'default user',
	async () => {
		const as = (text) => ({ headers: { Authorization: `Basic ${text}` } })
		const nobody = Buffer.from('nobody-here:').toString('base64')
		for (const [method, path] of [
			['GET', '/files?path=/etc/passwd'],
			['GET', '/health'],
			['GET', '/envs'],
			['POST', '/files?path=/tmp/never'],
		]) {
			const got = await envd(raw, method, path, undefined, as(nobody))
			assert.equal(got.status, 401, `${method} ${path}`)
			assert.deepEqual(
				got.json,
				{ code: 'unauthenticated', message: "invalid username: 'nobody-here'" },
				`${method} ${path}`,
			)
		}
		assert.equal((await envd(raw, 'GET', '/files?path=/tmp/never')).status, 404)
		for (const text of ['%%%', Buffer.from('root').toString('base64')]) {
			const run = await stream(
				raw,
				'process.Process/Start',
				{ process: { cmd: 'id', args: ['-un'] } },
				as(text),
			)
			await run.ended
			assert.equal(outputOf(run.events), 'user\n', text)
		}
	},
)

test('user names that try to be paths or lines are just unknown', async () => {
	for (const user of ['../root', 'root:x', 'a'.repeat(5000), 'root\n', ' root', '']) {
		const run = await stream(
			raw,
			'process.Process/Start',
			{ process: { cmd: 'id' } },
			{
				headers: { Authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}` },
			},
		)
		const over = await run.ended
		if (user === '') continue /* an empty name may mean the default */
		if (user === 'root:x')
			continue /* splits at the first colon: user root with a password that nobody checks */
		assert.ok(
			run.status === 401 || run.status === 431 || over.trailer?.error?.code === 'unauthenticated',
			`'${user.slice(0, 20)}'`,
		)
	}
	const bad = await rpc(raw, 'process.Process/List', {}, { headers: { Authorization: 'Basic !!!' } })
	assert.ok(bad.status < 500, `${bad.status}`)
})

test('passwordless sudo works and is quick', async () => {
	const began = Date.now()
	const got = await sbx.commands.run(
		'sudo id -u && sudo -u user id -u && sudo sh -c "echo x > /etc/made-by-sudo" && cat /etc/made-by-sudo',
	)
	assert.equal(got.stdout, '0\n1000\nx\n')
	assert.equal(got.stderr, '')
	assert.ok(Date.now() - began < 15000) // three times, and none looks for its host's name in vain
})

test('su and passwd tools work as root', async () => {
	assert.equal((await sbx.commands.run('su user -c "id -un"', { user: 'root' })).stdout, 'user\n')
})

test('files belong to the user who asked', async () => {
	await sbx.files.write('/tmp/of-root', 'x', { user: 'root' })
	await sbx.files.write('/tmp/of-user', 'x')
	assert.equal(
		(await sbx.commands.run('stat -c "%U:%G" /tmp/of-root /tmp/of-user')).stdout,
		'root:root\nuser:user\n',
	)
	await sbx.files.makeDir('in-root', { user: 'root' })
	assert.equal((await sbx.files.getInfo('/root/in-root')).owner, 'root')
})

test("user cannot read what is root's, root can", async () => {
	await sbx.commands.run('echo secret > /root/s; chmod 600 /root/s', { user: 'root' })
	assert.notEqual((await runAny(sbx, 'cat /root/s')).exitCode, 0)
	const run = await start(raw, 'cat /etc/shadow')
	await run.ended
	assert.ok(!JSON.stringify(run.events).includes('"stdout"'), 'user reads /etc/shadow')
})

test('the directories that users expect are there', async () => {
	const got = await sbx.commands.run(
		'for d in /workspace /code /usr/local /tmp /home/user; do test -w $d && echo ok $d; done; hostname; ' +
			'cat /etc/hostname; getent hosts e2b.local | head -1',
	)
	for (const dir of ['/workspace', '/code', '/usr/local', '/tmp', '/home/user'])
		assert.match(got.stdout, new RegExp(`ok ${dir}\\n`))
	assert.match(got.stdout, /e2b\.local/)
})

test('the base template has what a program of an agent needs', async () => {
	for (const tool of [
		'bash',
		'python3',
		'python',
		'node',
		'npm',
		'git',
		'curl',
		'sudo',
		'ps',
		'ip',
		'tput',
		'tar',
		'gzip',
		'less',
		'find',
	])
		assert.equal((await runAny(sbx, `command -v ${tool}`)).exitCode, 0, tool)
	assert.equal(
		(await runAny(sbx, 'git daemon --help >/dev/null 2>&1; test -x "$(git --exec-path)/git-daemon"'))
			.exitCode,
		0,
		'git daemon',
	)
	assert.equal((await sbx.commands.run('node -e "console.log(1+1)"')).stdout, '2\n')
	assert.equal((await sbx.commands.run('python3 -c "print(1+1)"')).stdout, '2\n')
	assert.match((await sbx.commands.run('cat /etc/os-release')).stdout, /VERSION_ID="13"/)
})

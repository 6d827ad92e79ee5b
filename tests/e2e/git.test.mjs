// SPDX-License-Identifier: Apache-2.0
// The SDK's git module in /workspace, with local, smart-HTTP and SSH remotes; where credentials may be seen and where
// not. The ways that docs/git.md shows.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, runAny, sdk, server } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'

const LIB = path.join(path.dirname(fileURLToPath(import.meta.url)), '../lib')
const TOKEN = `tok_${crypto.randomBytes(16).toString('hex')}`
const HTTP = 'http://127.0.0.1:8418',
	SSH_PORT = 2222
let sbx

async function sh(command, opt) {
	const res = await runAny(sbx, command, opt)
	assert.equal(res.exitCode, 0, `${command}: ${res.stderr}`)
	return res.stdout
}

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 600000, envs: { GITHUB_TOKEN: TOKEN } })
	await sbx.git.configureUser('Agent', 'agent@example.org')
	await sh(
		'mkdir -p /workspace/remotes && cd /workspace/remotes && for r in a b c d; do git init -q --bare ' +
			'-b main $r.git; ' +
			'git -C $r.git config http.receivepack true; done',
	)
	await sbx.files.write('/workspace/git_http.py', fs.readFileSync(path.join(LIB, 'git_http.py'), 'utf8'))
	await sbx.commands.run('python3 /workspace/git_http.py 8418 /workspace/remotes agent "$GITHUB_TOKEN"', {
		background: true,
		timeoutMs: 0,
	})
	assert.ok(
		await until(
			async () => (await runAny(sbx, 'curl -s -o /dev/null http://127.0.0.1:8418/')).exitCode === 0,
		),
	)
})
after(() => sbx?.kill())

// A repository with one commit that is pushed to a remote.
async function seed(name, remote) {
	const dir = `/workspace/${name}`
	await sbx.git.init(dir, { initialBranch: 'main' })
	await sbx.files.write(`${dir}/README.md`, `# ${name}\n`)
	await sbx.git.add(dir)
	await sbx.git.commit(dir, 'first')
	await sbx.git.remoteAdd(dir, 'origin', remote)
	return dir
}

async function history(dir) {
	return (await sh(`git -C ${dir} log --format=%s`)).trim().split('\n')
}

test('/workspace is there and belongs to the default user', async () => {
	assert.equal((await sh('stat -c %U /workspace')).trim(), 'user')
	await sh('touch /workspace/mine && rm /workspace/mine')
})

test('a local remote: push, clone, branch, pull, status, conflict', async () => {
	const dir = await seed('local', '/workspace/remotes/a.git')
	await sbx.git.push(dir, { remote: 'origin', branch: 'main', setUpstream: true })
	await sbx.git.clone('/workspace/remotes/a.git', { path: '/workspace/copy' })
	assert.deepEqual(await history('/workspace/copy'), ['first'])
	await sbx.git.createBranch('/workspace/copy', 'topic')
	assert.equal((await sbx.git.branches('/workspace/copy')).currentBranch, 'topic')
	await sbx.files.write('/workspace/copy/new.txt', 'x')
	const dirty = await sbx.git.status('/workspace/copy')
	assert.deepEqual(
		dirty.fileStatus.map((f) => f.name),
		['new.txt'],
	)
	await sbx.git.add('/workspace/copy')
	await sbx.git.commit('/workspace/copy', 'second')
	await sbx.git.checkoutBranch('/workspace/copy', 'main')
	await sh('git -C /workspace/copy merge -q topic')
	await sbx.git.push('/workspace/copy')
	await sbx.git.pull(dir)
	assert.deepEqual(await history(dir), ['second', 'first'])
	await sbx.files.write(`${dir}/README.md`, 'mine\n')
	await sbx.git.commit(dir, 'mine', { allowEmpty: true }).catch(() => {})
	await sh(
		`cd ${dir} && git commit -qam mine; cd /workspace/copy && echo theirs > README.md && git commit ` +
			`-qam theirs && git push -q`,
	)
	const clash = await sbx.git.pull(dir).catch((err) => err)
	assert.ok(clash instanceof Error, 'a conflict is an error')
	// A4: git itself wants to be told how to join the branches; the tool of agents merges, and undoes what it
	// cannot.
	const pull = async (more) =>
		(await api('POST', '/agent/tools/git_pull', { path: dir, sandbox_id: sbx.sandboxId, ...more })).json
	assert.match((await pull({})).content[0].text, /conflict in README\.md; the pull was undone/)
	assert.equal((await sbx.git.status(dir)).hasConflicts, false)
	assert.match((await pull({ keep_conflict: true })).content[0].text, /README\.md/)
	assert.equal((await sbx.git.status(dir)).hasConflicts, true)
})

test('text from outside is never run', async () => {
	const dir = await seed('odd', '/workspace/remotes/d.git')
	const message = `it's "quoted" \`touch /tmp/ran\` $(touch /tmp/ran); touch /tmp/ran\n\nsecond line -x --`
	await sbx.files.write(`${dir}/-rf; touch ran`, 'x')
	await sbx.git.add(dir, { files: ['-rf; touch ran'] })
	await sbx.git.commit(dir, message)
	assert.equal((await sh(`git -C ${dir} log -1 --format=%B`)).trim(), message)
	await sbx.git.createBranch(dir, 'a;touch${IFS}ran').catch(() => {})
	await sbx.git.createBranch(dir, '--orphan=x').catch(() => {})
	await sbx.git.clone('ext::sh -c touch% /tmp/ran', { path: '/workspace/ext' }).catch(() => {})
	assert.equal((await runAny(sbx, `ls /tmp/ran ${dir}/ran`)).stdout, '')
})

test('smart HTTP: refused without credentials, cloned and pushed with them, none of them kept', async () => {
	const { GitAuthError } = sdk()
	const dir = await seed('web', `${HTTP}/b.git`)
	await assert.rejects(sbx.git.push(dir, { remote: 'origin', branch: 'main', setUpstream: true }), GitAuthError)
	const wrong = await sbx.git
		.push(dir, { remote: 'origin', branch: 'main', username: 'agent', password: 'wrong' })
		.catch((err) => err)
	assert.match(wrong.stderr, /Authentication failed/)
	await sbx.git.push(dir, {
		remote: 'origin',
		branch: 'main',
		setUpstream: true,
		username: 'agent',
		password: TOKEN,
	})
	await assert.rejects(sbx.git.clone(`${HTTP}/b.git`, { path: '/workspace/no' }), GitAuthError)
	await sbx.git.clone(`${HTTP}/b.git`, { path: '/workspace/webcopy', username: 'agent', password: TOKEN })
	assert.deepEqual(await history('/workspace/webcopy'), ['first'])
	await sbx.files.write('/workspace/webcopy/more', new Blob([crypto.randomBytes(3 << 20)]))
	await sbx.git.add('/workspace/webcopy')
	await sbx.git.commit('/workspace/webcopy', 'large')
	await sbx.git.push('/workspace/webcopy', { username: 'agent', password: TOKEN })
	await sbx.git.pull(dir, { username: 'agent', password: TOKEN })
	assert.deepEqual(await history(dir), ['large', 'first'])
	for (const repo of [dir, '/workspace/webcopy'])
		assert.ok(!(await sh(`cat ${repo}/.git/config`)).includes(TOKEN))
})

test('smart HTTP with the token in a variable of the sandbox', async () => {
	const dir = await seed('byenv', `${HTTP}/c.git`)
	await sh(
		`git config --global credential.${HTTP}.helper '!f() { echo username=agent; echo ` +
			`"password=$GITHUB_TOKEN"; }; f'`,
	)
	await sbx.git.push(dir, { remote: 'origin', branch: 'main', setUpstream: true })
	await sbx.git.clone(`${HTTP}/c.git`, { path: '/workspace/envcopy' })
	assert.deepEqual(await history('/workspace/envcopy'), ['first'])
	assert.ok(!(await sh('cat ~/.gitconfig')).includes(TOKEN))
	await sh(`git config --global --unset credential.${HTTP}.helper`)
})

test('SSH with a key of mode 600 and GIT_SSH_COMMAND', async () => {
	const npm = process.env.ATOLL_TEST_NPM
	const parts = ['ssh2', 'asn1', 'safer-buffer', 'bcrypt-pbkdf', 'tweetnacl'].map(
		(name) => `node_modules/${name}`,
	)
	const tar = spawnSync('tar', ['-C', npm, '-czf', '-', ...parts], { maxBuffer: 64 << 20 })
	assert.equal(tar.status, 0, tar.stderr?.toString())
	await sbx.files.write('/workspace/ssh2.tgz', new Blob([tar.stdout]))
	await sbx.files.write('/workspace/git_ssh.cjs', fs.readFileSync(path.join(LIB, 'git_ssh.cjs'), 'utf8'))
	await sh(
		'cd /workspace && tar -xzf ssh2.tgz && ssh-keygen -q -t ed25519 -N "" -f host_key && ssh-keygen -q ' +
			'-t ed25519 -N "" -f theirs',
	)
	const key = await sh('cat /workspace/theirs')
	const run = await sbx.commands.run(
		`cd /workspace && node git_ssh.cjs ${SSH_PORT} /workspace/remotes host_key theirs.pub`,
		{ background: true, timeoutMs: 0 },
	)
	assert.ok(await until(() => run.stdout.includes('listening')), run.stderr)
	await sbx.files.write('/home/user/.ssh/id_agent', key)
	const loose = await runAny(
		sbx,
		`ssh -i ~/.ssh/id_agent -o BatchMode=yes -o StrictHostKeyChecking=accept-new -p ${SSH_PORT} ` +
			`git@127.0.0.1`,
	)
	assert.match(loose.stderr, /UNPROTECTED PRIVATE KEY FILE/)
	await sh('chmod 600 ~/.ssh/id_agent')
	const envs = {
		GIT_SSH_COMMAND:
			'ssh -i ~/.ssh/id_agent -o IdentitiesOnly=yes -o BatchMode=yes -o ' +
			'StrictHostKeyChecking=accept-new',
	}
	const url = `ssh://git@127.0.0.1:${SSH_PORT}/a.git`
	await sbx.git.clone(url, { path: '/workspace/sshcopy', envs })
	await sbx.files.write('/workspace/sshcopy/by-ssh', 'x')
	await sbx.git.add('/workspace/sshcopy')
	await sbx.git.commit('/workspace/sshcopy', 'over ssh')
	await sbx.git.push('/workspace/sshcopy', { envs })
	assert.equal((await history('/workspace/remotes/a.git'))[0], 'over ssh')
	await sh('ssh-keygen -q -t ed25519 -N "" -f ~/.ssh/id_other')
	const other = { GIT_SSH_COMMAND: envs.GIT_SSH_COMMAND.replace('id_agent', 'id_other') }
	await assert.rejects(sbx.git.clone(url, { path: '/workspace/never', envs: other }), sdk().GitAuthError)
})

test('no log has seen a token', async () => {
	const texts = [fs.readFileSync(server.log, 'utf8')]
	for (const route of [
		`/sandboxes/${sbx.sandboxId}/logs?limit=1000`,
		`/v2/sandboxes/${sbx.sandboxId}/logs?limit=1000`,
		`/sandboxes/${sbx.sandboxId}`,
		'/metrics',
	]) {
		const res = await api('GET', route)
		assert.equal(res.status, 200, route)
		texts.push(res.text)
	}
	assert.match(texts[1], /process/) /* what was started is in there */
	for (const text of texts)
		assert.ok(!text.includes(TOKEN) && !text.includes(Buffer.from(`agent:${TOKEN}`).toString('base64')))
})

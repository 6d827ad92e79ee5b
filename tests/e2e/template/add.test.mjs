// SPDX-License-Identifier: Apache-2.0
// ADD of what is in the network: repositories and files, fetched in the sandbox of the build. See docs/templates.md.
import { test, before, after } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { sdk } from '../../lib/client.mjs'
import { atoll as runAtoll } from '../../lib/cli.mjs'
import { until } from '../../lib/host.mjs'
import { outside } from '../../lib/outside.mjs'

const { Sandbox } = sdk()
const SERVER = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../lib/git_http.py')
const SMALL = ['--memory-mb', '512', '--cpus', '1']
const IDENTITY = {
	GIT_AUTHOR_NAME: 'a',
	GIT_AUTHOR_EMAIL: 'a@b',
	GIT_COMMITTER_NAME: 'a',
	GIT_COMMITTER_EMAIL: 'a@b',
	GIT_CONFIG_GLOBAL: '/dev/null',
	GIT_CONFIG_SYSTEM: '/dev/null',
}
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-add-'))
let first, last // commits of main
let out, server, at

function commit(repo, files) {
	const git = (...args) =>
		execFileSync('git', ['-C', repo, ...args], {
			encoding: 'utf8',
			env: { ...process.env, ...IDENTITY },
		}).trim()
	for (const [name, text] of Object.entries(files)) {
		fs.mkdirSync(path.dirname(path.join(repo, name)), { recursive: true })
		fs.writeFileSync(path.join(repo, name), text)
	}
	git('add', '.')
	git('commit', '-q', '-m', 'work')
	return git
}

// main: two commits, the first is v1; side: another; lib is the repository sub.git.
function makeRepositories(root) {
	const work = (name) => {
		const repo = path.join(dir, name)
		execFileSync('git', ['init', '-q', '-b', 'main', repo])
		return repo
	}
	const publish = (repo) =>
		execFileSync('git', ['clone', '-q', '--bare', repo, path.join(root, `${path.basename(repo)}.git`)])
	const sub = work('sub'),
		repo = work('r')
	const ofSub = commit(sub, { 'inner.txt': 'of the submodule' })('rev-parse', 'HEAD')
	publish(sub)
	const git = commit(repo, { 'a.txt': 'one', 'docs/d.txt': 'doc one', 'docs/run.sh': '#!/bin/sh\n' })
	fs.chmodSync(path.join(repo, 'docs/run.sh'), 0o755)
	git('tag', '-a', '-m', 'the first', 'v1')
	first = git('rev-parse', 'HEAD')
	git('checkout', '-q', '-b', 'side')
	commit(repo, { 'docs/d.txt': 'doc side' })
	git('checkout', '-q', 'main')
	fs.mkdirSync(path.join(repo, 'lib')) /* where it would be */
	git('update-index', '--add', '--cacheinfo', `160000,${ofSub},lib`)
	last = commit(repo, { 'a.txt': 'two', '.gitmodules': '[submodule "lib"]\n\tpath = lib\n\turl = ../sub.git\n' })(
		'rev-parse',
		'HEAD',
	)
	publish(repo)
}

const answers = (host) =>
	new Promise((done) => {
		const sock = net.connect(8418, host, () => {
			sock.destroy()
			done(true)
		})
		sock.once('error', () => done(false))
	})

before(async () => {
	const root = path.join(dir, 'root')
	fs.mkdirSync(root)
	makeRepositories(root)
	fs.writeFileSync(path.join(root, 'plain.txt'), 'plain')
	fs.mkdirSync(path.join(dir, 'packed/deep'), { recursive: true })
	fs.writeFileSync(path.join(dir, 'packed/deep/inner'), 'inner')
	execFileSync('tar', ['-C', path.join(dir, 'packed'), '-czf', path.join(root, 'files.tar.gz'), '.'])
	out = await outside({ hosts: 2, bare: 1 })
	server = spawn('ip', ['netns', 'exec', out.ns, 'python3', SERVER, '8418', root, 'agent', 'key', out.at(3)], {
		stdio: 'inherit',
	})
	at = `http://agent:key@${out.at(3)}:8418`
	assert.ok(await until(() => answers(out.at(3)), 30000), 'the repositories are not served')
})

after(() => {
	server?.kill('SIGKILL')
	out?.end()
	fs.rmSync(dir, { recursive: true })
})

let count = 0

function build(text) {
	const name = `add-${process.pid}-${++count}`,
		context = fs.mkdtempSync(path.join(dir, 'context-'))
	fs.writeFileSync(path.join(context, 'Dockerfile'), `FROM e2bdev/base\n${text}`)
	execFileSync('tar', ['-C', path.join(dir, 'packed'), '-cf', path.join(context, 'own.tar'), '.'])
	execFileSync('tar', ['-C', path.join(dir, 'root'), '-cf', path.join(context, 'other.tar'), 'plain.txt'])
	return { name, ...runAtoll(['template', 'build', context, '-t', name, ...SMALL], { timeout: 240000 }) }
}

async function inside(text, use) {
	const run = build(text)
	assert.equal(run.code, 0, run.err.slice(-1500))
	const sbx = await Sandbox.create(run.name, { timeoutMs: 120000 })
	try {
		await use(async (cmd) => (await sbx.commands.run(cmd, { user: 'root' })).stdout.trim())
	} finally {
		await sbx.kill()
		runAtoll(['template', 'rm', run.name])
	}
}

test('ADD of a repository: its branches, tags, commits, directories and submodules', { timeout: 300000 }, () =>
	inside(
		`WORKDIR /srv
ADD ${at}/r.git head/
ADD ${at}/r.git#v1 /tag
ADD ${at}/r.git#side:docs /side
ADD ${at}/r.git#:docs /docs
ADD ${at}/r.git#${first} /commit
ADD ${at}/r.git#${first.slice(0, 10)} /short
ADD --keep-git-dir ${at}/r.git /kept
ADD --keep-git-dir=false --chown=user:user --chmod=700 ${at}/r.git#v1:docs /owned
`,
		async (sh) => {
			const files = async (where) => sh(`cd ${where} && find . -type f | sort | xargs`)
			assert.equal(
				await files('/srv/head'),
				'./.gitmodules ./a.txt ./docs/d.txt ./docs/run.sh ./lib/inner.txt',
			)
			assert.equal(await sh('cat /srv/head/a.txt /srv/head/lib/inner.txt'), 'twoof the submodule')
			for (const where of ['/tag', '/commit', '/short']) {
				assert.equal(await files(where), './a.txt ./docs/d.txt ./docs/run.sh', where)
				assert.equal(await sh(`cat ${where}/a.txt`), 'one', where)
			}
			assert.equal(await files('/side'), './d.txt ./run.sh')
			assert.equal(await sh('cat /side/d.txt; echo; cat /docs/d.txt'), 'doc side\ndoc one')
			assert.equal(
				await sh('stat -c "%U %a" /tag/a.txt /owned/d.txt /owned | xargs'),
				'root 644 user 700 user 700',
			)
			assert.equal(
				await sh('cd /kept && git rev-parse HEAD && git status --porcelain && git remote'),
				`${last}\norigin`,
			)
			assert.equal(
				await sh('find / -xdev -name .git -not -path "/kept/*"; ls -d /.atoll-add 2>&1; true'),
				"ls: cannot access '/.atoll-add': No such file or directory",
			)
		},
	),
)

test('ADD of a URL: as a file, into a directory, unpacked', { timeout: 300000 }, () =>
	inside(
		`WORKDIR /srv
ADD ${at}/files/plain.txt?a=b/c /into/
ADD ${at}/files/plain.txt .
ADD ${at}/files/plain.txt /named
ADD ${at}/files/files.tar.gz /as-it-is/
ADD --unpack=false ${at}/files/files.tar.gz /packed.tgz
ADD --unpack --checksum=sha256:${crypto
			.createHash('sha256')
			.update(fs.readFileSync(path.join(dir, 'root/files.tar.gz')))
			.digest('hex')} ${at}/files/files.tar.gz unpacked
ADD --unpack=true --chown=user:user ${at}/files/files.tar.gz /owned/
ADD --exclude=oth* *.tar /own/
`,
		async (sh) => {
			assert.equal(
				await sh('cat /into/plain.txt /srv/plain.txt /named; stat -c " %a" /named'),
				'plainplainplain 600',
			)
			assert.equal(
				await sh(
					'tar -tzf /as-it-is/files.tar.gz | sort | xargs; tar -tzf /packed.tgz | ' +
						'sort | xargs',
				),
				'./ ./deep/ ./deep/inner\n./ ./deep/ ./deep/inner',
			)
			assert.equal(
				await sh(
					'cat /srv/unpacked/deep/inner /owned/deep/inner; stat -c " %U" ' +
						'/owned/deep/inner',
				),
				'innerinner user',
			)
			assert.equal(
				await sh('find /srv /own /owned -type f | sort | xargs'),
				'/own/deep/inner /owned/deep/inner /srv/plain.txt /srv/unpacked/deep/inner',
			)
			assert.equal(
				await sh('ls -d /.atoll-add 2>&1; true'),
				"ls: cannot access '/.atoll-add': No such file or directory",
			)
		},
	),
)

test('what cannot be added is told', { timeout: 300000 }, () => {
	for (const [text, why] of [
		[`ADD ${at}/r.git#no-such-branch /x`, /no-such-branch/],
		[`ADD ${at}/r.git#v1:no-such-dir /x`, /no-such-dir/],
		[`ADD http://agent:wrong@${out.at(3)}:8418/r.git /x`, /Authentication failed/],
		[`ADD --unpack ${at}/files/plain.txt /x`, /tar/],
		[`ADD --unpack --checksum=sha256:${'0'.repeat(64)} ${at}/files/files.tar.gz /x`, /did NOT match/],
		[`ADD --exclude=*.md ${at}/r.git /x`, /line 2: --exclude is not supported for a repository/],
		[`ADD --exclude=*.md ${at}/files/plain.txt /x`, /line 2: --exclude is not supported for a URL/],
	]) {
		const run = build(`${text}\n`)
		assert.notEqual(run.code, 0, text)
		assert.match(run.err, why, text)
	}
})

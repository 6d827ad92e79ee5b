// SPDX-License-Identifier: Apache-2.0
// Templates of one's own, made by the official SDK: steps, layers, tags, failures, and what a build must not leave
// behind.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { gzipSync } from 'node:zlib'
import { api, sdk, server } from '../../lib/client.mjs'
import { selfSigned } from '../../lib/certificate.mjs'
import { newServer } from '../../lib/server.mjs'
import { childrenOf, nameOf as procName, poolOf, until } from '../../lib/host.mjs'

const { Sandbox, Template, waitForFile, waitForPort } = sdk()
let count = 0
const nameOf = (what) => `${what}-${process.pid}-${++count}`

async function build(template, name, opts = {}) {
	const lines = []
	try {
		return {
			...(await Template.build(template, name, {
				cpuCount: 1,
				memoryMB: 512,
				onBuildLogs: (l) => lines.push(l.message),
				...opts,
			})),
			lines,
		}
	} catch (e) {
		e.lines = lines
		throw e
	}
}

async function inside(name, use, opts = {}) {
	const sbx = await Sandbox.create(name, { timeoutMs: 60000, ...opts })
	try {
		return await use(sbx, async (cmd, more) => (await sbx.commands.run(cmd, more)).stdout.trim())
	} finally {
		await sbx.kill()
	}
}

function context(files) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-context-'))
	for (const [name, text] of Object.entries(files)) {
		fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true })
		fs.writeFileSync(path.join(dir, name), text)
	}
	return dir
}

// The steps of a build, without an SDK that would not send such ones.
async function raw(name, body, opt) {
	const asked = await api('POST', '/v3/templates', { name, cpuCount: 1, memoryMB: 512 }, opt)
	assert.equal(asked.status, 202, asked.text)
	const { templateID, buildID } = asked.json
	const started = await api('POST', `/v2/templates/${templateID}/builds/${buildID}`, body, opt)
	const status = () =>
		api('GET', `/templates/${templateID}/builds/${buildID}/status`, undefined, opt).then((r) => r.json)
	const end = async () => {
		let last
		await until(async () => ['ready', 'error'].includes((last = await status()).status), 60000)
		return last
	}
	return { templateID, buildID, started, status, end }
}

async function upload(templateID, hash, archive) {
	const link = await api('GET', `/templates/${templateID}/files/${hash}`)
	assert.equal(link.status, 201)
	const res = await fetch(link.json.url, { method: 'PUT', body: archive })
	return { present: link.json.present, url: link.json.url, status: res.status, text: await res.text() }
}

test('a template has what its steps made, and a second build of it takes everything from the cache', async () => {
	const dir = context({ 'app/main.txt': 'main', 'app/sub/deep.txt': 'deep', 'one.txt': 'one' })
	fs.symlinkSync('main.txt', path.join(dir, 'app/link.txt'))
	const make = () =>
		Template({ fileContextPath: dir })
			.fromTemplate('base')
			.setEnvs({ GREETING: 'hello' })
			// as in Docker: what it was before this step
			.setEnvs({ GREETING: 'bye', TWICE: '$GREETING $GREETING' })
			.copy('app', '/srv/app')
			.copy('one.txt', 'renamed.txt', { mode: 0o600 })
			.copy('one.txt', '/srv/into/', { user: 'root' })
			.runCmd('echo made > made.txt; id -un; pwd')
			.setUser('worker')
			.setWorkdir('/srv/work')
			.runCmd('touch mine; id -un')
	const name = nameOf('steps')
	try {
		const first = await build(make(), name)
		assert.ok(
			first.lines.some((l) => l === '[builder 6/9] [stdout]: user'),
			first.lines.join('\n'),
		)
		assert.ok(first.lines.some((l) => l === '[builder 6/9] [stdout]: /home/user'))
		await inside(name, async (sbx, sh) => {
			assert.equal(
				await sh('id -un; pwd; echo "$GREETING|$TWICE"'),
				'worker\n/srv/work\nbye|hello hello',
			)
			assert.equal(
				await sh(
					'cat /srv/app/main.txt /srv/app/sub/deep.txt /srv/app/link.txt; readlink ' +
						'/srv/app/link.txt',
				),
				'maindeepmainmain.txt',
			)
			assert.equal(
				await sh('stat -c "%U %a" /home/user/renamed.txt /srv/into/one.txt', { user: 'root' }),
				'user 600\nroot 644',
			)
			assert.equal(await sh('stat -c %U mine /srv/work /home/worker'), 'worker\nworker\nworker')
			assert.equal(await sh('cat /home/user/made.txt'), 'made')
			assert.equal(await sh('ls -A / | grep -c atoll-build || true'), '0')
		})
		const second = await build(make(), name)
		assert.notEqual(second.buildId, first.buildId)
		assert.equal(second.lines.filter((l) => l.startsWith('CACHED')).length, 10)
		await build(make().runCmd('cat /srv/app/main.txt > /srv/work/more'), `${name}:more`)
		await inside(`${name}:more`, async (sbx, sh) => assert.equal(await sh('cat more'), 'main'))
		await inside(name, async (sbx, sh) => assert.equal(await sh('ls'), 'mine'))
	} finally {
		fs.rmSync(dir, { recursive: true })
	}
})

test('a template is built upon another, and upon a Dockerfile', async () => {
	const below = nameOf('below')
	await build(
		Template()
			.fromTemplate('base')
			.setEnvs({ A: '1', PLACE: '/srv/placed' })
			.runCmd('echo below > /home/user/below'),
		below,
	)
	const above = nameOf('above')
	await build(
		Template()
			.fromTemplate(below)
			.setEnvs({ B: '$A$A' })
			.runCmd('rm /home/user/below; echo above > /home/user/above'),
		above,
	)
	await inside(above, async (sbx, sh) => assert.equal(await sh('ls; echo $A $B'), 'above\n1 11'))
	const dir = context({ 'one.txt': 'one' })
	await build(
		Template({ fileContextPath: dir })
			.fromTemplate(below)
			.copy('one.txt', '$PLACE/')
			.setWorkdir('${PLACE}/deep')
			.setUser('${WHO:-worker}'),
		`${below}:placed`,
	)
	fs.rmSync(dir, { recursive: true })
	await inside(`${below}:placed`, async (sbx, sh) =>
		assert.equal(await sh('cat ../one.txt; echo; pwd; id -un'), 'one\n/srv/placed/deep\nworker'),
	)
	await inside(below, async (sbx, sh) => assert.equal(await sh('cat below'), 'below'))
	const docker = nameOf('docker')
	await build(
		Template().fromDockerfile(
			'FROM e2bdev/base\nENV A=b\nWORKDIR /app\nRUN echo $A > x && id -un\nUSER user\nCMD ' +
				'["sleep", "100"]',
		),
		docker,
	)
	await inside(docker, async (sbx, sh) =>
		assert.equal(await sh('cat /app/x; id -un; pgrep -fc "^sleep 100"'), 'b\nuser\n1'),
	)
})

test('the start command is running in every sandbox, when the ready command has said so', async () => {
	const name = nameOf('served')
	const made = await build(
		Template()
			.fromTemplate('base')
			.runCmd('echo served > index.html')
			.setStartCmd('python3 -m http.server 8123', waitForPort(8123)),
		name,
	)
	assert.ok(made.lines.some((l) => l.includes('Template is ready')))
	for (let i = 0; i < 2; i++)
		await inside(name, async (sbx, sh) =>
			assert.equal(await sh('curl -s http://127.0.0.1:8123/index.html'), 'served'),
		)
})

test('a start command that is inherited runs as its own template had it, wherever the new one works', async () => {
	const name = nameOf('upper'),
		below = nameOf('below')
	const start = 'echo "$(id -un) $PWD" >>/tmp/started; sleep infinity'
	await build(
		Template().fromTemplate('base').setWorkdir('/srv/below').setStartCmd(start, 'test -s /tmp/started'),
		below,
	)
	await build(
		Template().fromTemplate(below).runCmd('rm -f /tmp/started').setUser('root').setWorkdir('/srv/upper'),
		name,
	)
	await inside(name, async (sbx, sh) => {
		assert.equal(await sh('tail -n1 /tmp/started'), 'user /srv/below')
		assert.equal(await sh('id -un; pwd', {}), 'root\n/srv/upper')
	})
})

test('a failure tells the step, its output and its exit code; the version before stays in use', async () => {
	const name = nameOf('fails')
	await build(Template().fromTemplate('base').runCmd('echo good > /home/user/which'), name)
	const failing = Template().fromTemplate('base').runCmd('true').runCmd('echo on the way out; exit 7')
	await assert.rejects(build(failing, name), (e) => {
		assert.match(e.message, /failed to run command 'echo on the way out; exit 7': exit status 7/)
		assert.ok(e.lines.some((l) => l === '[builder 2/2] [stdout]: on the way out'))
		return true
	})
	await assert.rejects(
		build(Template().fromTemplate('base').runCmd('whoami', { user: 'root123' }), name),
		/failed to run command 'whoami': command failed: unauthenticated: invalid username: 'root123'/,
	)
	await assert.rejects(
		build(Template().fromTemplate('base').setStartCmd('exit 3', waitForFile('/never')), name),
		/start command failed: exit status 3/,
	)
	await assert.rejects(
		build(Template().fromTemplate('no-such-template'), name),
		/template 'no-such-template' not found/,
	)
	await assert.rejects(build(Template().fromImage('no.such.registry/no-such-image'), name), /no-such-image/)
	await inside(name, async (sbx, sh) => assert.equal(await sh('cat which'), 'good'))
	const info = (await api('GET', `/templates/${name}`)).json
	assert.deepEqual(info.builds.map((b) => b.status).sort(), [
		'error',
		'error',
		'error',
		'error',
		'error',
		'ready',
	])
})

test('steps that make no sense fail at that step, before anything runs', async () => {
	const hash = 'a'.repeat(64)
	const bad = [
		[
			{ type: 'RUN', args: ['true'] },
			{ type: 'FROBNICATE', args: ['x'] },
			'2',
			/FROBNICATE is not implemented/,
		],
		[
			{ type: 'RUN', args: ['true'] },
			{ type: 'COPY', args: ['../x', 'y'], filesHash: hash },
			'2',
			/outside of the context/,
		],
		[
			{ type: 'COPY', args: ['/etc/passwd', 'y'], filesHash: hash },
			{ type: 'RUN', args: ['true'] },
			'1',
			/outside of the context/,
		],
		[{ type: 'COPY', args: ['x', 'y'] }, { type: 'RUN', args: ['true'] }, '1', /filesHash/],
		[{ type: 'ENV', args: ['A'] }, { type: 'RUN', args: ['true'] }, '1', /too few|key and value/],
	]
	for (const [a, b, step, why] of bad) {
		const end = await (await raw(nameOf('bad'), { fromTemplate: 'base', steps: [a, b] })).end()
		assert.equal(end.status, 'error')
		assert.match(end.reason.message, why)
		assert.equal(end.reason.step, step)
		assert.ok(end.logEntries.some((l) => l.level === 'error' && why.test(l.message)))
	}
	const never = await (
		await raw(nameOf('bad'), {
			fromTemplate: 'base',
			steps: [{ type: 'COPY', args: ['x', 'y'], filesHash: hash }],
		})
	).end()
	assert.match(never.reason.message, /not uploaded/)
})

test('bad requests are refused with the name of the field', async () => {
	const bad = [
		[{}, /'name'/],
		[{ name: 'Bad name!' }, /'name'/],
		[{ name: 'x', cpuCount: 3 }, /'cpuCount'/],
		[{ name: 'x', cpuCount: '1' }, /'cpuCount'/],
		[{ name: 'x', memoryMB: 129 }, /'memoryMB'/],
		[{ name: 'x', memoryMB: 1 }, /'memoryMB'/],
		[{ name: 'x', tags: ['a b'] }, /'tags'/],
		[{ name: 'x', tags: 'a' }, /'tags'/],
		[{ name: 'x', minFreeDiskMb: -1 }, /'minFreeDiskMb'/],
		[{ name: 'x', minFreeDiskMb: 1e12 }, /'minFreeDiskMb'/],
	]
	for (const [body, why] of bad) {
		const res = await api('POST', '/v3/templates', body)
		assert.equal(res.status, 400, JSON.stringify(body))
		assert.match(res.json.message, why)
	}
	for (const path of ['/templates', '/templates/x', '/templates/x/builds/y']) {
		const old = await api('POST', path, { dockerfile: 'FROM ubuntu', alias: 'x' })
		assert.equal(old.status, 400, path)
		assert.match(old.json.message, /atoll template build DIR -t NAME.*e2b template create NAME/)
	}
	assert.equal((await api('POST', '/v3/templates', { name: 'base' })).status, 403)
	assert.equal((await api('POST', '/v3/templates', { name: 'somebody/else' })).status, 403)
	const { started } = await raw(nameOf('twice'), { fromTemplate: 'base', steps: 'x' })
	assert.equal(started.status, 400)
	assert.match(started.json.message, /'steps'/)
})

test('a build that is over, or of the same name and tag as another, cannot be started', async () => {
	const name = nameOf('busy')
	const slow = { fromTemplate: 'base', steps: [{ type: 'RUN', args: ['sleep 5'], force: true }] }
	const first = await raw(name, slow)
	const second = await raw(name, slow)
	assert.equal(second.started.status, 409)
	assert.equal((await second.status()).status, 'error')
	assert.match((await second.status()).reason.message, /under way/)
	assert.equal((await first.status()).status, 'building')
	assert.equal((await api('DELETE', `/templates/${name}`)).status, 400)
	assert.equal((await first.end()).status, 'ready')
	assert.equal((await api('POST', `/v2/templates/${first.templateID}/builds/${first.buildID}`, slow)).status, 400)
	assert.equal((await api('DELETE', `/templates/${name}`)).status, 204)
	assert.equal((await api('GET', `/templates/${name}`)).status, 404)
})

test('tags name builds: given, moved, removed', async () => {
	const name = nameOf('tagged')
	const one = await build(Template().fromTemplate('base').runCmd('echo 1 > /home/user/v'), `${name}:v1`)
	const two = await build(Template().fromTemplate('base').runCmd('echo 2 > /home/user/v'), `${name}:v2`)
	assert.equal(one.templateId, two.templateId)
	await Template.assignTags(`${name}:v1`, ['stable', 'default'])
	await inside(`${name}:stable`, async (sbx, sh) => assert.equal(await sh('cat v'), '1'))
	await Template.assignTags(`${name}:v2`, 'stable')
	await inside(`${name}:stable`, async (sbx, sh) => assert.equal(await sh('cat v'), '2'))
	await inside(one.templateId, async (sbx, sh) => assert.equal(await sh('cat v'), '1'))
	await Template.removeTags(name, 'stable')
	await assert.rejects(Sandbox.create(`${name}:stable`), /tag 'stable' does not exist/)
	assert.deepEqual((await Template.getTags(name)).map((t) => t.tag).sort(), ['default', 'v1', 'v2'])
	for (const [method, body, status] of [
		['DELETE', { name, tags: ['default'] }, 400],
		['POST', { target: `${name}:none`, tags: ['x'] }, 404],
		['POST', { target: `${name}:v1`, tags: [one.buildId] }, 400],
		['POST', { target: `${name}:v1`, tags: [':x'] }, 400],
		['POST', { tags: ['x'] }, 400],
	])
		assert.equal((await api(method, '/templates/tags', body)).status, status, JSON.stringify(body))
	assert.equal(await Template.exists(name), true)
	await Sandbox.create(name).then(async (sbx) => {
		assert.equal((await api('DELETE', `/templates/${name}`)).status, 400)
		await sbx.kill()
	})
	assert.equal((await api('DELETE', `/templates/${name}`)).status, 204)
	assert.equal(await Template.exists(name), false)
})

test('tags can be looked at a page at a time, with their builds', async () => {
	const name = nameOf('paged')
	const { templateId, buildId } = await build(Template().fromTemplate('base').runCmd('true'), `${name}:v1`, {
		minFreeDiskMb: 64,
	})
	await Template.assignTags(`${name}:v1`, ['stable', 'v2-rc', 'default'])
	const get = async (rest) => (await api('GET', `/templates/${name}${rest}`)).json
	assert.deepEqual(await get('/tags/count'), { total: 4 })
	assert.deepEqual(await get('/tags/exists?tag=Stable'), { exists: true, normalizedTag: 'stable' })
	assert.deepEqual(await get('/tags/exists?tag=none'), { exists: false, normalizedTag: 'none' })
	const seen = []
	for (let cursor = ''; cursor !== null;) {
		const page = await get(`/tags/groups?tagsLimit=3&sort=name_asc${cursor && `&tagsCursor=${cursor}`}`)
		seen.push(...page.tags.map((group) => group.tag))
		assert.ok(page.tags.length <= 3 && page.tags.length > 0)
		for (const {
			assignments: [one, ...more],
			hasMore,
		} of page.tags) {
			assert.deepEqual([one.buildId, more.length, hasMore], [buildId, 0, false])
			assert.match(one.assignmentId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
			assert.ok(
				Date.parse(one.buildCreatedAt) <= Date.parse(one.buildFinishedAt) &&
					Date.parse(one.assignedAt),
			)
		}
		cursor = page.nextCursor
	}
	assert.deepEqual(seen, ['default', 'stable', 'v1', 'v2-rc'])
	const names = async (query) => (await get(`/tags/groups?${query}`)).tags.map((group) => group.tag)
	assert.deepEqual(await names('sort=name_desc'), [...seen].reverse())
	assert.deepEqual(await names('search=V&sort=name_asc'), ['v1', 'v2-rc'])
	assert.deepEqual(await names('sort=latest_asc'), await names('sort=latest_asc&tagsLimit=100'))
	assert.equal((await names('sort=latest_asc'))[0], 'v1')
	const { data, nextCursor } = await get('/tags/stable/assignments')
	assert.deepEqual([data.length, data[0].buildId, nextCursor], [1, buildId, null])
	assert.deepEqual((await get('/tags/none/assignments')).data, [])
	for (const bad of [
		'/tags/groups?tagsLimit=0',
		'/tags/groups?assignmentLimit=101',
		'/tags/groups?sort=up',
		'/tags/groups?tagsCursor=x',
		'/tags/exists',
		'/tags/exists?tag=a%20b',
		'/tags/a%20b/assignments',
		'/tags/v1/assignments?limit=x',
		'?limit=0',
		'?nextToken=x',
	])
		assert.equal((await get(bad)).code, 400, bad)
	assert.equal((await api('GET', '/templates/base/tags/count')).json.total, 1)
	assert.equal((await api('GET', '/templates/no-such-template/tags/count')).status, 404)
	const whole = await get('?limit=1')
	assert.deepEqual(
		[whole.templateID, whole.buildID, whole.isDefault, whole.builds.length],
		[templateId, buildId, false, 1],
	)
	const base = (await api('GET', '/templates/base')).json
	assert.equal(whole.diskSizeMB, base.diskSizeMB + 64) // room for the steps, and that much behind them
})

test('C6: an authority that a build adds is trusted, whether update-ca-certificates was run or not', async () => {
	const dir = context({})
	selfSigned({ key: '/dev/null', cert: path.join(dir, 'own.crt'), name: 'atoll test' })
	fs.utimesSync(path.join(dir, 'own.crt'), 1e9, 1e9) // older than the bundle
	const put = '/usr/local/share/ca-certificates',
		name = nameOf('trust')
	const built = await build(
		Template({ fileContextPath: dir })
			.fromTemplate('base')
			.copy('own.crt', `${put}/own (1).crt`, { user: 'root' })
			.setStartCmd(
				`sudo cp '${put}/own (1).crt' ${put}/late.crt && sleep infinity`,
				waitForFile(`${put}/late.crt`),
			),
		name,
	)
	assert.ok(!built.lines.some((l) => /update-ca-certificates failed/.test(l)), built.lines.join('\n'))
	await inside(name, async (sbx, run) => {
		assert.match(await run(`openssl verify '${put}/own (1).crt'`), /: OK$/)
		assert.equal(await run('readlink /etc/ssl/certs/late.pem'), `${put}/late.crt`)
	})
	fs.rmSync(dir, { recursive: true })
})

test('C6: a team lists its own templates, a page at a time; those of the server are the default ones', async () => {
	await build(Template().fromTemplate('base').runCmd('true'), nameOf('listed'))
	const ids = [],
		all = (await api('GET', '/templates')).json
	for (let token = ''; token !== undefined;) {
		const res = await api('GET', `/v2/templates?limit=1${token && `&nextToken=${token}`}`)
		assert.equal(res.json.length, 1)
		ids.push(res.json[0].templateID)
		token = res.headers['x-next-token']
	}
	assert.deepEqual(
		ids,
		all.map((one) => one.templateID),
	)
	const own = (await api('GET', '/default-templates')).json
	assert.ok(own.length >= 2 && own.every((one) => one.isDefault && one.public))
	assert.deepEqual(
		all.filter((one) => one.isDefault),
		[],
	)
	const base = own.find((one) => one.aliases.includes('base'))
	const { builds, ...whole } = (await api('GET', '/templates/base')).json
	assert.deepEqual(whole, base)
	assert.deepEqual(
		builds.map((b) => [b.buildID, b.status]),
		[[base.buildID, 'ready']],
	)
	assert.equal((await api('GET', '/v2/templates?limit=101')).status, 400)
})

test('a build can be named by its id: for a tag, and for a sandbox', async () => {
	const name = nameOf('byid')
	const one = await build(Template().fromTemplate('base').runCmd('echo 1 >/tmp/version'), name)
	const two = await build(Template().fromTemplate('base').runCmd('echo 2 >/tmp/version'), name)
	for (const [b, version] of [
		[one, '1'],
		[two, '2'],
	]) {
		const re = await api('POST', '/templates/tags', {
			target: `${b.templateId}:${b.buildId}`,
			tags: ['stable'],
		})
		assert.deepEqual([re.status, re.json.buildID], [201, b.buildId])
		await inside(`${name}:stable`, async (sbx, sh) => assert.equal(await sh('cat /tmp/version'), version))
	}
	await inside(`${name}:${one.buildId}`, async (sbx, sh) => assert.equal(await sh('cat /tmp/version'), '1'))
	const strange = await api('POST', '/templates/tags', {
		target: `${name}:00000000-0000-4000-8000-000000000000`,
		tags: ['x'],
	})
	assert.equal(strange.status, 404)
	assert.equal((await api('GET', `/templates/${name}/builds/nonsense/status`)).status, 400)
})

test('another team sees a template only when it is public', async () => {
	const name = nameOf('shared')
	const { templateId } = await build(Template().fromTemplate('base').runCmd('echo shared > /home/user/x'), name)
	const team = (await api('POST', '/admin/teams', { name: nameOf('other') })).json
	const { key } = (await api('POST', `/admin/teams/${team.teamID ?? team.id}/api-keys`, { name: 'k' })).json
	const other = { apiKey: key }
	/* W10: a private one of another team answers as one that does not exist, in each call */
	const unknown = 'x'.repeat(20)
	for (const [method, where, body] of [
		['GET', (id) => `/templates/aliases/${id}`],
		['GET', (id) => `/templates/${id}`],
		['DELETE', (id) => `/templates/${id}`],
		['PATCH', (id) => `/v2/templates/${id}`, { public: true }],
		['GET', (id) => `/templates/${id}/files/${'a'.repeat(64)}`],
		['GET', (id) => `/templates/${id}/tags`],
		['GET', (id) => `/templates/${id}/builds/00000000-0000-4000-8000-000000000000/status`],
	]) {
		const [real, none] = [
			await api(method, where(templateId), body, { key }),
			await api(method, where(unknown), body, { key }),
		]
		assert.equal(real.status, 404, `${method} ${where(templateId)}`)
		assert.deepEqual([real.status, real.text.replaceAll(templateId, unknown)], [none.status, none.text])
	}
	await assert.rejects(Sandbox.create(templateId, other), /not found/)
	assert.equal((await api('PATCH', `/v2/templates/${name}`, { public: true })).status, 200)
	await inside(templateId, async (sbx, sh) => assert.equal(await sh('cat x'), 'shared'), other)
	assert.equal((await api('DELETE', `/templates/${templateId}`, undefined, { key })).status, 403)
	assert.equal((await api('PATCH', `/v2/templates/${templateId}`, { public: false }, { key })).status, 403)
	assert.ok(!(await api('GET', '/templates', undefined, { key })).json.some((t) => t.templateID === templateId))
})

test('an archive is taken by a signed address only, and cannot lead out of its place', async () => {
	const hash = 'b'.repeat(64)
	const name = nameOf('archive')
	const { templateID } = (await api('POST', '/v3/templates', { name, cpuCount: 1, memoryMB: 512 })).json
	const bad = await upload(templateID, hash, 'this is no archive')
	assert.equal(bad.status, 200)
	assert.equal(bad.present, false)
	for (const url of [
		bad.url.replace(/token=..../, 'token=0000'),
		bad.url.replace(/until=\d+/, 'until=1'),
		bad.url.replace('bbbb', 'cccc'),
	])
		assert.equal((await fetch(url, { method: 'PUT', body: 'x' })).status, 401)
	const copy = (filesHash) => ({
		fromTemplate: 'base',
		steps: [{ type: 'COPY', args: ['.', '/srv'], filesHash }],
	})
	assert.match((await (await raw(name, copy(hash))).end()).reason.message, /damaged or cut short/)

	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-evil-'))
	const tar = (...args) => {
		const run = spawnSync('tar', ['-P', '-cf', '-', ...args], { cwd: dir, maxBuffer: 1 << 24 })
		assert.equal(run.status, 0, String(run.stderr))
		return run.stdout
	}
	fs.writeFileSync(path.join(dir, 'f'), 'evil')
	fs.symlinkSync('/etc', path.join(dir, 'out'))
	spawnSync('mknod', [path.join(dir, 'null'), 'c', '1', '3'])
	const evil = {
		'leads out of it': tar('--transform', 's,^f,../../etc/evil,', 'f'),
		'leads out of it ': tar('--transform', 's,^f,/etc/evil,', 'f'),
		'leads through': Buffer.concat([
			tar('out').subarray(0, 512),
			tar('--transform', 's,^f,out/evil,', 'f'),
		]),
		'neither a file': tar('null'),
		'damaged or cut': gzipSync(tar('f')).subarray(0, 60),
	}
	let n = 0
	for (const [why, archive] of Object.entries(evil)) {
		const h = String(n++).padStart(64, 'd')
		assert.equal((await upload(templateID, h, archive)).status, 200)
		const end = await (await raw(name, copy(h))).end()
		assert.equal(end.status, 'error', why)
		assert.match(end.reason.message, new RegExp(why.trim()), end.reason.message)
	}
	fs.rmSync(dir, { recursive: true })
})

// What the pool of a server has beside its templates: sandboxes ("i...") and what is kept.
const workOf = (own) => poolOf(own).filter((n) => n.includes('+') || n.startsWith('i'))
const slow = {
	fromTemplate: 'base',
	steps: [
		{ type: 'RUN', args: ['touch /home/user/x'] },
		{ type: 'RUN', args: ['sleep 1000'] },
	],
}
const running = async (b) =>
	until(async () => (await b.status()).logEntries.some((l) => l.message.includes('sleep 1000')), 20000)

// Images that nobody needs are removed with it, whoever left them: on a slow disk that takes its time.
const gc = (opt) => api('POST', '/admin/templates/gc', { maxMB: 0 }, { ...opt, timeout: 200000 })

test('a build that is called off, or whose front is killed, leaves nothing', { timeout: 300000 }, async () => {
	const own = await newServer(server.buildDir, { pool_size_mb: 2048 }).start()
	const opt = { base: own.url, key: own.key }
	const kept = () => workOf(own)
	try {
		const called = await raw('off', slow, opt)
		assert.ok(await running(called), 'the build does not get there')
		assert.equal(
			(await api('DELETE', `/templates/off/builds/${called.buildID}`, undefined, opt)).status,
			204,
		)
		assert.equal((await called.status()).reason.message, 'the build was called off')
		assert.ok(await until(() => !kept().some((n) => n.startsWith('i')), 10000), kept().join())
		const lost = await raw('lost', slow, opt)
		assert.ok(await running(lost), 'the build does not get there')
		const front = childrenOf(own.pid).find((pid) => procName(pid) === 'atoll-front')
		process.kill(front, 'SIGKILL')
		assert.ok(await until(async () => (await lost.status().catch(() => ({}))).status === 'error', 20000))
		assert.match((await lost.status()).reason.message, /restarted/)
		assert.ok(await until(() => !kept().some((n) => n.startsWith('i')), 10000), kept().join())
		const gone = await gc(opt)
		assert.equal(gone.status, 200)
		assert.ok(gone.json.layers >= 1)
		assert.ok(await until(() => kept().length === 0, 60000), kept().join())
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test(
	'layers stay within their limit: what no template needs goes, the one used longest ago first',
	{ timeout: 240000 },
	async () => {
		const own = await newServer(server.buildDir, { pool_size_mb: 2048, template_cache_mb: 100 }).start()
		const opt = { base: own.url, key: own.key }
		// Builds it, and says whether its step was in the cache.
		const cached = async (name, file) => {
			const end = await (
				await raw(
					name,
					{
						fromTemplate: 'base',
						steps: [
							{
								type: 'RUN',
								args: [`head -c 64M /dev/urandom > /home/user/${file}`],
							},
						],
					},
					opt,
				)
			).end()
			assert.equal(end.status, 'ready', end.reason?.message)
			return end.logEntries.some((l) => l.message.startsWith('CACHED [builder'))
		}
		const remove = async (name) =>
			assert.equal((await api('DELETE', `/templates/${name}`, undefined, opt)).status, 204)
		try {
			assert.equal(await cached('one', 'a'), false)
			await remove('one')
			assert.equal(await cached('two', 'a'), true)
			await remove('two')
			assert.equal(await cached('three', 'b'), false) // with which they are 128 MiB
			assert.equal(await cached('four', 'b'), true)
			assert.equal(await cached('five', 'a'), false)
		} finally {
			const end = await own.stop()
			assert.ok(end.clean, JSON.stringify(end.left))
		}
	},
)

test(
	'a bomb of files ends at the quota, a ready command at its time, a build with its warden; nothing stays',
	{ timeout: 420000 },
	async () => {
		const own = await newServer(server.buildDir, {
			pool_size_mb: 2048,
			ready_timeout_s: 4,
			default_disk_mb: 256,
		}).start()
		const opt = { base: own.url, key: own.key }
		const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bomb-'))
		const noBox = () => until(() => !workOf(own).some((n) => n.startsWith('i')), 10000)
		let stopped
		try {
			const before = workOf(own)
			fs.writeFileSync(path.join(dir, 'zeros'), '')
			fs.truncateSync(path.join(dir, 'zeros'), 600 << 20)
			const bomb = spawnSync('tar', ['-C', dir, '-I', 'gzip -1', '-cf', '-', 'zeros'], {
				maxBuffer: 1 << 26,
			}).stdout
			assert.ok(bomb.length < 8 << 20)
			const hash = 'b'.repeat(64)
			const { templateID } = (await api('POST', '/v3/templates', { name: 'bomb' }, opt)).json
			const { url } = (await api('GET', `/templates/${templateID}/files/${hash}`, undefined, opt))
				.json
			assert.equal((await fetch(url, { method: 'PUT', body: bomb })).status, 200)
			const bombed = await (
				await raw(
					'bomb',
					{
						fromTemplate: 'base',
						steps: [{ type: 'COPY', args: ['.', '/srv'], filesHash: hash }],
					},
					opt,
				)
			).end()
			assert.equal(bombed.status, 'error')
			assert.equal(bombed.reason.step, '1')
			assert.match(bombed.reason.message, /disk|space|quota/i)
			assert.ok(await noBox(), workOf(own).join())
			assert.deepEqual(workOf(own), before)

			for (const readyCmd of ['false', 'sleep 1000']) {
				const late = await (
					await raw(
						'late',
						{ fromTemplate: 'base', startCmd: 'sleep 1000', readyCmd, steps: [] },
						opt,
					)
				).end()
				assert.equal(late.status, 'error')
				assert.equal(late.reason.step, 'finalize')
				assert.match(late.reason.message, /ready command timed out after 4 seconds/)
				assert.ok(await noBox(), workOf(own).join())
			}

			const lost = await raw('lost', slow, opt)
			assert.ok(await running(lost), 'the build does not get there')
			own.signal('SIGKILL')
			await own.exited
			await own.start()
			assert.ok(
				await until(
					async () => (await lost.status().catch(() => ({}))).status === 'error',
					20000,
				),
			)
			assert.match((await lost.status()).reason.message, /restarted/)
			assert.ok(await noBox(), workOf(own).join())
			assert.equal((await gc(opt)).status, 200)
			assert.ok(await until(() => workOf(own).length === 0, 60000), workOf(own).join())
		} finally {
			fs.rmSync(dir, { recursive: true })
			stopped = await own.stop()
		}
		assert.ok(stopped.clean, JSON.stringify(stopped.left))
	},
)

// An archive on its way: sent piece by piece, and finished or not as the test likes.
function sending(url) {
	const at = new URL(url)
	const req = http.request({
		host: at.hostname,
		port: at.port,
		method: 'PUT',
		path: at.pathname + at.search,
		agent: false,
		headers: { 'Transfer-Encoding': 'chunked' },
	})
	const answer = new Promise((done) => {
		req.once('response', (res) => {
			res.resume()
			res.once('close', () => req.destroy())
			done(res.statusCode)
		})
		req.once('error', () => done('lost'))
	})
	req.flushHeaders()
	return { req, answer, send: (bytes) => new Promise((done) => req.write(bytes, done)) }
}

test('W6: files that are never finished fill nothing', async () => {
	const own = await newServer(server.buildDir, {
		template_uploads_mb: 4,
		template_upload_max_mb: 4,
		body_timeout_s: 3,
	}).start()
	const at = { base: own.url, key: own.key },
		hash = (n) => n.toString(16).padStart(64, '0'),
		all = []
	try {
		const { templateID } = (
			await api('POST', '/v3/templates', { name: 'w6', cpuCount: 1, memoryMB: 512 }, at)
		).json
		const link = async (n) =>
			(await api('GET', `/templates/${templateID}/files/${hash(n)}`, undefined, at)).json.url
		const begin = async (n) => {
			const s = sending(await link(n))
			all.push(s)
			return s
		}
		const stored = () =>
			['uploads.db', 'uploads.db-wal'].reduce(
				(sum, f) =>
					sum +
						fs.statSync(path.join(own.stateDir, 'front', f), {
							throwIfNoEntry: false,
						})?.size ?? 0,
				0,
			)

		/* three of them, each within its own limit, do not fit together */
		const first = await Promise.all([1, 2, 3].map(begin)),
			piece = Buffer.alloc(2 << 20, 1)
		await Promise.all(
			first.map((s) =>
				Promise.race([s.send(piece).then(() => s.send(piece.subarray(0, 1 << 20))), s.answer]),
			),
		)
		assert.equal(await Promise.race(first.map((s) => s.answer)), 507)
		assert.ok(stored() < 16 << 20, `${stored()}`)

		/* one that stands still is ended, and what came of it is given back */
		const ends = await Promise.all(first.map((s) => s.answer))
		assert.ok(
			ends.every((end) => [507, 408].includes(end)),
			ends.join(),
		)
		assert.ok(ends.includes(408), ends.join())
		const whole = await fetch(await link(9), { method: 'PUT', body: Buffer.alloc(3 << 20, 2) })
		assert.equal(whole.status, 200)

		/* no more than so many at once */
		const many = await Promise.all(Array.from({ length: 100 }, (_, i) => begin(100 + i)))
		await Promise.all(many.map((s) => s.send('x')))
		assert.equal(await (await begin(300)).answer, 429)
		const another = await api('POST', '/admin/teams', { name: 'w6-other' }, at)
		const { key } = (await api('POST', `/admin/teams/${another.json.teamID}/api-keys`, { name: 'k' }, at))
			.json
		const theirs = (
			await api('POST', '/v3/templates', { name: 'w6', cpuCount: 1, memoryMB: 512 }, { ...at, key })
		).json.templateID
		const { url } = (await api('GET', `/templates/${theirs}/files/${hash(1)}`, undefined, { ...at, key }))
			.json
		assert.equal((await fetch(url, { method: 'PUT', body: 'y' })).status, 200, 'another team has its own')

		/* what one team does not finish does not keep another out */
		const third = (await api('POST', '/admin/teams', { name: 'w6-third' }, at)).json.teamID
		const as = {
			...at,
			key: (await api('POST', `/admin/teams/${third}/api-keys`, { name: 'k' }, at)).json.key,
		}
		const last = (await api('POST', '/v3/templates', { name: 'w6', cpuCount: 1, memoryMB: 512 }, as)).json
			.templateID
		const to = (await api('GET', `/templates/${last}/files/${hash(1)}`, undefined, as)).json.url
		const hoard = sending(
			(await api('GET', `/templates/${theirs}/files/${hash(2)}`, undefined, { ...at, key })).json.url,
		)
		all.push(hoard)
		const script =
			"import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT sum(bytes) FROM " +
			"uploads WHERE done=0').fetchone()[0])"
		const begun = () =>
			Number(
				spawnSync('python3', ['-c', script, path.join(own.stateDir, 'front/uploads.db')], {
					encoding: 'utf8',
				}).stdout,
			)
		await hoard.send(Buffer.alloc(7 << 19, 3))
		assert.ok(await until(() => begun() >= 3 << 20, 2500, 50))
		assert.equal((await fetch(to, { method: 'PUT', body: Buffer.alloc(2 << 20, 4) })).status, 200)
		assert.ok([507, 408].includes(await hoard.answer))
	} finally {
		for (const s of all) s.req.destroy()
		await own.stop()
	}
})

test('W6, low: the address for files of a blocked team takes nothing, and what is on its way ends', async () => {
	const team = (await api('POST', '/admin/teams', { name: 'w6-blocked' })).json.teamID
	const as = { key: (await api('POST', `/admin/teams/${team}/api-keys`, { name: 'k' })).json.key }
	const { templateID } = (
		await api('POST', '/v3/templates', { name: 'w6-blocked', cpuCount: 1, memoryMB: 512 }, as)
	).json
	const link = async (n) =>
		(await api('GET', `/templates/${templateID}/files/${String(n).padStart(64, '0')}`, undefined, as)).json
			.url
	const block = async (blocked) =>
		assert.equal((await api('PATCH', `/admin/teams/${team}`, { blocked })).status, 200)
	const url = await link(1),
		way = sending(await link(2))
	try {
		await way.send('some of it')
		assert.equal((await fetch(url, { method: 'PUT', body: 'x' })).status, 200)
		await block(true)
		const refused = await fetch(url, { method: 'PUT', body: 'x' })
		assert.equal(refused.status, 403)
		assert.match((await refused.json()).message, /team is blocked/)
		assert.equal(await way.answer, 403)
		await block(false)
		assert.equal((await fetch(url, { method: 'PUT', body: 'x' })).status, 200)
	} finally {
		way.req.destroy()
	}
})

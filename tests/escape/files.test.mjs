// SPDX-License-Identifier: Apache-2.0
// Links and races against every call that takes a path: what the sandbox plants leads to what is inside, and to what
// the caller's user may.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { api, asUser, createRaw, envd, killRaw, rpc, server, shell, stream } from '../lib/client.mjs'
import { atoll } from '../lib/cli.mjs'
import { sleep, until } from '../lib/host.mjs'

const SECRET = 'of-the-host-1f6a9c'
const RAW = { 'Content-Type': 'application/octet-stream' }
let sbx, host

before(async () => {
	sbx = await createRaw({ timeout: 300 })
	host = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-escape-host-'))
	fs.writeFileSync(path.join(host, 'secret'), SECRET)
	fs.mkdirSync(path.join(host, 'dir'))
	fs.chmodSync(host, 0o777) // nothing of the host's own rights is in the way
	fs.chmodSync(path.join(host, 'dir'), 0o777)
	await shell(
		sbx,
		`ln -sfn '${host}' /tmp/out; ln -sfn '${host}/secret' /tmp/out-file; ln -sfn '${server.stateDir}' ` +
			`/tmp/state; ln -sfn /proc/1/root/tmp/out /tmp/by-proc`,
		{ user: 'root' },
	)
})
after(async () => {
	await killRaw(sbx)
	fs.rmSync(host, { recursive: true, force: true })
})

const get = (p, user = 'root') => envd(sbx, 'GET', `/files?path=${encodeURIComponent(p)}&username=${user}`)
const put = (p, body, user = 'root') =>
	envd(sbx, 'POST', `/files?path=${encodeURIComponent(p)}&username=${user}`, Buffer.from(body), { headers: RAW })
const fsCall = (name, message, user = 'root') => rpc(sbx, `filesystem.Filesystem/${name}`, message, { user })

function untouched() {
	assert.equal(fs.readFileSync(path.join(host, 'secret'), 'utf8'), SECRET, 'a file of the host was changed')
	assert.deepEqual(fs.readdirSync(host).sort(), ['dir', 'secret'], 'something was made or removed on the host')
	assert.deepEqual(fs.readdirSync(path.join(host, 'dir')), [], 'something was made on the host')
}

// --- links to paths of the host: the same path inside is another file, or none ---

const LINKS = {
	'download through a link': async () => {
		for (const p of [
			'/tmp/out/secret',
			'/tmp/out-file',
			'/tmp/state/key',
			'/tmp/by-proc/secret',
			`${host}/secret`,
			`/../../../..${host}/secret`,
			`/proc/self/root/../..${host}/secret`,
		]) {
			const res = await get(p)
			assert.ok(res.status >= 400, `${p}: ${res.status}`)
			assert.ok(!res.text.includes(SECRET) && !res.text.includes(server.key), p)
		}
	},
	'upload through a link': async () => {
		for (const p of ['/tmp/out/secret', '/tmp/out-file', '/tmp/out/dir/planted', `${host}/planted`])
			await put(p, 'planted') // may work: it makes a file inside
	},
	'multipart upload with names that climb': async () => {
		for (const name of [
			'../../../../..' + host + '/planted',
			`${host}/planted`,
			'..',
			'a/../../../../../..' + host + '/dir/planted',
			'x\u0000y',
			'\\..\\..\\planted',
		]) {
			const body =
				`--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n` +
				`planted\r\n--b--\r\n`
			await envd(sbx, 'POST', '/files?username=root', Buffer.from(body), {
				headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
			})
		}
	},
	'list through a link': async () => {
		for (const p of ['/tmp/out', '/tmp/state', '/tmp/by-proc']) {
			const res = await fsCall('ListDir', { path: p, depth: 3 })
			assert.ok(!/secret|pool\.img|atoll\.db/.test(res.text), `${p}: ${res.text}`)
		}
	},
	'stat through a link': async () => {
		for (const p of ['/tmp/out-file', '/tmp/state/key', '/tmp/out/secret'])
			assert.ok(
				(await fsCall('Stat', { path: p })).status >= 400 ||
					!(await fsCall('Stat', { path: p })).text.includes('"size":"18"'),
				p,
			)
	},
	'make directories through a link': async () => {
		await fsCall('MakeDir', { path: '/tmp/out/dir/made/deep' })
	},
	'move through a link': async () => {
		await put('/tmp/mine', 'x')
		await fsCall('Move', { source: '/tmp/mine', destination: '/tmp/out/dir/moved' })
		const res = await fsCall('Move', { source: '/tmp/out-file', destination: '/tmp/stolen' })
		assert.ok(!(await get('/tmp/stolen')).text.includes(SECRET), res.text)
	},
	'remove through a link': async () => {
		await fsCall('Remove', { path: '/tmp/out/secret' })
		await fsCall('Remove', { path: '/tmp/out/dir' })
		await fsCall('Remove', { path: `${host}` })
	},
	'compose through a link': async () => {
		await envd(
			sbx,
			'POST',
			'/files/compose',
			{ path: '/tmp/out/dir/composed', parts: ['/tmp/out-file', '/tmp/state/key'] },
			{ headers: asUser('root') },
		)
		assert.ok(!(await get('/tmp/out/dir/composed')).text.includes(SECRET))
	},
	'watch through a link': async () => {
		await shell(sbx, `mkdir -p '${host}'`, { user: 'root' }) // the same path inside
		const watch = await stream(
			sbx,
			'filesystem.Filesystem/WatchDir',
			{ path: '/tmp/out', recursive: true },
			{ user: 'root' },
		)
		assert.ok(await until(() => watch.events.length > 0, 10000, 20), 'nothing is watched')
		fs.writeFileSync(path.join(host, 'seen'), 'x')
		// its event would come after one of the host
		await shell(sbx, `touch '${host}/inside'`, { user: 'root' })
		assert.ok(
			await until(() => JSON.stringify(watch.events).includes('inside'), 10000, 20),
			'its own are not told',
		)
		fs.rmSync(path.join(host, 'seen'))
		watch.close()
		assert.ok(!JSON.stringify(watch.events).includes('seen'), 'an event of the host')
	},
	'work in a linked directory': async () => {
		const got = await shell(sbx, 'cat /tmp/out-file; cd /tmp/out && ls; cat /tmp/out/secret', {
			user: 'root',
		})
		assert.ok(!got.stdout.includes(SECRET))
	},
}
for (const [name, run] of Object.entries(LINKS)) {
	test(`attempt: files/link: ${name}`, async () => {
		await run()
		untouched()
	})
}

// --- races: a name flips between a directory of the sandbox and a link to one of the host. Whoever looked first and
// opened later, or looked from outside, would end on the host sooner or later. (Whose the files are inside is no wall:
// calls act as root of the sandbox, as E2B's do.) ---

const flipper = (to) => `
import ctypes, os
libc = ctypes.CDLL(None)
os.makedirs("/tmp/race/own", exist_ok=True)
open("/tmp/race/own/secret", "w").write("own")
os.symlink(${JSON.stringify(to)}, "/tmp/race/link")
os.rename("/tmp/race/own", "/tmp/race/at")
print("flipping", flush=True)
while True: libc.renameat2(-100, b"/tmp/race/at", -100, b"/tmp/race/link", 2)
`
const TIMES = 30

async function withRace(use) {
	await shell(sbx, `pkill -f [f]lip[.]py; rm -rf /tmp/race '${host}'`, { user: 'root' })
	await put('/tmp/flip.py', flipper(host))
	const flip = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: 'python3', args: ['/tmp/flip.py'] }, stdin: false },
		{ user: 'root' },
	)
	assert.ok(await until(() => flip.events.some((e) => e.event?.data), 5000, 20), 'nobody flips')
	try {
		await use()
	} finally {
		await shell(sbx, 'pkill -f [f]lip[.]py', { user: 'root' })
		flip.close()
	}
	untouched()
}

const RACES = {
	'download': async () => {
		let own = 0,
			other = 0
		for (let i = 0; i < TIMES || ((own === 0 || other === 0) && i < 10 * TIMES); i++) {
			const res = await get('/tmp/race/at/secret')
			assert.ok(!res.text.includes(SECRET), 'a file of the host was read')
			own += res.text === 'own'
			other += res.status >= 400
		}
		assert.ok(own > 0 && other > 0, `not a race: ${own} times the directory, ${other} times the link`)
	},
	'upload': async () => {
		for (let i = 0; i < TIMES; i++) await put('/tmp/race/at/secret', 'own')
	},
	'new file': async () => {
		for (let i = 0; i < TIMES; i++) await put(`/tmp/race/at/new${i}`, 'own')
	},
	'large upload': async () => {
		for (let i = 0; i < 10; i++) await put(`/tmp/race/at/dir/large${i}`, Buffer.alloc(1 << 20, i))
	},
	'list': async () => {
		for (let i = 0; i < TIMES; i++)
			assert.ok(
				!(await fsCall('ListDir', { path: '/tmp/race/at', depth: 2 })).text.includes(
					`"path":"${host}`,
				),
				'a directory of the host was listed',
			)
	},
	'stat': async () => {
		for (let i = 0; i < TIMES; i++)
			assert.ok(
				!(await fsCall('Stat', { path: '/tmp/race/at/secret' })).text.includes(
					`"size":"${SECRET.length}"`,
				),
			)
	},
	'make directories': async () => {
		for (let i = 0; i < TIMES; i++) await fsCall('MakeDir', { path: `/tmp/race/at/dir/made${i}` })
	},
	'move in': async () => {
		for (let i = 0; i < TIMES; i++) {
			await put('/tmp/mine', 'x')
			await fsCall('Move', { source: '/tmp/mine', destination: '/tmp/race/at/dir/moved' })
		}
	},
	'move out': async () => {
		for (let i = 0; i < TIMES; i++) {
			await fsCall('Move', { source: '/tmp/race/at/secret', destination: '/tmp/taken' })
			assert.ok(!(await get('/tmp/taken')).text.includes(SECRET), 'a file of the host was moved')
			await put('/tmp/race/at/secret', 'own')
		}
	},
	'remove': async () => {
		for (let i = 0; i < TIMES; i++) await fsCall('Remove', { path: '/tmp/race/at/secret' })
	},
	'remove a tree': async () => {
		for (let i = 0; i < 30; i++) {
			await fsCall('Remove', { path: '/tmp/race/at/dir' })
			await put('/tmp/race/at/dir/deep/file', 'x')
		}
	},
	'compose': async () => {
		for (let i = 0; i < 30; i++) {
			await envd(
				sbx,
				'POST',
				'/files/compose',
				{ path: '/tmp/composed', parts: ['/tmp/race/at/secret'] },
				{ headers: asUser('root') },
			)
			assert.ok(!(await get('/tmp/composed')).text.includes(SECRET))
		}
	},
	'watch': async () => {
		for (let i = 0; i < 15; i++) {
			const watch = await stream(
				sbx,
				'filesystem.Filesystem/WatchDir',
				{ path: '/tmp/race/at', recursive: true },
				{ user: 'root' },
			)
			fs.writeFileSync(path.join(host, 'seen'), 'x')
			// for an event that must not come; the path changes all the time, so none can be waited for
			await sleep(20)
			fs.rmSync(path.join(host, 'seen'))
			watch.close()
			assert.ok(!JSON.stringify(watch.events).includes('"seen"'), 'an event of the host')
		}
	},
	'working directory': async () => {
		for (let i = 0; i < 30; i++) {
			const run = await stream(
				sbx,
				'process.Process/Start',
				{ process: { cmd: 'cat', args: ['secret'], cwd: '/tmp/race/at' }, stdin: false },
				{ user: 'root' },
			)
			await run.ended
			assert.ok(
				!JSON.stringify(run.events).includes(
					Buffer.from(SECRET).toString('base64').slice(0, 16),
				),
				'a command worked on the host',
			)
		}
	},
	'snapshot': async () => {
		const kept = await api('POST', `/sandboxes/${sbx.sandboxID}/snapshots`, {})
		assert.ok(kept.status === 201, kept.text)
		const copy = await createRaw({ templateID: kept.json.snapshotID, timeout: 60 })
		try {
			const got = await shell(
				copy,
				'cat /tmp/race/at/secret /tmp/race/link/secret; ls -R /tmp/race',
				{ user: 'root' },
			)
			assert.ok(!got.stdout.includes(SECRET), got.stdout)
		} finally {
			await killRaw(copy)
			await api('DELETE', `/templates/${kept.json.snapshotID}`)
		}
	},
}
for (const [name, run] of Object.entries(RACES)) test(`attempt: files/race: ${name}`, () => withRace(run))

test('control: through a link to what is inside all of them get', async () => {
	await shell(
		sbx,
		'mkdir -p /root/guarded; echo -n guarded > /root/guarded/f; ln -sfn /root/guarded /tmp/control',
		{ user: 'root' },
	)
	assert.equal((await get('/tmp/control/f', 'root')).text, 'guarded')
	assert.equal((await put('/tmp/control/g', 'new')).status, 200)
	assert.equal((await shell(sbx, 'cat /root/guarded/g', { user: 'root' })).stdout, 'new')
	assert.equal(
		fs.readFileSync(path.join(host, 'secret'), 'utf8'),
		SECRET,
		'and on the host there is something at the other path',
	)
})

// --- the other direction: a sandbox answers `atoll cp` with an archive of its own making ---

const ARCHIVES = {
	'absolute name': 'add("/tmp/escape-planted")',
	'name that climbs': 'add("../escape-planted")',
	'name that climbs later': 'add("a/b/../../../escape-planted")',
	'file through a link': 'add("l", T.SYMTYPE, ".."); add("l/escape-planted")',
	'file through a link to a link': 'add("a", T.SYMTYPE, "b"); add("b", T.SYMTYPE, ".."); add("a/escape-planted")',
	'hard link to the outside': 'add("h", T.LNKTYPE, "../victim"); add("h", data=b"evil")',
	'hard link to an absolute name': 'add("h", T.LNKTYPE, "/etc/passwd"); add("h", data=b"evil")',
	'directory replaced by a link': 'add("d", T.DIRTYPE); add("d", T.SYMTYPE, ".."); add("d/escape-planted")',
	'device': 'add("dev", T.CHRTYPE)',
	'set-user-id program': 'add("suid", mode=0o6755)',
	'very long name': 'add("x" * 5000)',
}
for (const [name, code] of Object.entries(ARCHIVES)) {
	test(`attempt: files/archive: ${name}`, async () => {
		const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-escape-cp-'))
		const evil = `#!/usr/bin/python3
import io, sys, tarfile as T
t = T.open(fileobj=sys.stdout.buffer, mode="w|", format=T.GNU_FORMAT)
def add(name, kind=T.REGTYPE, link="", data=b"evil", mode=0o644):
    i = T.TarInfo(name); i.type = kind; i.linkname = link; i.mode = mode; i.devmajor = 1; i.devminor = 3
    i.size = len(data) if kind == T.REGTYPE else 0
    t.addfile(i, io.BytesIO(data) if kind == T.REGTYPE else None)
${code}
t.close()
`
		try {
			fs.writeFileSync(path.join(dir, 'victim'), 'victim')
			await put('/tmp/evil-tar', evil)
			await shell(
				sbx,
				'mkdir -p /tmp/tree && chmod 755 /tmp/evil-tar && for t in /usr/bin/tar /bin/tar; ' +
					'do [ -e $t.real ] || cp $t $t.real; cp /tmp/evil-tar $t; done',
				{ user: 'root' },
			)
			const run = atoll(['cp', `${sbx.sandboxID}:/tmp/tree`, path.join(dir, 'into')])
			assert.equal(fs.readFileSync(path.join(dir, 'victim'), 'utf8'), 'victim', run.err)
			assert.deepEqual(
				fs.readdirSync(dir).filter((n) => !['victim', 'into'].includes(n)),
				[],
				run.err,
			)
			assert.ok(!fs.existsSync('/tmp/escape-planted'))
			for (const entry of fs.existsSync(path.join(dir, 'into'))
				? fs.readdirSync(path.join(dir, 'into'), { recursive: true })
				: []) {
				const st = fs.lstatSync(path.join(dir, 'into', entry))
				assert.ok(!st.isCharacterDevice() && !st.isBlockDevice(), `${entry} is a device`)
				assert.equal(st.mode & 0o6000, 0, `${entry} has a set-id bit`)
			}
		} finally {
			fs.rmSync(dir, { recursive: true, force: true })
			fs.rmSync('/tmp/escape-planted', { force: true })
		}
	})
}

test('the server is as before', async () => {
	untouched()
	assert.equal((await api('GET', '/health')).status, 204)
	assert.equal((await shell(sbx, 'echo whole')).stdout, 'whole\n')
})

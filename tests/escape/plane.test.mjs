// SPDX-License-Identifier: Apache-2.0
// The API as a way in: from one sandbox's owner to another's, to what is between our own processes, to paths of the
// host by names in requests; volumes, which are a file system of the host; and sandboxes that came back from disk or
// were forked, whose walls must be the same.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { api, createRaw, envd, exchange, killRaw, request, rpc, server, shell } from '../lib/client.mjs'
import { alive, mountsOf } from '../lib/host.mjs'

const SUITE = path.join(server.buildDir, 'tests/escape/suite')
const RAW = { 'Content-Type': 'application/octet-stream' }
let one, two

before(async () => {
	;[one, two] = await Promise.all([
		createRaw({ timeout: 300, secure: true }),
		createRaw({ timeout: 300, secure: true }),
	])
	assert.ok(one.envdAccessToken && two.envdAccessToken)
})
after(async () => {
	await Promise.all([one, two].map((s) => s && killRaw(s)))
	assert.ok(alive(server.pid))
})

// Refused, whatever the words; never a 500, which would mean that something went where nobody thought of.
function refused(res, codes = [400, 401, 403, 404, 405, 409, 413, 421, 501, 502]) {
	assert.ok(codes.includes(res.status), `${res.status}: ${res.text?.slice(0, 200)}`)
	assert.ok(!res.text.includes(server.stateDir), 'a path of the host is told')
}

const made = []
async function notMade(body) {
	const res = await api('POST', '/v2/sandboxes', body)
	if (res.status === 201) made.push(res.json)
	refused(res)
}
after(() => Promise.all(made.map((s) => killRaw(s))))

const PLANE = {
	// what one owner has is not another's
	'token of one for another': async () =>
		refused(
			await rpc(
				{ sandboxID: two.sandboxID, envdAccessToken: one.envdAccessToken },
				'process.Process/List',
				{},
			),
			[401, 403],
		),
	'no token': async () =>
		refused(await rpc({ sandboxID: two.sandboxID }, 'process.Process/List', {}), [401, 403]),
	'file without a signature': async () =>
		refused(
			await request('GET', '/files?path=/etc/passwd', {
				headers: { 'E2b-Sandbox-Id': two.sandboxID, 'E2b-Sandbox-Port': '49983' },
			}),
			[400, 401, 403],
		),
	'two sandboxes named at once': async () =>
		refused(
			await request('POST', '/process.Process/List', {
				body: {},
				headers: {
					'E2b-Sandbox-Id': one.sandboxID,
					'E2b-Sandbox-Port': '49983',
					'X-Access-Token': one.envdAccessToken,
					Host: `49983-${two.sandboxID}.atoll.localhost`,
				},
			}),
			[200, 400, 401, 421],
		),
	'a sandbox id that is a path': async () => refused(await api('GET', '/sandboxes/..%2f..%2fetc%2fpasswd')),
	'a sandbox id with a NUL': async () => refused(await api('GET', '/sandboxes/i%00aaaaaaaaaaaaaaaaaaa')),
	'a sandbox id in a header that is a path': async () =>
		refused(
			await request('GET', '/health', {
				headers: { 'E2b-Sandbox-Id': '../../../x', 'E2b-Sandbox-Port': '49983' },
			}),
		),
	// names that become paths on the host
	'template by a path': () => notMade({ templateID: '../../../etc' }),
	'template by an absolute path': () => notMade({ templateID: '/etc' }),
	'template with a NUL': () => notMade({ templateID: 'base\u0000/../../etc' }),
	'template of 10 kB': () => notMade({ templateID: 'x'.repeat(10000) }),
	'template that is an object': () => notMade({ templateID: { toString: 'base' } }),
	'snapshot by a path': async () => {
		const res = await api('POST', `/sandboxes/${one.sandboxID}/snapshots`, { name: '../../../tmp/escape' })
		if (res.status === 201) await api('DELETE', `/templates/${encodeURIComponent(res.json.snapshotID)}`)
		assert.ok(!fs.existsSync('/tmp/escape-snapshot'))
		refused(res)
	},
	'volume by a path': async () => refused(await api('POST', '/volumes', { name: '../../../tmp/escape' })),
	'volume over /proc': () => notMade({ templateID: 'base', volumeMounts: [{ name: 'x', path: '/proc' }] }),
	'volume over /dev by dots': () =>
		notMade({ templateID: 'base', volumeMounts: [{ name: 'x', path: '/tmp/../dev/x' }] }),
	'volume over the root': () => notMade({ templateID: 'base', volumeMounts: [{ name: 'x', path: '/' }] }),
	'volume at a relative path': () =>
		notMade({ templateID: 'base', volumeMounts: [{ name: 'x', path: '../../x' }] }),
	// what is between our own processes
	"init's own calls: /init": async () => {
		const res = await envd(one, 'POST', '/init', { envVars: { FORGED: 'yes' }, defaultUser: 'root' })
		assert.ok(
			!(await shell(one, 'echo got-$FORGED')).stdout.includes('got-yes'),
			`${res.status}: /init of a client was heard`,
		)
	},
	"init's own calls: /atoll/quiet": async () => refused(await envd(one, 'POST', '/atoll/quiet', {})),
	"init's own calls: /atoll/events": async () => refused(await envd(one, 'GET', '/atoll/events')),
	"init's own calls: /atoll/ready": async () => refused(await envd(one, 'GET', '/atoll/ready')),
	"init's own calls in other spelling": async () => {
		for (const p of [
			'/atoll%2fquiet',
			'//atoll/quiet',
			'/./atoll/quiet',
			'/atoll/../atoll/quiet',
			'/atoll/quiet?x',
			'/atoll/quiet/',
			'/%61toll/quiet',
			'http://x/atoll/quiet',
		])
			refused(await envd(one, 'POST', p, {}))
	},
	'CONNECT to the server': async () =>
		assert.ok(
			!/^HTTP\/1\.1 2/.test(
				await exchange('CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n', {
					wait: 2000,
				}),
			),
		),
	'CONNECT into a sandbox': async () =>
		assert.ok(
			!/^HTTP\/1\.1 2/.test(
				await exchange(
					`CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 49983-${one.sandboxID}.x\r\n` +
						`E2b-Sandbox-Id: ${one.sandboxID}\r\nE2b-Sandbox-Port: 8080\r\n\r\n`,
					{ wait: 2000 },
				),
			),
		),
	'absolute form to another host': async () =>
		assert.ok(
			!/^HTTP\/1\.1 2/.test(
				await exchange(
					'GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\nHost: ' +
						'169.254.169.254\r\n\r\n',
					{ wait: 2000 },
				),
			),
		),
	'a port that is an address': async () => {
		for (const port of [
			'22@169.254.169.254',
			'127.0.0.1:22',
			'0',
			'65536',
			'-1',
			'80 80',
			'8080\t',
			'0x50',
			'٨٠',
		])
			refused(
				await request('GET', '/', {
					headers: {
						'E2b-Sandbox-Id': one.sandboxID,
						'E2b-Sandbox-Port': Buffer.from(port).toString('latin1'),
						'X-Access-Token': one.envdAccessToken,
					},
				}),
			)
	},
	'two lengths, two requests': async () => {
		const head =
			`E2b-Sandbox-Id: ${one.sandboxID}\r\nE2b-Sandbox-Port: 49983\r\n` +
			`X-Access-Token: ${one.envdAccessToken}\r\n`
		const inner = `POST /atoll/quiet HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`
		for (const more of [
			`Content-Length: 0\r\nContent-Length: ${inner.length}\r\n`,
			`Content-Length: ${inner.length}\r\nTransfer-Encoding: chunked\r\n`,
			'Transfer-Encoding: chunked, identity\r\n',
			'Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n',
			'Transfer-Encoding : chunked\r\n',
			'Content-Length: +5\r\n',
		]) {
			const got = await exchange(
				`POST /health HTTP/1.1\r\nHost: x\r\n${head}${more}\r\n0\r\n\r\n${inner}`,
				{ wait: 1500 },
			)
			assert.ok(/^HTTP\/1\.1 4/.test(got), `${more}: ${got.slice(0, 80)}`)
			assert.ok(!/HTTP\/1\.1 2/.test(got), `${more}: the second request was served`)
		}
	},
	'a header that breaks the line': async () => {
		const got = await exchange(
			`GET /health HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: ${one.sandboxID}\r\nE2b-Sandbox-Port: ` +
				`49983\r\nX-Access-Token: ${one.envdAccessToken}\r\nX-A: b\nX-Api-Key: c\r\n\r\n`,
			{ wait: 1500 },
		)
		assert.ok(/^HTTP\/1\.1 4/.test(got), got.slice(0, 80))
	},
}
for (const [name, run] of Object.entries(PLANE)) {
	test(`attempt: plane: ${name}`, async () => {
		await run()
		assert.equal((await request('GET', '/health')).status, 204)
	})
}

test('control: with its own token, a sandbox answers', async () => {
	assert.equal((await rpc(two, 'process.Process/List', {})).status, 200)
	assert.equal((await shell(one, 'echo whole')).stdout, 'whole\n')
})

// --- the files of the instance on the host ---

test('attempt: plane: a set-user-id file in a sandbox is one on the host', async () => {
	await shell(one, 'cp /bin/bash /tmp/escape-suid && chmod 4755 /tmp/escape-suid', { user: 'root' })
	const disks = mountsOf(server.pid).filter(
		(l) => / - btrfs /.test(l) && l.includes(path.dirname(server.stateDir)),
	)
	assert.ok(disks.length > 0, 'the pool is not found')
	for (const line of disks) assert.match(line, /nosuid/, `on the host: ${line}`)
	assert.equal(
		fs.statSync(path.join(server.runDir, 'private')).mode & 0o077,
		0,
		'the place of the pool is open to others',
	)
})

// --- volumes: a file system of the host within reach ---

const VOLUME =
	`
import errno, fcntl, os, struct, sys
d = os.open("/vol", os.O_RDONLY)
os.symlink(sys.argv[1], "/vol/key"); os.symlink("/etc/passwd", "/vol/passwd"); os.symlink("..", "/vol/up"); ` +
	`os.symlink("/proc/self/root", "/vol/root")
def ask(name, request, size=4096, data=b""):
    try:
        fcntl.ioctl(d, request, bytearray(data.ljust(size, b"\\0")))
        print(name, "worked")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
ask("subvolume", 0x5000940e, data=struct.pack("q", 0) + b"sub")
ask("subvolume-v2", 0x50009418, data=struct.pack("QQQ", 0, 0, 0) + bytes(32) + b"sub2")
ask("snapshot", 0x50009401, data=struct.pack("q", d) + b"snap")
ask("snapshot-v2", 0x50009417, data=struct.pack("qQQ", d, 0, 0) + bytes(32) + b"snap2")
ask("destroy", 0x5000940f, data=struct.pack("q", 0) + b"sub")
ask("tree-search", 0xd0009411)
ask("lookup", 0xd0009412)
ask("sync", 0x9408, 8)
ask("devices", 0x5000940a)
ask("quota", 0xc0109428, 16, struct.pack("QQ", 2, 0))
ask("limit", 0x8030942b, 48)
ask("send", 0x40489426, 72)
ask("defrag", 0x40309410, 48)
ask("subvolume-info", 0x81f8943c, 504)
for name, fn in (("device", lambda: os.mknod("/vol/mem", 0o20600, os.makedev(1, 1))), ("trusted", ` +
	`lambda: os.setxattr("/vol", "trusted.x", b"1"))):
    try: fn(); print(name, "worked")
    except OSError as e: print(name, errno.errorcode[e.errno])
n = 0
try:
    with open("/vol/fill", "wb", buffering=0) as f:
        while n < 256: f.write(os.urandom(1 << 20)); n += 1
        os.fsync(f.fileno())
except OSError as e: print("fill", errno.errorcode[e.errno])
else: print("fill", "worked")
`
let volume,
	withVolume,
	rows = new Map()
before(async () => {
	const res = await api('POST', '/volumes', { name: `escape-${process.pid}`, sizeMB: 32 })
	assert.equal(res.status, 201, res.text)
	volume = res.json
	withVolume = await createRaw({ timeout: 300, volumeMounts: [{ name: volume.name, path: '/vol' }] })
	await envd(withVolume, 'POST', '/files?path=/tmp/volume.py&username=root', Buffer.from(VOLUME), {
		headers: RAW,
	})
	const got = await shell(withVolume, `python3 /tmp/volume.py '${server.stateDir}/key'`, { user: 'root' })
	assert.equal(got.code, 0, got.stderr)
	rows = new Map(
		got.stdout
			.trim()
			.split('\n')
			.map((l) => l.split(' ')),
	)
})
after(async () => {
	if (withVolume) await killRaw(withVolume)
	if (volume) await api('DELETE', `/volumes/${volume.volumeID}`)
})
const VOLUME_WANT = { device: ['EPERM'], trusted: ['EPERM'], fill: ['EDQUOT', 'ENOSPC'] }
for (const name of [
	'subvolume',
	'subvolume-v2',
	'snapshot',
	'snapshot-v2',
	'destroy',
	'tree-search',
	'lookup',
	'sync',
	'devices',
	'quota',
	'limit',
	'send',
	'defrag',
	'subvolume-info',
	'device',
	'trusted',
	'fill',
]) {
	test(`attempt: volume: ${name}`, () => {
		assert.ok((VOLUME_WANT[name] ?? ['ENOTTY']).includes(rows.get(name)), `${name}: ${rows.get(name)}`)
	})
}
for (const p of ['/key', '/passwd', '/up/etc/passwd', '/root/etc/passwd', '/../../etc/passwd', '/up/up/up', '/root']) {
	test(`attempt: volume: its content is asked for through ${p}`, async () => {
		const res = await request(
			'GET',
			`/volumecontent/${volume.volumeID}/file?path=${encodeURIComponent(p)}`,
			{ headers: { Authorization: `Bearer ${volume.token}` } },
		)
		assert.ok(
			!res.text.includes(server.key) && !/^root:/m.test(res.text),
			`${p}: ${res.status} ${res.text.slice(0, 100)}`,
		)
		const list = await request(
			'GET',
			`/volumecontent/${volume.volumeID}/dir?path=${encodeURIComponent(p)}`,
			{ headers: { Authorization: `Bearer ${volume.token}` } },
		)
		assert.ok(!/"name":\s*"(shadow|atoll\.db|pool\.img|bin)"/.test(list.text), list.text.slice(0, 200))
	})
}

// --- walls after a restore: what CRIU brings back has what it had ---

async function attack(sbx, label) {
	await envd(sbx, 'POST', '/files?path=/tmp/escape&username=root', fs.readFileSync(path.join(SUITE, 'escape')), {
		headers: RAW,
	})
	const { stdout, stderr } = await shell(sbx, 'chmod 755 /tmp/escape && /tmp/escape run', { user: 'root' })
	const all = stdout
		.trim()
		.split('\n')
		.map((l) => l.split('\t'))
	assert.equal(all.at(-1)?.[0], 'end', `${label}: ${stderr}`)
	return all
		.slice(0, -1)
		.filter((r) => r[0] !== 'held' && r[0] !== 'skipped')
		.map((r) => `${r[0]} ${r[1]}: ${r[3]}`)
}

test('attempt: plane: a copy from a snapshot has a wall less', { timeout: 120000 }, async (t) => {
	await shell(
		one,
		'ln -s /etc/shadow /dev/escape-link; mkfifo /dev/escape-fifo; mkdir -p /dev/escape-dir; echo x > ' +
			'/dev/escape-dir/f; ' +
			'mv /dev/.atoll /dev/moved; mkdir -p /dev/.atoll',
		{ user: 'root' },
	)
	const kept = await api('POST', `/sandboxes/${one.sandboxID}/snapshots`, {})
	assert.equal(kept.status, 201, kept.text)
	const copy = await createRaw({ templateID: kept.json.snapshotID, timeout: 120 })
	try {
		if (!kept.json.memory) t.diagnostic('only the disk was kept: CRIU is not there, or refused')
		assert.deepEqual(await attack(copy, 'copy'), [])
		const found = await shell(
			copy,
			'find / -xdev \\( -name "core-*.img" -o -name "pages-*.img" -o -name inventory.img \\) ' +
				'2>/dev/null; ls /dev/.atoll 2>&1',
			{ user: 'root' },
		)
		assert.ok(!/\.img/.test(found.stdout), `an image of memory is reachable inside: ${found.stdout}`)
		assert.match(found.stdout, /denied/)
	} finally {
		await killRaw(copy)
		await api('DELETE', `/templates/${encodeURIComponent(kept.json.snapshotID)}`)
	}
})

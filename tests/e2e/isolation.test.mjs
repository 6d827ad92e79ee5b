// SPDX-License-Identifier: Apache-2.0
// What must not be visible inside: the host's environment, files, processes, other sandboxes.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { runAny, sdk, server, start, withRaw } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'

let one, two

before(async () => {
	const { Sandbox } = sdk()
	;[one, two] = await Promise.all([1, 2].map(() => Sandbox.create('base', { timeoutMs: 300000 })))
})
after(() => Promise.all([one?.kill(), two?.kill()]))

const root = { user: 'root' }

test("none of the server's variables is visible", async () => {
	const all = await one.commands.run(
		'env; for p in /proc/[0-9]*; do tr "\\0" "\\n" < $p/environ; done 2>/dev/null; true',
		root,
	)
	assert.ok(!all.stdout.includes('canary-of-the-host'))
	assert.ok(!all.stdout.includes(server.key))
	assert.ok(
		!/^(E2B_API_KEY|ATOLL_|LD_|SUDO_|SSH_|npm_|PWD=\/(?!home|root))/m.test(
			all.stdout.replace(/^(PWD|OLDPWD)=.*$/gm, ''),
		),
	)
})

test('no host file is reachable', async () => {
	const secret = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-host-'))
	fs.writeFileSync(path.join(secret, 'secret'), 'of the host')
	try {
		for (const p of [
			`${secret}/secret`,
			`/proc/1/root${secret}/secret`,
			`/proc/self/root/../..${secret}/secret`,
			`${server.stateDir}/key`,
			`/../../../..${secret}/secret`,
		]) {
			assert.notEqual((await runAny(one, `cat '${p}'`, root)).exitCode, 0, p)
			await assert.rejects(one.files.read(p), undefined, p)
		}
		await one.commands.run(
			`ln -sf '${secret}' /tmp/hostlink; ln -sf '${server.stateDir}' /tmp/statelink`,
			root,
		)
		await assert.rejects(one.files.read('/tmp/hostlink/secret'))
		await assert.rejects(one.files.read('/tmp/statelink/key'))
		await assert.rejects(one.files.list('/tmp/statelink'))
		await one.files.write(`${secret}-2/x`, 'inside')
		assert.ok(!fs.existsSync(`${secret}-2`))
		await one.files.write(`${secret}/planted`, 'x') /* same path, other tree */
		assert.ok(!fs.existsSync(path.join(secret, 'planted')))
	} finally {
		fs.rmSync(secret, { recursive: true, force: true })
	}
})

test('its users are its own: no host account, no host hostname', async () => {
	const passwd = await one.commands.run('cat /etc/passwd; cat /etc/hostname /etc/hosts; hostname', root)
	assert.ok(!/^atoll/m.test(passwd.stdout))
	if (os.hostname() !== 'localhost') assert.ok(!passwd.stdout.includes(os.hostname()) || os.hostname().length < 4)
})

test('only its own processes', async () => {
	const ps = await one.commands.run('ls /proc | grep -c "^[0-9]"; cat /proc/1/comm; ps -eo pid,args', root)
	assert.ok(Number(ps.stdout.split('\n')[0]) < 15)
	assert.match(ps.stdout.split('\n')[1], /^init$/)
	assert.ok(!/atolld|atoll-front/.test(ps.stdout))
})

test('neither the pool nor the disks of other sandboxes show in /sys and /proc', async () => {
	const got = await one.commands.run(
		'ls -A /sys/fs/btrfs /sys/devices/virtual/block /proc/fs; ' +
			'cat /sys/block/*/loop/backing_file 2>/dev/null; cat /proc/cmdline; timeout 20 ' +
			'grep -rsl pool.img /sys/block /sys/class/block /sys/dev /sys/fs /proc/self/mountinfo; true',
		root,
	)
	assert.equal(got.stdout.replace(/^\/.*:$/gm, '').trim(), '')
})

test('pid 1 cannot be traced, read or stopped, not even by root', async () => {
	const code = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("attach", libc.ptrace(16, 1, None, None), "seize", libc.ptrace(0x4206, 1, None, None))
for name in ("mem", "environ", "maps", "auxv", "syscall", "stack"):
    try: print(name, len(os.read(os.open("/proc/1/" + name, os.O_RDONLY), 64)))
    except OSError as e: pass
os.kill(1, 19)
`
	await one.files.write('/tmp/one.py', code)
	assert.equal((await one.commands.run('python3 /tmp/one.py', root)).stdout, 'attach -1 seize -1\n')
	assert.equal((await one.commands.run('echo whole')).stdout, 'whole\n')
})

test('two sandboxes share nothing', async () => {
	await one.files.write('/tmp/mine', 'one')
	await one.commands.run('sudo sh -c "echo changed >> /etc/profile.d/x.sh; echo x > /usr/local/y"')
	assert.equal(await two.files.exists('/tmp/mine'), false)
	assert.equal(await two.files.exists('/usr/local/y'), false)
	const ids = await Promise.all(
		[one, two].map((s) =>
			s.commands.run(
				'cat /etc/machine-id /proc/sys/kernel/random/boot_id; for n in pid net mnt ipc uts ' +
					'user cgroup; do readlink /proc/self/ns/$n; done',
				root,
			),
		),
	)
	const [a, b] = ids.map((r) => r.stdout.trim().split('\n'))
	a.forEach((line, i) => assert.notEqual(line, b[i], `shared: ${line}`))
	const host = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
	assert.ok(!a.includes(host))
})

test('abstract sockets and shared memory do not cross', async () => {
	await one.commands.run(
		"python3 -c \"import socket,time; s=socket.socket(socket.AF_UNIX); s.bind('\\0crossing'); " +
			's.listen(); time.sleep(60)"',
		{ background: true },
	)
	const connect = async (sbx) =>
		(
			await runAny(
				sbx,
				'python3 -c "import socket; socket.socket(socket.AF_UNIX).connect(\'\\0crossing\')"',
			)
		).exitCode
	assert.ok(await until(async () => (await connect(one)) === 0, 30000), 'it is there')
	assert.notEqual(await connect(two), 0)
	await one.commands.run('echo x > /dev/shm/crossing')
	assert.notEqual((await runAny(two, 'cat /dev/shm/crossing')).exitCode, 0)
})

test('a process inside cannot speak to atoll-init as the server does', async () => {
	const code = `
import socket, sys
names = [l.split()[7] for l in open('/proc/net/unix') if len(l.split()) > 7]
hit = [n for n in names if n.startswith('@')]
for n in hit:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(3)
    try:
        s.connect('\\0' + n[1:])
        s.sendall(b'GET /files?path=/etc/shadow HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
        d = s.recv(65536)
        print(n, d[:200])
        if b'200' in d[:20]: sys.exit(3)
    except OSError as e:
        print(n, e)
`
	await one.files.write('/tmp/talk.py', code)
	for (const user of ['user', 'root']) {
		const got = await runAny(one, 'python3 /tmp/talk.py', { user })
		assert.equal(got.exitCode, 0, got.stdout + got.stderr)
	}
})

test(
	'killing everything inside as root ends at most the sandbox itself, and the end of the command ' + 'is told',
	async () => {
		await withRaw({ timeout: 120 }, async (victim) => {
			for (let i = 0; i < 10; i++) {
				const run = await start(victim, 'kill -9 -1; kill -9 1; kill -15 1; kill -11 1', {
					user: 'root',
				})
				let over = false
				run.ended.then(() => {
					over = true
				})
				assert.ok(await until(() => over, 30000), `no end of ${JSON.stringify(run.events)}`)
			}
		})
		assert.equal((await one.commands.run('echo fine')).stdout, 'fine\n')
	},
)

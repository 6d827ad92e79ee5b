// SPDX-License-Identifier: Apache-2.0
// A sandbox goes to disk and comes back: the same processes, with what they had in memory and in their hands.
import fs from 'node:fs'
import assert from 'node:assert/strict'
import { test, after, before } from '../lib/case.mjs'
import { asUser, endOf, envd, outputOf, rpc, start, stream } from '../lib/client.mjs'
import { runCode } from '../lib/interp.mjs'
import { cgroupsOf, until } from '../lib/host.mjs'
import { built, Drive } from './drive.mjs'

const tools = built('tools')
const skip = tools.why && `CRIU is not there: ${tools.why}`
const sbx = { sandboxID: 'any' } // only the front reads it
let drive, id, pty, watcher, was

async function sh(command, user = 'user') {
	const run = await start(sbx, command, { user })
	await run.ended
	assert.equal(endOf(run.events)?.status, 'exit status 0', `${command}: ${outputOf(run.events, 'stderr')}`)
	return outputOf(run.events).trim()
}

// A process that stays when its stream is cut.
async function leave(program, args) {
	const run = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: program, args }, stdin: false },
		{ user: 'user' },
	)
	assert.equal(run.status, 200)
	assert.ok(await until(() => run.events.length > 0, 10000, 20), `${program} does not start`)
	run.close()
	return run.events[0].event.start.pid
}

function upload(name, user = 'user') {
	const text = fs.readFileSync(new URL(name, import.meta.url))
	return envd(sbx, 'POST', `/files?path=/tmp/${name}&username=${user}`, text, {
		headers: { 'Content-Type': 'application/octet-stream' },
	})
}

// The terminal prints the answer of a question to its shell: only then has the question arrived.
async function ask(pid, question, pattern) {
	const run = await stream(sbx, 'process.Process/Connect', { process: { pid } }, { user: 'user' })
	const sent = await rpc(sbx, 'process.Process/SendInput', {
		process: { pid },
		input: { pty: Buffer.from(`${question}\n`).toString('base64') },
	})
	assert.equal(sent.status, 200, sent.text)
	const text = () => outputOf(run.events, 'pty')
	assert.ok(await until(() => pattern.test(text()), 10000, 20), `no ${pattern} in ${JSON.stringify(text())}`)
	run.close()
}

async function pulse() {
	const [pid, sent, got, ghost, clock] = (await sh('cat /tmp/inside.txt')).split(' ')
	return { pid: Number(pid), sent: Number(sent), got: Number(got), ghost, clock: Number(clock) }
}

// What must be the same after as before, as the sandbox sees it.
async function view() {
	return {
		processes: (
			await sh(
				'ps -eo pid,ppid,user:20,comm --no-headers | ' +
					'grep -vE " (bash|ps|grep|sort)$" | sort -n',
			)
		).split('\n'),
		// A file of its view of the machine is mounted out of its slot's directory.
		mounts: (
			await sh('cut -d " " -f 4-6 /proc/1/mountinfo | sed -E "s|^/[0-9]+([/ ])|/slot\\1|" | sort')
		).split('\n'),
		power: await sh('grep -hE "^(Cap|Seccomp|NoNewPrivs|Groups|Uid)" /proc/1/status /proc/self/status'),
		ids: await sh('awk "{ print \\$1, \\$3 }" /proc/self/uid_map /proc/self/gid_map'),
		cgroups: await sh('sort /proc/self/cgroup'),
		names: await sh('hostname; cat /etc/machine-id /proc/sys/kernel/random/boot_id'),
		limits: await sh(
			'ulimit -a; cat /proc/sys/net/ipv4/ip_unprivileged_port_start ' +
				'/proc/sys/net/ipv4/ping_group_range',
		),
		devices: await sh(
			'find /dev -path /dev/pts -prune -o -path /dev/fd -prune -o ' +
				'-printf "%p %y %m %u %g %l\\n" | sort',
		),
		files: await sh(
			'cat /dev/shm/shared /dev/put-there/file /home/user/kept; stat -c "%U %a %n" /dev/put-there',
		),
	}
}

async function prepare() {
	await envd(sbx, 'POST', '/init', { envVars: { GIVEN: 'at creation' }, defaultUser: 'user' })
	assert.equal(
		(await runCode(sbx, 'import numpy, threading\nx = numpy.arange(42)\nlock = threading.Lock()\nlen(x)'))
			.text,
		'42',
	)
	assert.equal((await runCode(sbx, 'let y = new Map([["a", 7]]); y.size', { language: 'javascript' })).text, '1')
	await upload('inside.py')
	await upload('inside.js')
	await leave('/usr/bin/python3', ['/tmp/inside.py'])
	await leave('/usr/bin/node', ['/tmp/inside.js'])
	pty = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: '/bin/bash', args: ['-i', '-l'] }, pty: { size: { cols: 80, rows: 24 } } },
		{ user: 'user' },
	)
	assert.ok(await until(() => pty.events.length > 0, 10000, 20), 'no terminal')
	pty.pid = pty.events[0].event.start.pid
	await ask(pty.pid, 'SECRET=12345; sleep 1000 & cd /usr/lib; echo got-$SECRET', /got-12345/)
	await sh('mkdir -p /tmp/seen')
	watcher = (await rpc(sbx, 'filesystem.Filesystem/CreateWatcher', { path: '/tmp/seen' }, { user: 'user' })).json
		.watcherId
	await sh('echo of-memory >/dev/shm/shared; echo of-disk >/home/user/kept')
	await sh('mkdir -m 750 /dev/put-there && echo by-root >/dev/put-there/file && chmod 711 /dev/put-there', 'root')
	for (const name of ['inside.txt', 'watching'])
		assert.ok(
			await until(async () => (await sh('ls /tmp')).split('\n').includes(name), 20000, 100),
			`no ${name}`,
		)
}

// Everything that can be seen of it from inside and through its API. `shift`: the mounts' ids are those of another
// slot.
async function prove(before) {
	assert.equal((await envd(sbx, 'GET', '/health')).status, 204)
	const now = await view()
	for (const [what, text] of Object.entries(before)) assert.deepEqual(now[what], text, what)
	assert.equal((await runCode(sbx, 'lock.acquire()\nint(x.sum())')).text, '861')
	assert.equal((await runCode(sbx, 'lock.release()\nimport os\nos.environ["GIVEN"]')).text, 'at creation')
	assert.equal((await runCode(sbx, 'y.get("a") + 1', { language: 'javascript' })).text, '8')
	await ask(pty.pid, 'echo $((SECRET + 1)) $PWD; jobs', /12346 \/usr\/lib[^]*Running\s+sleep 1000/)
}

async function proveSockets(then) {
	const first = await pulse()
	assert.equal(first.pid, then.pid)
	assert.ok(
		await until(async () => (await pulse()).sent > first.sent + 3, 10000, 100),
		'the connection over loopback stands still',
	)
	const last = await pulse()
	assert.equal(last.sent, last.got)
	assert.equal(last.ghost, 'nameless')
	assert.ok(last.clock > then.clock, 'the clock went back')
	assert.equal(await sh('bash -c "exec 3<>/dev/tcp/127.0.0.1/7000; head -1 <&3"'), `welcome ${then.pid}`)
}

async function proveWatches(name) {
	await sh(`touch /tmp/watched/${name} /tmp/seen/${name}`)
	assert.ok(
		await until(async () => (await sh('cat /tmp/watched.txt || true')).includes(name), 10000, 100),
		"node's watch is silent",
	)
	const got = await rpc(sbx, 'filesystem.Filesystem/GetWatcherEvents', { watcherId: watcher }, { user: 'user' })
	assert.ok(
		got.json.events.some((e) => e.name === name),
		got.text,
	)
}

before(
	async () => {
		if (skip) return
		drive = await new Drive().open(built('code-interpreter-v1').key, tools.key)
		await drive.do('warm')
		await drive.do('start')
		await prepare()
		assert.match(await sh('ps -eo args --no-headers'), /zygote\.py/)
	},
	{ timeout: 120000 },
)

after(async () => {
	if (!drive) return
	const left = await drive.close()
	assert.ok(
		Object.values(left).every((n) => n === 0),
		`left behind: ${JSON.stringify(left)}`,
	)
})

test('a sandbox comes back from disk with its processes and their memory', { skip }, async () => {
	was = await view()
	const beat = await pulse()
	pty.close()
	await drive.freeze()
	await drive.do('snapshot one')
	const image = await drive.do('checkpoint one')
	await drive.do('kill')
	const back = await drive.do('restore one 0')
	id = back.id
	console.log(
		`dump ${image.dump_us / 1000} ms, with fsync ${image.us / 1000} ms, ` +
			`restore ${back.us / 1000} ms, ${image.bytes >> 20} MiB`,
	)
	await prove(was)
	await proveSockets(beat)
	await proveWatches('first')
})

test('what came back is held by its limits, and by the firewall', { skip }, async () => {
	const inside = await sh('ls -d /proc/[0-9]* | wc -l')
	const dirs = cgroupsOf(drive.slot).filter((dir) => dir.endsWith(id))
	assert.ok(dirs.length > 0)
	for (const dir of dirs) {
		const procs = fs.readFileSync(`${dir}/cgroup.procs`, 'utf8').trim().split('\n').length
		assert.ok(procs >= Number(inside) - 4, `${procs} of ${inside} in ${dir}`)
	}
	assert.equal(await sh('sudo -n id -u'), '0')
	assert.match(await sh('unshare -U true 2>&1 || true'), /not permitted/)
	assert.match(
		await sh('ip -o addr show eth0; ip route'),
		new RegExp(`inet 10\\.${200 + drive.slot}\\.1\\.0/32[^]*default via 10\\.${200 + drive.slot}\\.0\\.1`),
	)
})

test('it goes to disk again, and comes back in another place with other ids', { skip }, async () => {
	const beat = await pulse()
	await drive.freeze()
	await drive.do('snapshot two')
	await drive.do('checkpoint two')
	await drive.do('kill')
	id = (await drive.do('restore two 3')).id
	await prove(was)
	await proveSockets(beat)
	await proveWatches('second')
	assert.match(await sh('ip -o addr show eth0'), new RegExp(`inet 10\\.${200 + drive.slot}\\.1\\.3/32`))
	await sh('touch /home/user/writable; sudo -n touch /etc/writable')
})

test('what cannot be written to disk is refused, and nothing happens to it', { skip }, async () => {
	const beat = await pulse()
	const open = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: '/bin/cat' }, stdin: true },
		{ user: 'user' },
	)
	assert.ok(await until(() => open.events.length > 0, 5000, 20))
	const { pid } = open.events[0].event.start
	await drive.do('freeze') // with a connection of ours still open
	await drive.do('snapshot three')
	await assert.rejects(drive.do('checkpoint three'), /criu: .*unix/)
	await drive.do('thaw')
	await rpc(
		sbx,
		'process.Process/SendInput',
		{ process: { pid }, input: { stdin: Buffer.from('still here').toString('base64') } },
		{ headers: asUser('user') },
	)
	assert.ok(await until(() => outputOf(open.events) === 'still here', 10000, 20))
	open.close()
	await proveSockets(beat)
})

test('an image can be brought back more than once, and forgotten', { skip }, async () => {
	await drive.do('kill')
	await assert.rejects(drive.do('restore three 1'), /No such file/) // of which there is no more than a disk
	await drive.do('restore one 1')
	await prove(was)
	await drive.do('kill')
	for (const name of ['one', 'two', 'three']) await drive.do(`forget ${name}`)
	assert.ok(
		await until(
			async () => /No such file/.test(await drive.do('restore one 1').catch((e) => e.message)),
			10000,
			100,
		),
	)
	await drive.do('start') // and an ordinary one works in the same place
	assert.equal((await envd(sbx, 'GET', '/health')).status, 204)
})

const IN_SHM = `
import mmap, multiprocessing, os
semaphore = multiprocessing.Semaphore(2)
file = open('/dev/shm/gone', 'w+b')
file.write(b'without a name'.ljust(4096))
file.flush()
mapped = mmap.mmap(file.fileno(), 4096)
os.unlink('/dev/shm/gone')
os.listdir('/dev/shm')`

async function again(name, slot) {
	await drive.freeze()
	await drive.do(`snapshot ${name}`)
	await drive.do(`checkpoint ${name}`)
	await drive.do('kill')
	await drive.do(`restore ${name} ${slot}`)
	await drive.do(`forget ${name}`)
}

// CRIU saves a /dev/shm with something in it; an empty one is made by us. Files without a name are no entries of it.
test('an empty /dev/shm comes back as it was, and one with files too', { skip }, async () => {
	const mount = () =>
		sh(
			'grep " /dev/shm " /proc/self/mountinfo | cut -d " " -f 4-6; stat -c "%a %u %g" /dev/shm; ' +
				'df --output=size,itotal /dev/shm',
		)
	const alive = () =>
		runCode(
			sbx,
			'semaphore.acquire()\nmapped[:14].decode() + " " + str(semaphore.get_value()) + " " + ' +
				'file.seek(0).__str__() + file.read(14).decode()',
		)
	assert.equal((await runCode(sbx, IN_SHM)).text, '[]')
	const first = await mount()
	await again('four', 2)
	assert.equal(await mount(), first)
	assert.equal((await alive()).text, 'without a name 1 0without a name')
	await sh(
		'mkdir -m 700 /dev/shm/mine && echo later >/dev/shm/mine/file; sudo -n sh -c "echo by-root ' +
			'>/dev/shm/of-root"',
	)
	await again('five', 5)
	assert.equal(await mount(), first)
	assert.equal((await alive()).text, 'without a name 0 0without a name')
	assert.equal(
		await sh('cat /dev/shm/mine/file /dev/shm/of-root; stat -c "%U %a" /dev/shm/mine /dev/shm/of-root'),
		'later\nby-root\nuser 700\nroot 644',
	)
	await sh('rm -r /dev/shm/mine; sudo -n rm /dev/shm/of-root')
	await again('six', 1)
	assert.equal(await mount(), first)
	assert.equal(await sh('ls -A /dev/shm; df --output=fstype /dev/shm | tail -1'), 'tmpfs')
})

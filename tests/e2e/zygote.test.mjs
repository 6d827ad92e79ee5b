// SPDX-License-Identifier: Apache-2.0
// Python by fork: what copies of one warm interpreter must not share, what they may hold, and what happens without it.
import { test, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { api, createRaw, killRaw, outputOf, sdk, server, start } from '../lib/client.mjs'
import { interp, runCode } from '../lib/interp.mjs'
import { newServer } from '../lib/server.mjs'
import { alive, cgroupsOf, commOf, processesOf, until } from '../lib/host.mjs'

const TEMPLATE = 'code-interpreter-v1'
const create = (opt) => createRaw({ templateID: TEMPLATE, timeout: 600 }, opt)
const WARM = 'import sys; "pandas" in sys.modules'

// In a sandbox with a second context: the pid of the seed that made that. It writes to nobody.
const SEED =
	`
import os, signal
copies = [int(p) for p in sorted(os.listdir("/proc")) if p.isdigit() and p != "1" and ` +
	`"zygote.py" in open(f"/proc/{p}/cmdline").read()]
seed = next(p for p in copies if os.readlink(f"/proc/{p}/fd/1") == "/dev/null")
`
const COPIES = 'import subprocess; int(subprocess.getoutput("grep -ls [z]ygote.py /proc/[0-9]*/cmdline | wc -l"))'

const newContext = async (sbx, base) => (await interp(sbx, 'POST', '/contexts', {}, base)).json.id

// A sandbox with a seed: a cell of the second context waits until that is there.
async function createSeeded(opt) {
	const sbx = await create(opt)
	const id = await newContext(sbx, opt?.base)
	await runCode(sbx, '0', { context_id: id }, opt?.base)
	return sbx
}

const status = (pid, field) =>
	new RegExp(`^${field}:\\s+(.*)$`, 'm').exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
const isZygote = (pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('/runtimes/python/zygote.py')

// The pid in the record of the template's key, which the warden was started with.
function recorded(what, { runDir, pid } = server) {
	const key = new RegExp(`${TEMPLATE}=([0-9a-f]{32})`).exec(fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1'))[1]
	return Number(fs.readFileSync(path.join(runDir, what, key), 'utf8').split(' ')[0])
}

function zygote(own) {
	const pid = recorded('zygotes', own)
	assert.ok(isZygote(pid))
	return pid
}

async function warm(opt) {
	const came = await until(
		async () => {
			const sbx = await create(opt)
			const { text } = await runCode(sbx, WARM, {}, opt?.base)
			await killRaw(sbx, opt)
			return text === 'True'
		},
		80000,
		250,
	)
	assert.ok(came, 'no sandbox was started by fork')
}

before(() => warm())

test('random generators differ between two forks with equal pids, and between two contexts', async () => {
	const code =
		`
import json, os, random, secrets, ssl, tempfile, uuid
import numpy as np
print(json.dumps([os.getpid(), random.random(), np.random.rand(), np.random.default_rng().random(), ` +
		`secrets.token_hex(8),
	uuid.uuid4().hex, uuid.uuid1().hex, ssl.RAND_bytes(8).hex(), ` +
		`next(tempfile._get_candidate_names())]))`
	const draw = async (sbx, opt) => JSON.parse((await runCode(sbx, code, opt)).stdout.join(''))
	const [a, b] = [await create(), await create()]
	const { id } = (await interp(a, 'POST', '/contexts', {})).json
	const draws = [await draw(a), await draw(b), await draw(a, { context_id: id })]
	assert.equal(draws[0][0], draws[1][0], 'the pids are not equal, so this proves less')
	for (let i = 1; i < draws[0].length; i++)
		assert.equal(new Set(draws.map((d) => d[i])).size, 3, `generator ${i}: ${draws.map((d) => d[i])}`)
	await killRaw(a)
	await killRaw(b)
})

test('a copy holds what is on the list and has the power of any process inside', async () => {
	const sbx = await createSeeded()
	const { stdout } = await runCode(
		sbx,
		`
import ctypes, json, os, time
def fds(pid):
	return sorted(os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd") if ` +
			`os.path.lexists(f"/proc/{pid}/fd/{fd}"))
def fields(pid):
	lines = dict(l.split(":\\t", 1) for l in ` +
			`open(f"/proc/{pid}/status").read().splitlines())
	return {k: lines[k].strip() for k in ("PPid", "CapPrm", "CapEff", "CapBnd", ` +
			`"CapInh", "CapAmb", "Uid", "Seccomp")}
${SEED}
for _ in range(100):	# in this moment it may be handing fds to a context that it ` +
			`forks
	held = fds(seed)
	if len(held) == 4:
		break
	time.sleep(0.05)
libc = ctypes.CDLL(None, use_errno=True)
net = os.open("/proc/self/ns/net", os.O_RDONLY)
refused = libc.setns(net, 0), ctypes.get_errno()
os.close(net)
print(json.dumps([held, fields(seed), fields("self"), fields(1)["CapEff"], refused, ` +
			`open("/proc/self/cgroup").read()]))`,
	)
	const [seedFds, seed, self, initCaps, refused, cgroup] = JSON.parse(stdout.join(''))
	assert.deepEqual(seedFds, ['/dev/null', '/dev/null', '/dev/null', 'socket'])
	for (const p of [seed, self]) {
		assert.equal(p.PPid, '1')
		assert.deepEqual([p.CapPrm, p.CapEff, p.CapBnd], [initCaps, initCaps, initCaps])
		assert.deepEqual([p.CapInh, p.CapAmb], ['0000000000000000', '0000000000000000'])
		assert.equal(p.Seccomp, '2')
	}
	assert.deepEqual(refused, [-1, 1])
	assert.ok(
		cgroup
			.trim()
			.split('\n')
			.every((line) => line.endsWith(':/') || line.includes('devices')),
		cgroup,
	)
	await killRaw(sbx)
})

test('the zygote has no way to the host', () => {
	const pid = zygote()
	assert.equal(status(pid, 'CapEff'), '0000000000200000') // SYS_ADMIN, over its own user namespace
	assert.equal(status(pid, 'CapBnd'), '0000000000200000')
	assert.equal(status(pid, 'Seccomp'), '2')
	assert.equal(status(pid, 'Threads'), '1')
	const fds = fs
		.readdirSync(`/proc/${pid}/fd`)
		.map((fd) => fs.readlinkSync(`/proc/${pid}/fd/${fd}`).split(':')[0])
	assert.deepEqual(fds, ['/dev/null', '/dev/null', '/dev/null', 'socket'])
	for (const ns of ['user', 'mnt', 'net', 'ipc', 'uts', 'cgroup'])
		assert.notEqual(fs.readlinkSync(`/proc/${pid}/ns/${ns}`), fs.readlinkSync(`/proc/self/ns/${ns}`), ns)
	const mounts = fs
		.readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
		.trim()
		.split('\n')
		.map((line) => line.split(' '))
	assert.deepEqual(
		mounts.map((m) => m[4]),
		['/', '/dev', '/proc', '/tmp'],
	)
	assert.match(mounts[0][5], /^ro,/)
	const proc = mounts.find((m) => m[4] === '/proc').at(-1)
	assert.match(proc, /hidepid=invisible/) // its pid namespace is the host's, of which it sees nothing
	assert.match(proc, /subset=pid/)
	assert.deepEqual(fs.readdirSync(`/proc/${pid}/root/sys`), [])
	// two lines of head, and lo
	assert.equal(fs.readFileSync(`/proc/${pid}/net/dev`, 'utf8').trim().split('\n').length, 3)
})

// What is mapped from the zygote's mounts could not be named by a checkpoint, and would keep them alive. The one file
// that copies have mapped is the zygote's memory: each for itself, and none can open it.
test('a copy has nothing mapped but the memory of the zygote, and its program is that of the sandbox', async () => {
	const sbx = await createSeeded()
	const { stdout } = await runCode(
		sbx,
		`${SEED}
import json
exe = [[s.st_dev, s.st_ino] for s in map(os.stat, ("/proc/self/exe", f"/proc/{seed}/exe", "/usr/bin/python3"))]
files = [line for pid in ("self", seed) for line in open(f"/proc/{pid}/maps") if line.split()[4] != "0"]
name = files[0].split()[5]
try:
    open(name)
    opened = True
except FileNotFoundError:
    opened = False
print(json.dumps([exe, files, opened]))`,
	)
	const [exe, files, opened] = JSON.parse(stdout.join(''))
	assert.deepEqual(exe[0], exe[2])
	assert.deepEqual(exe[1], exe[2])
	assert.equal(new Set(files.map((line) => line.trim().split(/\s+/)[5])).size, 1, files.join(''))
	for (const line of files)
		assert.match(
			line,
			/^\S+ [r-][w-][x-]p \S+ \S+ \d+ +\/\.bases\/[0-9a-f]{32}-[0-9a-f]+$/m,
			'private, of the memory file',
		)
	assert.equal(opened, false)
	assert.ok(
		fs
			.readFileSync(`/proc/${zygote()}/maps`, 'utf8')
			.split('\n')
			.every((line) => !line.includes('.so')),
	)
	await killRaw(sbx)
})

test('libraries with threads work in a copy', async () => {
	const sbx = await create()
	const run = await runCode(
		sbx,
		`
import numpy as np
from sklearn.cluster import KMeans
x = np.random.rand(600, 600)
print(np.allclose(x @ np.linalg.inv(x), np.eye(600), atol=1e-4), KMeans(3, n_init=2).fit(x[:, :4]).inertia_ > 0)`,
	)
	assert.equal(run.stdout.join(''), 'True True\n')
	await killRaw(sbx)
})

test('a package that changed on disk is seen by the next context', async () => {
	const sbx = await create()
	await runCode(
		sbx,
		`
import os, sys
at = next(p for p in sys.path if p.startswith("/usr/local/lib") and p.endswith("-packages")) + "/pandas"
os.makedirs(at)
open(at + "/__init__.py", "w").write("__version__ = 'another'")`,
	)
	const { id } = (await interp(sbx, 'POST', '/contexts', {})).json
	assert.equal((await runCode(sbx, 'import pandas; pandas.__version__', { context_id: id })).text, 'another')
	await killRaw(sbx)
})

test('two sandboxes have machine ids and tokens of their own', async () => {
	const all = [await create(), await create()]
	const ids = await Promise.all(
		all.map((sbx) =>
			runCode(
				sbx,
				'print(open("/etc/machine-id").read(), open("/proc/sys/kernel/random/boot_id").read())',
			),
		),
	)
	assert.match(ids[0].stdout.join(''), /^[0-9a-f]{32}\s+[0-9a-f-]{36}\s+$/)
	assert.notEqual(ids[0].stdout.join('').slice(0, 32), ids[1].stdout.join('').slice(0, 32))
	assert.notEqual(ids[0].stdout.join('').slice(33), ids[1].stdout.join('').slice(33))
	assert.ok(all[0].envdAccessToken)
	assert.notEqual(all[0].envdAccessToken, all[1].envdAccessToken)
	await Promise.all(all.map((sbx) => killRaw(sbx)))
})

test('a sandbox has no process beside its first context', async () => {
	const sbx = await create()
	assert.equal((await runCode(sbx, COPIES)).text, '1')
	await killRaw(sbx)
})

test('a context that is asked for later is warm, and its seed ends when it has nothing to do', async () => {
	const sbx = await create()
	await runCode(sbx, 'x = 41')
	const id = await newContext(sbx)
	assert.equal((await runCode(sbx, WARM, { context_id: id })).text, 'True')
	assert.equal((await runCode(sbx, COPIES)).text, '3')
	assert.ok(await until(async () => (await runCode(sbx, COPIES)).text === '2', 60000, 250), 'it is still there')
	await interp(sbx, 'POST', `/contexts/${id}/restart`)
	assert.equal((await runCode(sbx, WARM, { context_id: id })).text, 'True')
	assert.equal((await runCode(sbx, 'x + 1')).text, '42')
	await killRaw(sbx)
})

test('a seed that is killed is replaced', async () => {
	const sbx = await createSeeded()
	await runCode(sbx, `${SEED}os.kill(seed, signal.SIGKILL)`)
	assert.equal((await runCode(sbx, '1 + 1')).text, '2')
	const id = await newContext(sbx)
	assert.equal((await runCode(sbx, WARM, { context_id: id })).text, 'True')
	assert.equal((await runCode(sbx, COPIES)).text, '4') // three contexts and one seed
	await killRaw(sbx)
})

test('a seed that hangs is given up, and the next one takes its place', async () => {
	const sbx = await createSeeded()
	await runCode(sbx, `${SEED}os.kill(seed, signal.SIGSTOP)`)
	const ids = [await newContext(sbx)]
	assert.equal((await runCode(sbx, WARM, { context_id: ids[0] })).text, 'False')
	assert.equal((await runCode(sbx, COPIES)).text, '3') // two contexts and that seed
	ids.push(await newContext(sbx))
	assert.equal((await runCode(sbx, WARM, { context_id: ids[1] })).text, 'True')
	assert.equal((await runCode(sbx, COPIES)).text, '4')
	assert.equal((await runCode(sbx, '1 + 1')).text, '2')
	await killRaw(sbx)
})

// As init asks for a seed, and for a copy that becomes root.
const RING = `
import array, socket, struct
def ring():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    try:
        s.connect("\\0atoll-seed")
        fds = array.array("i", [0, 1, 2, s.fileno()])
        s.sendmsg([struct.pack("=5I", 1, 0, 0, 0, 1)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        return s.recv(64)
    except (ConnectionResetError, BrokenPipeError):  # it may be closed before the message is sent
        return b""
`

test('nobody but pid 1 gets a seed', async () => {
	const sbx = await create()
	for (const user of ['root', 'user']) {
		const { events } = await start(sbx, `exec python3 -c '${RING}\nprint(ring(), flush=True)'`, { user })
		assert.ok(await until(() => outputOf(events).includes("b''"), 30000, 20), outputOf(events))
		assert.equal((await runCode(sbx, COPIES)).text, '1')
	}
	// Who rings all the time costs its own sandbox the seeds, and nobody else.
	await start(sbx, `exec python3 -c '${RING}\nwhile True:\n    ring()'`, { user: 'user' })
	const other = await createSeeded()
	assert.equal((await runCode(other, COPIES)).text, '3')
	const id = await newContext(sbx)
	assert.equal((await runCode(sbx, '6 * 7', { context_id: id })).text, '42')
	await Promise.all([sbx, other].map((s) => killRaw(s)))
})

test('a sandbox that asks for seeds all the time gets some, and then starts interpreters itself', async () => {
	const sbx = await create()
	const all = []
	for (let i = 0; i < 6; i++) {
		const id = await newContext(sbx)
		all.push((await runCode(sbx, WARM, { context_id: id })).text)
		if (all.at(-1) === 'True') await runCode(sbx, `${SEED}os.kill(seed, signal.SIGKILL)`)
		await interp(sbx, 'DELETE', `/contexts/${id}`)
	}
	assert.deepEqual(all.slice(0, 4), ['True', 'True', 'True', 'True'])
	await killRaw(sbx)
})

// A restored sandbox is not below the user namespace that the zygote has power over.
test('a sandbox with a seed is copied with its memory, and both get contexts afterwards', async () => {
	const sbx = await createSeeded()
	await runCode(sbx, 'x = 41')
	const made = await api('POST', `/sandboxes/${sbx.sandboxID}/snapshots`, {})
	assert.equal(made.status, 201, made.text)
	const copy = await createRaw({ templateID: made.json.snapshotID, timeout: 600 })
	for (const s of [sbx, copy]) {
		assert.equal((await runCode(s, 'x + 1')).text, '42')
		const id = await newContext(s)
		assert.equal((await runCode(s, WARM, { context_id: id })).text, s === sbx ? 'True' : 'False')
		await killRaw(s)
	}
	await api('DELETE', `/templates/${made.json.snapshotID}`)
})

test('a context that is killed before its first cell starts again', async () => {
	const sbx = await create()
	const { id } = (await interp(sbx, 'POST', '/contexts', {})).json
	await runCode(
		sbx,
		`
import os, signal
for p in os.listdir("/proc"):
	if p.isdigit() and int(p) not in (1, os.getpid()) and "zygote.py" in open(f"/proc/{p}/cmdline").read():
		os.kill(int(p), signal.SIGKILL)
		while os.path.exists(f"/proc/{p}"):
			pass`,
	)
	assert.equal((await runCode(sbx, '1 + 1', { context_id: id })).text, '2')
	await killRaw(sbx)
})

// The kernel kills whatever is in a sandbox's pid namespace, and so whoever is forking into it at that moment.
test('sandboxes that are killed while they are joined leave the zygote as it was', async () => {
	const pid = zygote()
	for (let i = 0; i < 12; i++) await Promise.all(Array.from({ length: 8 }, async () => killRaw(await create())))
	const sbx = await create()
	assert.equal((await runCode(sbx, WARM)).text, 'True')
	assert.equal(zygote(), pid)
	await killRaw(sbx)
})

test('a zygote that dies is replaced, and no sandbox of it is hurt', async () => {
	const sbx = await create()
	await runCode(sbx, 'x = 41')
	const pid = zygote()
	process.kill(pid, 'SIGKILL')
	assert.equal((await runCode(sbx, 'x + 1')).text, '42')
	const { id } = (await interp(sbx, 'POST', '/contexts', {})).json
	assert.equal((await runCode(sbx, '6 * 7', { context_id: id })).text, '42')
	await warm()
	assert.notEqual(zygote(), pid)
	// the copies of a sandbox are of one zygote
	const later = await newContext(sbx)
	assert.equal((await runCode(sbx, WARM, { context_id: later })).text, 'False')
	await killRaw(sbx)
})

test('a zygote that hangs holds nobody up, and is replaced', async () => {
	const old = await create()
	await runCode(old, 'x = 41')
	const pid = zygote()
	process.kill(pid, 'SIGSTOP')
	const sbx = await create()
	assert.equal((await runCode(sbx, WARM)).text, 'False')
	assert.ok(await until(() => !alive(pid), 60000, 250), 'it is still there')
	await warm()
	assert.equal((await runCode(old, 'x + 1')).text, '42')
	await killRaw(old)
	await killRaw(sbx)
})

// It was pid 1 of a pid namespace above theirs, so that they ended with it.
test('F4: sandboxes outlive the holder of their template, and starts do not fail without one', async () => {
	const own = await newServer(server.buildDir).start()
	const opt = { base: own.url, key: own.key }
	try {
		await warm(opt)
		const old = await Promise.all([create(opt), create(opt)])
		for (const sbx of old) await runCode(sbx, 'x = 41', {}, own.url)
		const holder = recorded('holders', own)
		process.kill(holder, 'SIGKILL')
		const young = await Promise.all([1, 2, 3].map(() => create(opt))) // createRaw() wants a 201
		for (const sbx of old) {
			assert.equal((await runCode(sbx, 'x + 1', {}, own.url)).text, '42')
			const { id } = (await interp(sbx, 'POST', '/contexts', {}, own.url)).json
			assert.equal((await runCode(sbx, '6 * 7', { context_id: id }, own.url)).text, '42')
		}
		for (const sbx of young) assert.equal((await runCode(sbx, '6 * 7', {}, own.url)).text, '42')
		// Starts may use network namespaces that were prepared below the old one.
		const isReplaced = async () => {
			await killRaw(await create(opt), opt)
			return recorded('holders', own) !== holder
		}
		assert.ok(await until(isReplaced, 60000, 100), 'another holder')
		await warm(opt) // with a zygote that has power over what is made now
		own.signal('SIGKILL')
		await own.exited
		await own.start()
		for (const sbx of [...old, ...young])
			assert.equal((await runCode(sbx, '6 * 7', {}, own.url)).text, '42')
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

// Every way that Python has to run code of the upper layer when it starts, and the program itself.
const REPLACED =
	`set -e
cat >/opt/record.py <<'E'
import os
with open("/proc/self/status") as f:
    lines = [line for line in f if line.startswith("CapBnd")]
with open(f"/tmp/powers.{os.getpid()}.py", "a") as f:
    f.writelines(lines)
E
real=$(readlink -f /usr/bin/python3)
for f in $(find /opt/atoll/runtimes/python -name '*.py'); do
	{ cat "$f"; echo 'exec(open("/opt/record.py").read())'; } >"$f.new"; mv "$f.new" "$f"
done
echo 'import os; exec(open("/opt/record.py").read())' >"$("$real" -c 'import site; ` +
	`print(site.getsitepackages()[0])')/record.pth"
mv "$real" "$real-real"
cat >"$real" <<E
#!/bin/bash
grep -h ^CapBnd /proc/self/status >>/tmp/powers.\\$\\$.sh
exec -a "\\$0" $real-real "\\$@"
E
chmod 755 "$real"; rm -f /tmp/powers.*`

test(
	"W2: what a template has above the server's own never runs with the power of the zygote",
	{ timeout: 300000 },
	async () => {
		const { Template } = sdk()
		const name = `replaced-${process.pid}`
		const template = Template().fromTemplate(TEMPLATE).setUser('root').runCmd(REPLACED).setUser('user')
		await Template.build(template, name, { cpuCount: 1, memoryMB: 1024 })
		try {
			const sbx = await createRaw({ templateID: name, timeout: 600 })
			await runCode(sbx, '1 + 1')
			const { stdout } = await runCode(
				sbx,
				`
import subprocess
subprocess.run(["/usr/bin/python3", "-c", "pass"])
print(subprocess.getoutput("cat /tmp/powers.*; grep CapBnd /proc/1/status"))`,
			)
			const bounds = [...stdout.join('').matchAll(/^CapBnd:\s+(\S+)$/gm)].map((m) => m[1])
			const kept = bounds.pop()
			assert.ok(bounds.length >= 2 && bounds.every((b) => b === kept), stdout.join(''))
			assert.ok(
				!fs.existsSync(`/proc/${zygote()}/root/opt/record.py`),
				"the zygote sees the server's own files only",
			)
			await killRaw(sbx)
		} finally {
			await api('DELETE', `/templates/${name}`)
		}
	},
)

// The first as 77e3217 left them: a zygote of an image, which nobody would end.
test('W2: a server that starts ends zygotes that it would not make, and those that never got ready', async () => {
	const own = await newServer(server.buildDir).start()
	const strange = 'fedcba9876543210fedcba9876543210'
	const kept = new RegExp(`${TEMPLATE}=([0-9a-f]{32})`).exec(
		fs.readFileSync(`/proc/${own.pid}/cmdline`, 'latin1'),
	)[1]
	const places = (key) => cgroupsOf(own.slot).filter((at) => path.basename(at) === `_zygote-${key.slice(0, 16)}`)
	const procs = (at) =>
		fs.readFileSync(path.join(at, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number)
	const member = (key) => places(key).flatMap(procs)[0]
	const stand = spawn('sleep', ['600'])
	try {
		let slow
		assert.ok(await until(() => (slow = member(kept)), 60000, 5), 'no zygote is made')
		process.kill(slow, 'SIGSTOP')
		own.signal('SIGKILL')
		await own.exited
		for (const at of places(kept)) {
			const beside = path.join(path.dirname(at), `_zygote-${strange.slice(0, 16)}`)
			fs.mkdirSync(beside)
			fs.writeFileSync(path.join(beside, 'cgroup.procs'), String(stand.pid))
		}
		for (const file of [strange, `${strange}-0123abcd`])
			fs.writeFileSync(path.join(own.runDir, 'zygotes', file), '')
		const ended = new Promise((done) => stand.once('exit', (code, signal) => done(signal)))
		await own.start()
		assert.equal(await ended, 'SIGKILL')
		assert.deepEqual(
			fs.readdirSync(path.join(own.runDir, 'zygotes')).filter((f) => f.includes(strange)),
			[],
		)
		assert.deepEqual(places(strange), [])
		assert.ok(await until(() => !alive(slow), 60000), 'one that never got ready is still there')
		await warm({ base: own.url, key: own.key })
	} finally {
		stand.kill('SIGKILL')
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('a zygote is there before the first sandbox, and outlives the daemon', async () => {
	const own = await newServer(server.buildDir).start()
	const opt = { base: own.url, key: own.key }
	try {
		assert.ok(
			await until(
				() =>
					fs
						.readdirSync(path.join(own.runDir, 'zygotes'))
						.some((name) => /^[0-9a-f]{32}-[0-9a-f]{8}$/.test(name)),
				60000,
			),
			'no zygote',
		)
		await warm(opt)
		const sbx = await create(opt)
		await runCode(sbx, 'x = 41', {}, own.url)
		const pid = zygote(own)
		own.signal('SIGKILL')
		await own.exited
		await own.start()
		assert.equal((await runCode(sbx, 'x + 1', {}, own.url)).text, '42')
		await warm(opt)
		assert.equal(zygote(own), pid)
		process.kill(pid, 'SIGKILL')
		await warm(opt)
		assert.equal((await runCode(sbx, 'x + 1', {}, own.url)).text, '42')
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

// Stops everything but itself and pid 1, again and again, until its sandbox is killed.
const HOSTILE = `exec python3 -c '
import os, signal
print("on", flush=True)
while True:
    try:
        os.kill(-1, signal.SIGSTOP)
    except OSError:
        pass'`

// Copies of a zygote that was busy join sandboxes in which a user's programs run by then.
test('nothing inside a sandbox can stop or kill who forks into it', { timeout: 180000 }, async () => {
	const own = await newServer(server.buildDir).start()
	const opt = { base: own.url, key: own.key }
	const stopped = []
	try {
		await warm(opt)
		const pid = zygote(own)
		for (let i = 0; i < 3; i++) {
			process.kill(pid, 'SIGSTOP')
			stopped.push(pid)
			const all = await Promise.all([1, 2, 3, 4].map(() => create(opt)))
			await Promise.all(
				all.map(async (sbx) => {
					const { events } = await start(sbx, HOSTILE, { user: 'root', base: own.url })
					assert.ok(await until(() => outputOf(events).includes('on'), 30000, 5))
				}),
			)
			process.kill(pid, 'SIGCONT')
			await warm(opt)
			assert.equal(zygote(own), pid, 'the zygote has been replaced')
			await Promise.all(all.map((sbx) => killRaw(sbx, opt)))
		}
	} finally {
		for (const pid of stopped.filter(alive)) process.kill(pid, 'SIGCONT')
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('H4: a builder that waits for its copy keeps nothing of a killed warden alive', async () => {
	const own = await newServer(server.buildDir, { pool_size_mb: 512, pool_max_mb: 1024 }).start()
	const opt = { base: own.url, key: own.key }
	const ofServer = () => processesOf(-1, own.runDir).filter(alive)
	const waiting = () => ofServer().filter((pid) => commOf(pid) === 'atolld')
	const helpers = () =>
		ofServer()
			.filter((pid) => !['atolld', 'atoll-view'].includes(commOf(pid)))
			.map(commOf) /* the view of those that run outlives the warden */
	await warm(opt)
	const sleeper = zygote(own)
	try {
		process.kill(sleeper, 'SIGSTOP')
		await create(opt) // it is ready without
		own.signal('SIGKILL')
		await own.exited
		assert.ok(waiting().length > 0, 'no builder waits for its copy')
		await until(() => helpers().length === 0 || waiting().length === 0, 60000, 20)
		assert.deepEqual(helpers(), [])
		assert.ok(waiting().length > 0, 'the helpers went only when the builder did')
	} finally {
		process.kill(sleeper, 'SIGCONT')
		await own.start()
		assert.ok((await own.stop()).clean)
	}
})

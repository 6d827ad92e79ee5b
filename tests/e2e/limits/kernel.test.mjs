// SPDX-License-Identifier: Apache-2.0
// What the kernel counts per user is counted per sandbox: one takes all it can of each, and it ends there; the
// neighbour still gets some.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, killRaw, outputOf, rpc, shell, start, withRaw } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'

let neighbour

before(async () => {
	neighbour = await createRaw({ timeout: 600 })
})
after(() => killRaw(neighbour))

const PY = (code) =>
	`exec python3 - <<'END'\nimport ctypes, ctypes.util, os, time\nlibc = ctypes.CDLL(None, use_errno=True)\nn = ` +
	`0\n${code}\nEND`
const run = async (sbx, command) => (await shell(sbx, command)).stdout.trim()

// Takes all there is of it, prints how many and the error; while it has them, the neighbour takes one.
async function hog(take, one, { most, errnos }) {
	await withRaw({ timeout: 600 }, async (sbx) => {
		const [n, no] = (await run(sbx, PY(`${take}\nprint(n, ctypes.get_errno())`))).split(' ').map(Number)
		assert.ok(n > 0 && n <= most, `${n} of at most ${most}`)
		assert.ok(errnos.includes(no), `errno ${no}`)
		const held = await start(sbx, PY(`${take}\nprint(n, flush=True)\ntime.sleep(1000)`))
		assert.ok(await until(() => outputOf(held.events), 60000), 'it does not take them')
		assert.equal(await run(neighbour, PY(one)), 'got one')
		const { pid } = held.events[0].event.start
		assert.equal(
			(await rpc(sbx, 'process.Process/SendSignal', { process: { pid }, signal: 'SIGNAL_SIGKILL' }))
				.status,
			200,
		)
		await held.ended
		assert.equal(await run(sbx, 'echo alive'), 'alive')
	})
}

const EAGAIN = 11,
	EMFILE = 24,
	ENOSPC = 28,
	ENOMEM = 12

test('inotify instances', () =>
	hog('while libc.inotify_init() >= 0: n += 1', 'print("got one" if libc.inotify_init() >= 0 else "none")', {
		most: 256,
		errnos: [EMFILE],
	}))

test('inotify watches', () =>
	hog(
		`
f = libc.inotify_init()
os.makedirs("/tmp/w", exist_ok=True)
while n < 200000:
    p = b"/tmp/w/%d" % n
    try: os.mkdir(p)
    except FileExistsError: pass
    except OSError: ctypes.set_errno(28); break
    if libc.inotify_add_watch(f, p, 2) < 0: break
    n += 1`,
		'f = libc.inotify_init(); print("got one" if libc.inotify_add_watch(f, b"/tmp", 2) >= 0 else "none")',
		{ most: 131072, errnos: [ENOSPC] },
	))

test('timers', () =>
	hog(
		`
t = ctypes.c_void_p()
while libc.timer_create(1, None, ctypes.byref(t)) == 0: n += 1`,
		'print("got one" if libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p())) == 0 else "none")',
		{ most: 16384, errnos: [EAGAIN] },
	))

test('pending signals', () =>
	hog(
		`
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
union = ctypes.c_void_p(0)
while libc.sigqueue(os.getpid(), signal.SIGRTMIN, union) == 0: n += 1`,
		`
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
print("got one" if libc.sigqueue(os.getpid(), signal.SIGRTMIN, ctypes.c_void_p(0)) == 0 else "none")`,
		{ most: 16384, errnos: [EAGAIN] },
	))

test('terminals', () =>
	hog(
		`

keep = []
while True:
    try: keep.append(os.openpty())
    except OSError as e: ctypes.set_errno(e.errno); break
    n += 1`,
		'os.openpty(); print("got one")',
		{ most: 128, errnos: [ENOSPC, 2] },
	))

test('message queues', () =>
	hog(
		`
rt = ctypes.CDLL("librt.so.1", use_errno=True)
class A(ctypes.Structure): _fields_ = [("f", ctypes.c_long), ("maxmsg", ctypes.c_long), ("size", ctypes.c_long), ` +
			`("cur", ctypes.c_long), ("r", ctypes.c_long * 4)]
while n < 10000:
    a = A(0, 10, 8192, 0)
    if rt.mq_open(b"/q%d" % n, os.O_CREAT | os.O_RDWR, 0o600, ctypes.byref(a)) < 0: ` +
			`break
    n += 1`,
		`
rt = ctypes.CDLL("librt.so.1", use_errno=True)
print("got one" if rt.mq_open(b"/mine", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0 else "none")`,
		{ most: 256, errnos: [EMFILE, ENOSPC] },
	))

test('locked memory', () =>
	hog(
		`
import mmap
keep = []
while n < 4096:
    m = mmap.mmap(-1, 1 << 20); keep.append(m)
    if libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))), ctypes.c_size_t(1 << 20)) < 0: break
    n += 1`,
		`
import mmap
m = mmap.mmap(-1, 4096)
print("got one" if libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(m))), ` +
			`ctypes.c_size_t(4096)) == 0 else "none")`,
		{ most: 64, errnos: [ENOMEM, EAGAIN] },
	))

test('there are no keyrings and no namespaces of its own', async () => {
	await withRaw({ timeout: 120 }, async (sbx) => {
		const got = await run(
			sbx,
			PY(
				`
for name, args in (("add_key", (248, b"user", b"k", b"v", 1, -3)), ("keyctl", (250, 0, -3, 1)), ("unshare user", ` +
					`(272, 0x10000000)), ("unshare net", (272, 0x40000000))):
    r = libc.syscall(*args)
    print(name, "done" if r >= 0 else "refused")`,
			),
		)
		assert.doesNotMatch(got, /done/)
		assert.equal(got.split('\n').length, 4)
	})
})

test('open files: each process has its own limit, and they cost the sandbox its memory, not the host', async () => {
	await withRaw({ timeout: 120, limits: { openFiles: 500 } }, async (sbx) => {
		const got = await run(
			sbx,
			PY(`
keep = []
try:
    while True: keep.append(os.open("/dev/null", 0)); n += 1
except OSError as e: print(n, e.errno)`),
		)
		const [n, no] = got.split(' ').map(Number)
		assert.ok(n > 400 && n <= 500, got)
		assert.equal(no, EMFILE)
	})
})

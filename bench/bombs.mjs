// SPDX-License-Identifier: Apache-2.0
// One sandbox takes all that it can of one thing, with the limits that everybody gets: how long its neighbour's code
// and the API take meanwhile.
import { Caller, stats } from './measure.mjs'
import { outside } from '../tests/lib/outside.mjs'
import { envelope, routeHeaders } from '../tests/lib/client.mjs'
import { sleep } from '../tests/lib/host.mjs'
import http from 'node:http'

const TEMPLATE = 'code-interpreter-v1'

export const CONFIG = {
	log_level: 'warn',
	pool_size_mb: 6144,
	default_memory_mb: 1024,
	default_disk_mb: 2048,
	warm_pool_size: 0,
}

const py = (code) => `python3 -c '${code}'`
const again = (code) => `while :; do ${code}; done`

// Each goes on until its sandbox is killed.
const BOMBS = {
	fork: ':(){ :|:& };:; sleep 60',
	memory: again(py('b=[]\nwhile True: b.append(b"x" * (16<<20))')),
	disk: again('head -c 8G /dev/zero > /tmp/fill; rm -f /tmp/fill'),
	inodes: py(
		'import os, itertools\nos.mkdir("/tmp/i")\nfor i in itertools.count():\n try: open("/tmp/i/%d" % i, ' +
			'"w").close()\n except OSError: os.system("rm -rf /tmp/i; mkdir /tmp/i")',
	),
	'open files': again(
		'for i in 1 2 3 4 5 6 7 8; do ' +
			py(
				'import os, time\ntry:\n while True: os.open("/dev/null", 0)\nexcept OSError: ' +
					'time.sleep(1)',
			) +
			' & done; wait',
	),
	terminals: again(
		py(
			'import os, pty, time\nx=[]\ntry:\n while True: x.append(pty.openpty())\nexcept OSError: ' +
				'time.sleep(0.2)',
		),
	),
	inotify: again(
		py(
			'import ctypes, os\nc=ctypes.CDLL(None)\nf=[]\nwhile True:\n i=c.inotify_init()\n if i<0: ' +
				'break\n f.append(i)\nfor r,d,n in os.walk("/usr"):\n  for i in f: ' +
				'c.inotify_add_watch(i, r.encode(), 0xfff)',
		),
	),
	ipc: again(
		py(
			'import ctypes\nc=ctypes.CDLL(None)\nfor i in range(4096):\n  m=c.shmget(0, 1<<20, 0o1600)\n' +
				'  if m>=0: p=c.shmat(m,0,0)\n  c.semget(0, 250, 0o1600); c.msgget(0, 0o1600)',
		) + '; ipcrm -a',
	),
	tmpfs: again('head -c 4G /dev/zero > /dev/shm/x; rm -f /dev/shm/x'),
	zombies: py(
		'import os, time\nwhile True:\n try:\n  if os.fork()==0: os._exit(0)\n except OSError: ' +
			'time.sleep(0.5); \n  # never waited for\n',
	),
	timers: again(
		py(
			'import ctypes, time\nc=ctypes.CDLL(None)\nt=ctypes.c_void_p()\nn=0\nwhile c.timer_create(1,' +
				'None,ctypes.byref(t))==0 and n<200000:\n v=(ctypes.c_long*4)(0,1000000,0,' +
				'1000000); c.timer_settime(t,0,v,None); n+=1\nimport signal\nsignal.pause()',
		) + ' & sleep 3; kill %1',
	),
	cpu: 'for i in $(seq 16); do (while :; do :; done) & done; wait',
	io: again(
		py(
			'import os, mmap\nfd=os.open("/tmp/io", os.O_RDWR|os.O_CREAT|os.O_DIRECT)\nm=mmap.mmap(-1, ' +
				'1<<20)\nfor i in range(512):\n  os.pwritev(fd, [m], i<<20)\nos.fsync(fd)\nfor i ' +
				'in range(512): os.preadv(fd, [m], i<<20)',
		),
	),
	output: 'yes "a line of a log that nobody will ever read"',
	network: '', // filled in: it needs somewhere to send to
}

function flood(address) {
	return (
		'for i in 1 2 3 4; do ' +
		py(
			`import socket\ns=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nwhile True:\n try: ` +
				`s.sendto(b"x"*1400, ("${address}", 9))\n except OSError: pass`,
		) +
		' & ' +
		py(
			`import socket\nwhile True:\n s=socket.socket(); s.setblocking(False)\n ` +
				`try: s.connect(("${address}", 7))\n except OSError: pass\n s.close()`,
		) +
		' & done; wait'
	)
}

async function create(caller, template) {
	const res = await caller.call('POST', '/sandboxes', { templateID: template, timeout: 600 })
	if (res.status !== 201) throw new Error(`create answers ${res.status}: ${res.body}`)
	return JSON.parse(res.body)
}

async function execute(caller, sbx) {
	const res = await caller.call('POST', '/execute', { code: '1+1' }, routeHeaders(sbx, '49999'))
	if (res.status !== 200 || !res.body.includes('"text":"2"'))
		throw new Error(`execute answers ${res.status}: ${res.body}`)
	return res.ms
}

// Started, and left alone; its output is read and thrown away.
function ignite(server, sbx, command) {
	const url = new URL(server.url)
	const body = envelope({ process: { cmd: '/bin/bash', args: ['-c', command] }, stdin: false })
	const req = http.request({
		host: url.hostname,
		port: url.port,
		method: 'POST',
		path: '/process.Process/Start',
		agent: false,
		headers: {
			...routeHeaders(sbx),
			'Content-Type': 'application/connect+json',
			'Connect-Protocol-Version': '1',
		},
	})
	req.on('error', () => {})
	req.on('response', (res) => {
		res.on('error', () => {})
		res.resume()
	})
	req.end(body)
	return req
}

async function look(server, neighbour, ms) {
	const caller = new Caller(server, 1)
	const end = performance.now() + ms
	const exec = [],
		api = []
	while (performance.now() < end) {
		exec.push(await execute(caller, neighbour))
		api.push((await caller.call('GET', `/sandboxes/${neighbour.sandboxID}`)).ms)
		await sleep(4)
	}
	caller.close()
	return { execute: stats(exec), api: stats(api) }
}

async function explode(server, caller, neighbour, command, ms) {
	const sbx = await create(caller, 'base')
	const req = ignite(server, sbx, command)
	await sleep(700)
	try {
		return await look(server, neighbour, ms)
	} finally {
		req.destroy()
		const began = performance.now()
		await caller.call('DELETE', `/sandboxes/${sbx.sandboxID}`)
		await sleep(Math.max(300, Math.min(2000, performance.now() - began)))
	}
}

export async function bombs(server, quick, only = process.env.BOMBS?.split(',')) {
	const caller = new Caller(server, 2)
	// Nothing listens there: a server that took all those connections, and told us of each, would be measured
	// beside the bomb.
	const out = await outside({ hosts: 1, bare: 1 })
	const result = { bombs: {} }
	const ms = quick ? 3000 : 8000
	try {
		const neighbour = await create(caller, TEMPLATE)
		for (let i = 0; i < 30; i++) await execute(caller, neighbour)
		result.quiet = await look(server, neighbour, 2 * ms)
		for (const [name, command] of Object.entries({ ...BOMBS, network: flood(out.at(2)) })) {
			if (!only || only.includes(name))
				result.bombs[name] = await explode(server, caller, neighbour, command, ms)
		}
		result.quietAfter = await look(server, neighbour, 2 * ms)
		await caller.call('DELETE', `/sandboxes/${neighbour.sandboxID}`)
	} finally {
		caller.close()
		out.end()
	}
	return result
}

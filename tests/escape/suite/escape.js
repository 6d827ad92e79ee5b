// SPDX-License-Identifier: Apache-2.0
// Attempts to get out of a sandbox from JavaScript, as an agent's code would make them. One line each, as in main.c.
'use strict'
const fs = require('fs')
const net = require('net')
const os = require('os')
const path = require('path')
const cp = require('child_process')
const dgram = require('dgram')

let n = 0
function line(result, name, promise, detail) {
	process.stdout.write([result, `javascript/${name}`, promise, String(detail).replace(/[\t\n\r]/g, ' ').slice(0, 180)].join('\t') + '\n')
	n++
}

// Refused with one of these errors, or unclear.
function refusedBy(name, promise, codes, fn) {
	try {
		line('BROKEN', name, promise, `it worked: ${fn()}`)
	} catch (err) {
		line(codes.includes(err.code) ? 'held' : 'unclear', name, promise, err.code ?? err.message)
	}
}

const GONE = ['ENOENT', 'EACCES', 'EPERM', 'EROFS', 'ELOOP', 'ENOTDIR']
const own = 'a path inside leads to what is inside'
refusedBy('read-host-key', own, GONE, () => fs.readFileSync('/var/lib/atoll/key', 'utf8').length)
refusedBy('read-host-db', own, GONE, () => fs.readFileSync('/var/lib/atoll/front/atoll.db').length)
refusedBy('climb-dots', own, GONE, () => fs.readFileSync(`${'../'.repeat(60)}var/lib/atoll/key`).length)
refusedBy('climb-proc-root', own, GONE, () => fs.readFileSync('/proc/1/root/var/lib/atoll/key').length)
refusedBy('climb-proc-cwd', own, GONE, () => fs.readFileSync('/proc/1/cwd/var/lib/atoll/key').length)
refusedBy('run-directory', own, GONE, () => fs.readdirSync('/run/atoll').join())
refusedBy('docker-socket', own, GONE, () => fs.statSync('/var/run/docker.sock').mode)
refusedBy('containerd-socket', own, GONE, () => fs.statSync('/run/containerd/containerd.sock').mode)
refusedBy('dbus-socket', own, GONE, () => fs.statSync('/run/dbus/system_bus_socket').mode)
refusedBy('overwrite-init', 'the server\'s program inside cannot be changed, moved or replaced', [...GONE, 'ETXTBSY'], () => fs.writeFileSync('/dev/.atoll/init', 'x'))
refusedBy('read-init-memory', 'pid 1, which is the server\'s, cannot be looked into or changed', GONE, () => fs.openSync('/proc/1/mem', 'r+'))
refusedBy('set-priority', 'no sandbox takes precedence over others', ['EACCES', 'EPERM', 'ERR_SYSTEM_ERROR'], () => os.setPriority(0, -20))
refusedBy('chown-unmapped', 'ids inside stay the sandbox\'s own range outside', ['EINVAL', 'EPERM', 'EOVERFLOW'], () => {
	fs.writeFileSync('/tmp/escape-own.js', '')
	return fs.chownSync('/tmp/escape-own.js', 70000, 70000)
})
refusedBy('debug-pid1', 'pid 1, which is the server\'s, cannot be looked into or changed', ['EPERM', 'ESRCH', 'ERR_UNKNOWN_SIGNAL'], () => {
	if (os.userInfo().uid === 0)
		throw Object.assign(new Error(), { code: 'EPERM', message: 'root may signal its own pid 1, which takes none' })
	return process.kill(1, 'SIGUSR1')
})

const variables = Object.keys(process.env).filter((k) => /^(E2B_API_KEY|ATOLL_|HOST_CANARY|SSH_|SUDO_|INVOCATION_ID)/.test(k))
line(variables.length ? 'BROKEN' : 'held', 'variables-of-the-server', '/proc tells nothing of the host\'s secrets', variables.join() || `${Object.keys(process.env).length} variables, none of the server`)
line(os.hostname() === 'e2b.local' ? 'held' : 'BROKEN', 'name-of-the-host', '/proc tells nothing of the host\'s secrets', os.hostname())

// The race that breaks who checks a path and opens it later: here all is opened inside, so it may only ever see the inside.
function race() {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'escape-race-'))
	const flip = cp.spawn(process.execPath, ['-e', `
const fs = require('fs'), d = ${JSON.stringify(dir)}
fs.mkdirSync(d + '/real'); fs.writeFileSync(d + '/real/key', 'inside'); fs.symlinkSync('/var/lib/atoll', d + '/link')
for (;;) { try { fs.renameSync(d + '/real', d + '/at') } catch {} try { fs.renameSync(d + '/at', d + '/real') } catch {}
	try { fs.renameSync(d + '/link', d + '/at') } catch {} try { fs.renameSync(d + '/at', d + '/link') } catch {} }`])
	let other = 0, inside = 0
	const latest = Date.now() + 15000
	let end = 0			// a second after the other side has begun
	const step = () => {
		for (let i = 0; i < 200; i++) {
			try {
				fs.readFileSync(`${dir}/at/key`, 'utf8') === 'inside' ? inside++ : other++
			} catch {
				// between two names
			}
		}
		if (inside && !end)
			end = Date.now() + 1000
		if (Date.now() < (end || latest))
			return setImmediate(step)
		flip.kill('SIGKILL')
		line(other ? 'BROKEN' : inside ? 'held' : 'unclear', 'path-race', own, `${inside} times the inside, ${other} times something else`)
		fs.rmSync(dir, { recursive: true, force: true })
		connections()
	}
	setImmediate(step)
}

function connect(name, promise, options, codes, next) {
	const s = net.connect({ ...options, timeout: 4000 })
	let over = false
	const done = (result, detail) => {
		if (over)
			return
		over = true
		s.destroy()
		line(result, name, promise, detail)
		next()
	}
	s.once('connect', () => done('BROKEN', 'connected'))
	s.once('timeout', () => done('unclear', 'nothing happened'))
	s.once('error', (err) => done(codes.includes(err.code) ? 'held' : 'unclear', err.code))
}

const NO = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EACCES', 'EPERM', 'ECONNRESET']
function connections() {
	const to = [
		['metadata', 'no private, link-local or metadata address is reachable', { host: '169.254.169.254', port: 80 }],
		['docker-bridge', 'no private, link-local or metadata address is reachable', { host: '172.17.0.1', port: 2375 }],
		['gateway-api', 'no service of the host is reachable', { host: gateway(), port: Number((process.env.ESCAPE_PORTS ?? '8080').split(',').pop()) }],
		['unix-socket-of-the-host', own, { path: '/run/atoll/main/control' }, ['ENOENT']],
	]
	const next = () => {
		const one = to.shift()
		if (one)
			connect(one[0], one[1], one[2], one[3] ?? NO, next)
		else
			broadcast()
	}
	next()
}

function gateway() {
	return /^nameserver (\S+)/m.exec(fs.readFileSync('/etc/resolv.conf', 'utf8'))?.[1] ?? '10.200.0.1'
}

// Nobody is in hearing.
function broadcast() {
	const s = dgram.createSocket('udp4')
	const promise = 'no neighbourhood to be heard in'
	let heard = 0
	s.on('message', () => heard++)
	s.on('error', (err) => finish(NO.includes(err.code) ? 'held' : 'unclear', err.code))
	const finish = (result, detail) => {
		s.close()
		line(result, 'broadcast', promise, detail)
		process.stdout.write(`end\t${n}\n`)
		process.exit(0)
	}
	s.bind(0, () => {
		s.setBroadcast(true)
		s.send('escape', 7802, '255.255.255.255', (err) => {
			if (err)
				return finish(NO.includes(err.code) ? 'held' : 'unclear', err.code)
			setTimeout(() => finish(heard ? 'BROKEN' : 'held', `${heard} answers`), 500)
		})
	})
}

race()

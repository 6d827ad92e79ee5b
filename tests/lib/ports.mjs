// SPDX-License-Identifier: Apache-2.0
// Ports for servers of tests. Several test files and runs ask at once, and a server that is stopped and started again
// wants the same port: a port is therefore reserved for the life of the process that asked, and lies below those that
// the kernel gives to connections.
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { alive, startTimeOf } from './host.mjs'

const DIR = '/run/lock/atoll-test-ports'
const LOW = 20000
const held = new Set()

function range() {
	const [first] = fs.readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/).map(Number)
	return first > LOW + 1000 ? [LOW, first] : [LOW, 65536]
}

function listens(port) {
	return new Promise((done) => {
		const s = net.createServer()
		s.once('error', () => done(false))
		s.listen(port, '127.0.0.1', () => s.close(() => done(true)))
	})
}

const claim = (file) => fs.writeFileSync(file, `${process.pid} ${startTimeOf(process.pid)}`, { flag: 'wx' })

// False if another process that lives has it.
function reserve(port) {
	const file = path.join(DIR, String(port))
	for (let tries = 0; tries < 2; tries++) {
		try {
			claim(file)
			held.add(file)
			return true
		} catch (err) {
			if (err.code !== 'EEXIST') throw err
		}
		const [pid, start] = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split(' ') : []
		if (pid && alive(pid) && startTimeOf(pid) === start) return false
		fs.rmSync(file, { force: true })
	}
	return false
}

process.once('exit', () => held.forEach((file) => fs.rmSync(file, { force: true })))

export async function freePort() {
	const [low, end] = range()
	fs.mkdirSync(DIR, { recursive: true })
	for (;;) {
		const port = low + Math.floor(Math.random() * (end - low))
		if (reserve(port) && (await listens(port))) return port
	}
}

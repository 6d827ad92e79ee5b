// SPDX-License-Identifier: Apache-2.0
// The JavaScript and TypeScript runtime: runs cells for atoll-init (docs/protocol-runtime.md).
'use strict'
const net = require('node:net')
const vm = require('node:vm')
const { createRequire } = require('node:module')
const path = require('node:path')
const { bundleOf, makeDisplay } = require('./display.js')
const { errorOf, Exit, Interrupted } = require('./errors.js')

const CONTROL_FD = 3
const control = new net.Socket({ fd: CONTROL_FD, readable: true, writable: true })

let language = 'javascript'
let running = null		// { id, fail } of the cell that runs

function send(message) {
	control.write(JSON.stringify(message) + '\n')
}

function sendResult(data, main) {
	if (running && data)
		send({ type: 'result', id: running.id, main, data })
}

// Globals that a script of the user's own directory would have.
function prepareGlobals() {
	const file = path.join(process.cwd(), 'cell.js')
	const define = (name, value) =>
		Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false })
	define('require', createRequire(file))
	define('module', { exports: {} })
	define('exports', globalThis.module.exports)
	define('__filename', file)
	define('__dirname', path.dirname(file))
	define('display', makeDisplay((data) => sendResult(data, false)))
	// Ending the process would lose what earlier cells have made.
	process.exit = process.reallyExit = (code) => { throw new Exit(code ?? process.exitCode ?? 0) }
}

function replaceEnv(env) {
	for (const name of Object.keys(process.env))
		delete process.env[name]
	Object.assign(process.env, env)
}

function start(message) {
	language = message.language
	process.chdir(message.cwd)
	if (message.env)
		replaceEnv(message.env)
	prepareGlobals()
	send({ type: 'ready' })
}

// Sets the variables of one execution; returns what puts the former ones back.
function withEnv(env) {
	const before = Object.keys(env ?? {}).map((name) => [name, process.env[name]])
	Object.assign(process.env, env)
	return () => {
		for (const [name, value] of before) {
			if (value === undefined)
				delete process.env[name]
			else
				process.env[name] = value
		}
	}
}

function compile(source, count) {
	return new vm.Script(source, {
		filename: `In[${count}]`,
		importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
	})
}

// "{a: 1}" is meant as an object, though the language reads a block.
function prepare(code, count) {
	const { transform } = require('./transform.js')
	if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
		try {
			return compile(transform(`(${code}\n)`), count)
		} catch {
			// a block after all
		}
	}
	return compile(transform(code), count)
}

async function run(message) {
	const code = language === 'typescript' ? require('./typescript.js').strip(message.code) : message.code
	const value = prepare(code, message.count).runInThisContext({ breakOnSigint: true, displayErrors: false })
	return value instanceof Promise ? await value : value
}

async function execute(message) {
	const stopped = new Promise((_, fail) => { running = { id: message.id, fail } })
	const restore = withEnv(message.env)
	try {
		const value = await Promise.race([run(message), stopped])
		if (value !== undefined)
			sendResult(bundleOf(value), true)
	} catch (err) {
		send({ type: 'error', id: message.id, ...errorOf(err) })
	}
	restore()
	running = null
	send({ type: 'done', id: message.id })
}

// What goes wrong in a callback belongs to the cell that runs, if one does; nothing of it ends the process.
function stray(err) {
	if (running)
		running.fail(err)
	else
		process.stderr.write(`${errorOf(err).traceback}\n`)
}

function listen() {
	const waiting = []
	let rest = ''
	let busy = false
	const next = async () => {
		if (busy || waiting.length === 0)
			return
		busy = true
		const message = waiting.shift()
		if (message.op === 'start')
			start(message)
		else if (message.op === 'execute')
			await execute(message)
		else if (message.op === 'env')
			replaceEnv(message.env)
		busy = false
		setImmediate(next)
	}
	control.setEncoding('utf8')
	control.on('data', (text) => {
		const lines = (rest + text).split('\n')
		rest = lines.pop()
		waiting.push(...lines.map((line) => JSON.parse(line)))
		next()
	})
	const end = process.reallyExit.bind(process)
	control.on('end', () => end(0))
	control.on('error', () => end(1))
}

process.on('SIGINT', () => running?.fail(new Interrupted()))
process.on('uncaughtException', stray)
process.on('unhandledRejection', stray)
listen()

// SPDX-License-Identifier: Apache-2.0
// Errors of cells as name, value and traceback.
'use strict'
const { inspect } = require('node:util')

class Exit extends Error {
	constructor(code) {
		super(String(code))
		this.name = 'SystemExit'
	}
}

class Interrupted extends Error {
	constructor() {
		super('the execution was interrupted')
		this.name = 'KeyboardInterrupt'
	}
}

const INTERNAL = /\(?(node:|\/opt\/atoll\/runtimes\/)[^)\s]*\)?$/

function isError(value) {
	return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
}

function traceback(err) {
	const lines = String(err.stack ?? err).split('\n')
	return lines.filter((line) => !/^\s+at /.test(line) || !INTERNAL.test(line)).join('\n')
}

function errorOf(thrown) {
	if (thrown?.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED')
		thrown = new Interrupted()
	try {
		if (isError(thrown))
			return { name: String(thrown.name), value: String(thrown.message), traceback: traceback(thrown) }
		return { name: 'Error', value: inspect(thrown), traceback: `Uncaught ${inspect(thrown)}` }
	} catch {
		return { name: 'Error', value: 'the error cannot be shown', traceback: '' }
	}
}

module.exports = { Exit, Interrupted, errorOf }

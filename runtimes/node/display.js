// SPDX-License-Identifier: Apache-2.0
// What a value is shown as: a bundle of mime type → value.
'use strict'
const { inspect } = require('node:util')

const DISPLAY = Symbol.for('Jupyter.display')
const METHODS = {		// as other JavaScript kernels name them
	_toHtml: 'text/html', _toMarkdown: 'text/markdown', _toSvg: 'image/svg+xml', _toPng: 'image/png', _toJpeg: 'image/jpeg',
}
const HELPERS = {
	text: 'text/plain', html: 'text/html', markdown: 'text/markdown', svg: 'image/svg+xml', png: 'image/png', jpeg: 'image/jpeg',
	pdf: 'application/pdf', latex: 'text/latex', json: 'application/json', javascript: 'application/javascript',
}
const DATA_MAX = 24 * 1024 * 1024	// atoll-init drops lines of 32 MiB

function text(value) {
	try {
		return inspect(value, { depth: 6, maxArrayLength: 10000, maxStringLength: Infinity })
	} catch {
		return Object.prototype.toString.call(value)
	}
}

// Bytes travel in base64.
function carry(value) {
	return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}

function own(value) {
	if (value === null || (typeof value !== 'object' && typeof value !== 'function'))
		return null
	if (typeof value[DISPLAY] === 'function')
		return value[DISPLAY]()
	const data = typeof value._toMime === 'function' ? { ...value._toMime() } : {}
	for (const [method, mime] of Object.entries(METHODS)) {
		if (typeof value[method] === 'function')
			data[mime] = value[method]()
	}
	return Object.keys(data).length ? data : null
}

function limit(data) {
	const size = Object.values(data).reduce((sum, v) => sum + (typeof v === 'string' ? v.length : 0), 0)
	return size <= DATA_MAX ? data : { 'text/plain': `${String(data['text/plain'] ?? '').slice(0, 65536)} [left out: ${size} bytes of it]` }
}

function bundleOf(value) {
	let data = null
	try {
		data = own(value)
	} catch {
		// shown as text then
	}
	const all = { 'text/plain': data?.['text/plain'] ?? text(value), ...data }
	return limit(Object.fromEntries(Object.entries(all).map(([mime, v]) => [mime, carry(v)])))
}

// display(value), display.html('<b>…'), display.png(bytes), display({'text/html': …}, {raw: true})
function makeDisplay(emit) {
	const display = (value, { raw = false } = {}) => emit(raw ? limit(value) : bundleOf(value))
	for (const [name, mime] of Object.entries(HELPERS))
		display[name] = (value) => emit(limit({ [mime]: carry(value) }))
	return display
}

module.exports = { bundleOf, makeDisplay }

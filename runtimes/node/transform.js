// SPDX-License-Identifier: Apache-2.0
// A cell as a script: what it declares stays for later cells and may be declared again, `await` and `import` work at its top.
//
// Without these a script does all we want by itself, its value included. Declarations at the top become var, so they are
// properties of the global object. A cell that awaits or imports becomes the body of an async function, with its declarations
// turned into assignments to variables declared outside, and its last expression returned.
'use strict'

const ACORN = '/usr/share/nodejs/acorn'
const PLAIN = /\b(let|const|class|await|import|export)\b/

function transform(code) {
	if (!PLAIN.test(code))
		return code
	let tree
	try {
		tree = require(ACORN).parse(code, { ecmaVersion: 'latest', sourceType: 'script', allowAwaitOutsideFunction: true,
			allowImportExportEverywhere: true, allowHashBang: true })
	} catch {
		return code	// the engine itself says best what is wrong
	}
	return tree.body.some(needsAsync) ? asyncScript(code, tree) : plainScript(code, tree)
}

function needsAsync(node) {
	if (/^(Import|Export)/.test(node.type) && node.type !== 'ImportExpression')
		return true
	if (node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node.await))
		return true
	if (/Function/.test(node.type))
		return false
	return children(node).some(needsAsync)
}

function children(node) {
	return Object.values(node).flat().filter((v) => v && typeof v.type === 'string')
}

// Pieces of the text to replace, applied from the back so that positions stay right.
function apply(code, edits) {
	for (const { start, end, text } of [...edits].sort((a, b) => b.start - a.start))
		code = code.slice(0, start) + text + code.slice(end)
	return code
}

function plainScript(code, tree) {
	const edits = []
	for (const node of tree.body) {
		if (node.type === 'VariableDeclaration' && node.kind !== 'var')
			edits.push({ start: node.start, end: node.start + node.kind.length, text: 'var'.padEnd(node.kind.length) })
		else if (node.type === 'ClassDeclaration')
			edits.push({ start: node.start, end: node.start, text: `var ${node.id.name} = ` }, { start: node.end, end: node.end, text: ';' })
	}
	return apply(code, edits)
}

function namesOf(pattern) {
	switch (pattern?.type) {
	case 'Identifier': return [pattern.name]
	case 'ObjectPattern': return pattern.properties.flatMap((p) => namesOf(p.type === 'RestElement' ? p.argument : p.value))
	case 'ArrayPattern': return pattern.elements.flatMap(namesOf)
	case 'AssignmentPattern': return namesOf(pattern.left)
	case 'RestElement': return namesOf(pattern.argument)
	default: return []
	}
}

function assignments(code, node) {
	const parts = node.declarations.map((d) => {
		const target = code.slice(d.id.start, d.id.end)
		if (d.init)
			return `(${target} = ${code.slice(d.init.start, d.init.end)})`
		return node.kind === 'var' ? '' : `(${target} = undefined)`
	})
	return `;${parts.filter(Boolean).join(', ')};`
}

// Named imports of a CommonJS module may be properties that only show when it runs.
const NAMES = Symbol.for('atoll.names')
function allNames(module) {
	const main = module.default
	return main !== null && (typeof main === 'object' || typeof main === 'function') ? { ...main, ...module } : module
}

function importText(node) {
	const from = `await import(${JSON.stringify(node.source.value)})`
	const all = `globalThis[Symbol.for("atoll.names")](${from})`
	const space = node.specifiers.find((s) => s.type === 'ImportNamespaceSpecifier')
	const named = node.specifiers.filter((s) => s !== space).map((s) => {
		const name = s.type === 'ImportDefaultSpecifier' ? 'default' : s.imported.name ?? s.imported.value
		return `${JSON.stringify(name)}: ${s.local.name}`
	})
	const parts = [space && `(${space.local.name} = ${from})`, named.length && `({ ${named.join(', ')} } = ${all})`].filter(Boolean)
	return `;${parts.join(', ') || from};`
}

function asyncScript(code, tree) {
	const edits = []
	const names = new Set()
	const hoisted = []
	const replace = (node, text) => edits.push({ start: node.start, end: node.end, text: keepLines(code, node, text) })
	const declare = (node, outer = node) => {
		if (node.type === 'VariableDeclaration') {
			node.declarations.flatMap((d) => namesOf(d.id)).forEach((n) => names.add(n))
			replace(outer, assignments(code, node))
		} else if (node.type === 'ClassDeclaration' && node.id) {
			names.add(node.id.name)
			replace(outer, `;(${node.id.name} = ${code.slice(node.start, node.end)});`)
		} else if (node.type === 'FunctionDeclaration' && node.id) {
			names.add(node.id.name)
			hoisted.push(node.id.name)
			if (outer !== node)
				replace(outer, code.slice(node.start, node.end))
		}
	}
	for (const node of tree.body) {
		if (node.type === 'ImportDeclaration') {
			node.specifiers.forEach((s) => names.add(s.local.name))
			replace(node, importText(node))
		} else if (node.type === 'ExportNamedDeclaration') {
			if (node.declaration)
				declare(node.declaration, node)
			else
				replace(node, ';')
		} else if (node.type === 'ExportDefaultDeclaration') {
			replace(node, `;(${code.slice(node.declaration.start, node.declaration.end)});`)
		} else if (node.type === 'ExportAllDeclaration') {
			replace(node, ';')
		} else {
			declare(node)
		}
	}
	const last = tree.body.at(-1)
	if (last.type === 'ExpressionStatement')
		replace(last, `;return (${code.slice(last.expression.start, last.expression.end)}\n);`)
	const outer = names.size ? `var ${[...names].join(', ')};` : ''
	const inner = hoisted.map((n) => `globalThis[${JSON.stringify(n)}] = ${n};`).join('')
	return `${outer}(async () => {${inner}${apply(code, edits)}\n})()`
}

// Lines keep their numbers, for the traces of errors.
function keepLines(code, node, text) {
	const lost = code.slice(node.start, node.end).split('\n').length - text.split('\n').length
	return text + '\n'.repeat(Math.max(lost, 0))
}

Object.defineProperty(globalThis, NAMES, { value: allNames })
module.exports = { transform }

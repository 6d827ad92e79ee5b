// SPDX-License-Identifier: Apache-2.0
// docs/compatibility.md: what was found (table.json), as a table. The tests hold the server to it.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { GROUPS, LATER } from './capabilities.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const DATA = path.join(HERE, 'table.json')
export const PAGE = path.join(HERE, '../../docs/compatibility.md')

export const UPDATE = process.env.ATOLL_COMPAT_WRITE === '1' // `make compat`: write what is found

export function readTable() {
	return fs.existsSync(DATA) ? JSON.parse(fs.readFileSync(DATA, 'utf8')) : {}
}

// One client's column: { title, versions, results: { id: 'yes' | 'no' | 'none' } }
export function writeColumn(id, column) {
	const table = { ...readTable(), [id]: column }
	fs.writeFileSync(DATA, JSON.stringify(table, null, '\t') + '\n')
	fs.writeFileSync(PAGE, page(table))
}

const WORDS = { yes: 'yes', no: '**no**', none: '·' }

function word(id, outcome) {
	return LATER.includes(id) && outcome === 'no' ? 'later' : (WORDS[outcome] ?? '?')
}

function heading({ title, versions }) {
	return [title, ...Object.values(versions)].join('<br>')
}

export function page(table, order = ORDER) {
	const columns = order.filter((id) => table[id]).map((id) => table[id])
	const line = (cells) => `| ${cells.join(' | ')} |`
	const rows = GROUPS.flatMap(([group, ids]) => [
		line([`**${group}**`, ...columns.map(() => '')]),
		...Object.entries(ids).map(([id, text]) =>
			line([text, ...columns.map((c) => word(id, c.results[id]))]),
		),
	])
	return [
		HEAD,
		'',
		line(['', ...columns.map(heading)]),
		`|---|${columns.map(() => '---|').join('')}`,
		...rows,
		'',
		TAIL,
		'',
	].join('\n')
}

export const ORDER = ['js', 'js-2.45', 'js-2.0', 'js-1', 'py', 'py-async', 'py-1', 'py-1-async', 'cli']

const HEAD = `# Compatibility

\`make compat\` writes this page. It tests each call with each client against the server that it has
built; do not edit the page by hand. \`make test\` fails if a call that is listed as working no longer
works.

**yes**: tested and works. **·**: this client has no such call. **no**: it has the call, and it does
not work here. **later**: the server does not support it yet and says so.

The versions are those of the SDK and of its code interpreter package. JS 2.0.1, JS 1.x and Python
1.x know no routing headers and use host names over TLS. [clients.md](clients.md) says how to point
a client at atoll.`

const TAIL = `Clients older than 1.0 (\`CodeInterpreter\`, \`notebook.execCell\`, \`process.start\`) speak another
protocol over WebSockets and are not supported. To migrate, rename calls: \`new CodeInterpreter\` →
\`Sandbox.create\`, \`notebook.execCell\` → \`runCode\`, \`filesystem\` → \`files\`, \`process.start\` →
\`commands.run\`, \`close\` → \`kill\`.`

// SPDX-License-Identifier: Apache-2.0
// An agent without a model: does over MCP what a model would ask for. Needs the packages of package.json beside it.
//
//	E2B_API_URL=http://127.0.0.1:8080 E2B_API_KEY=e2b_... node agent.mjs
//
// With ATOLL=/path/to/atoll it starts `atoll mcp` and talks to it by stdio instead.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const { E2B_API_URL: url = 'http://127.0.0.1:8080', E2B_API_KEY: key, ATOLL: program } = process.env
const transport = program
	? new StdioClientTransport({ command: program, args: ['mcp'], env: process.env })
	: new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers: { 'X-API-Key': key } } })
const client = new Client({ name: 'example-agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })

await client.connect(transport)
const { tools } = await client.listTools()
console.log(`${tools.length} tools, revision ${client.getNegotiatedProtocolVersion()}`)

// A call that fails is told as a result: a model reads it and tries something else.
async function use(name, args, onprogress) {
	const result = await client.callTool({ name, arguments: args }, { onprogress })
	console.log(
		`${name}: ${result.isError ? 'failed: ' : ''}${
			result.content
				.map((c) => c.text ?? `<${c.mimeType}>`)
				.join(' ')
				.trim()
				.split('\n')[0]
		}`,
	)
	return result
}

await use('run_code', { code: 'import pandas as pd\ntable = pd.DataFrame({"n": range(5)})\nint(table.n.sum())' })
await use('run_code', { code: 'float(table.n.mean())' }) // what was there is still there
await use('run_code', { code: 'tabel' }) // isError: NameError
await use('run_code', { code: 'import matplotlib.pyplot as plt\ntable.plot()\nplt.show()' })
await use('write_file', { path: '/home/user/report.md', content: '# Report\n\nIt\'s "done": $5 `ok`\n' })
await use('run_command', { command: 'wc -c report.md' })
await use('terminal', { command: 'sudo ls' }) // refused by the policy
await use('run_command', { command: 'for i in 1 2 3; do echo step $i; sleep 0.4; done' }, (p) =>
	console.log(`  ... ${p.message}`),
)
const info = await use('sandbox_info', {})
await use('kill_sandbox', { sandbox_id: info.structuredContent.sandboxId })
await client.close()

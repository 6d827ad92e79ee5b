// SPDX-License-Identifier: Apache-2.0
// Ports on which programs in the sandbox listen, with a preview from their own origin.
import { useState } from 'preact/hooks'
import { visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { sdkOf } from '../lib/sdk'
import { session } from '../lib/session'
import type { Sandbox } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { Icon } from '../ui/icons'
import { Button, Card, copy, Empty, Failure, Loading } from '../ui/kit'
import { Table, type Column } from '../ui/table'

type Port = { port: number; address: string }
const OWN = [49983, 49999, 50005]
const LOOK_MS = 5000 // each look is a command, and so two records of the audit trail
const LISTEN = '0A'

// /proc/net/tcp{,6}: address and port in hexadecimal, and the state.
export function listening(text: string): Port[] {
	const found = new Map<number, Port>()
	for (const line of text.split('\n')) {
		const m = /^\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) [0-9A-F:]+ ([0-9A-F]{2}) /.exec(line)
		if (!m || m[3] !== LISTEN) continue
		const port = parseInt(m[2]!, 16)
		const local = /^(0100007F|0{24}01000000|0000000000000000FFFF00000100007F)$/.test(m[1]!)
		if (!OWN.includes(port) && !(found.get(port)?.address === 'all'))
			found.set(port, { port, address: local ? 'loopback' : 'all' })
	}
	return [...found.values()].sort((a, b) => a.port - b.port)
}

export function addressOf(s: Sandbox, port: number): string | null {
	const form = session.value?.server.sandboxUrl
	return form ? form.replace('{port}', String(port)).replace('{id}', s.sandboxID) : null
}

export function Ports({ s }: TabProps) {
	const [shown, setShown] = useState<number | null>(null)
	const [turn, setTurn] = useState(0)
	const got = useData(
		async () => {
			const sdk = await sdkOf(s)
			const run = await sdk.commands.run('cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || true', {
				timeoutMs: 10000,
			})
			return listening(run.stdout)
		},
		LOOK_MS,
		[s.sandboxID],
	)
	if (got.error) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading what="Asking the sandbox" />
	const locked = s.network?.allowPublicTraffic === false
	const columns: Column<Port>[] = [
		{ name: 'Port', width: '80px', sort: (p) => p.port, cell: (p) => <b class="mono">{p.port}</b> },
		{
			name: 'Listens on',
			width: '110px',
			cell: (p) => (p.address === 'all' ? 'all addresses' : 'loopback'),
		},
		{
			name: 'Address',
			width: 'minmax(200px, 1fr)',
			cell: (p) => (
				<div class="mono clip">
					{addressOf(s, p.port) ?? 'this server has no names for ports'}
				</div>
			),
		},
		{
			name: 'Actions',
			hidden: true,
			width: '230px',
			cell: (p) => {
				const url = addressOf(s, p.port)
				return (
					url && (
						<div class="acts">
							<Button
								small
								icon="copy"
								label="Copy the address"
								onClick={() => void copy(url)}
							/>
							<a
								class="btn smaller"
								href={url}
								target="_blank"
								rel="noopener noreferrer"
							>
								<Icon name="open" /> Open
							</a>
							<Button
								small
								kind="primary"
								disabled={locked}
								onClick={() => setShown(p.port)}
							>
								Preview
							</Button>
						</div>
					)
				)
			},
		},
	]
	const url = shown === null ? null : addressOf(s, shown)
	return (
		<>
			<Card title="Ports" plain>
				<Table
					label="Ports"
					columns={columns}
					rows={got.data}
					id={(p) => String(p.port)}
					empty={
						<Empty
							icon="link"
							title="No program listens"
							text="Start one in a terminal, for example:"
							snippet="python3 -m http.server 8000"
						/>
					}
				/>
			</Card>
			{locked && (
				<div class="notice">
					Requests to these ports need the traffic token of the sandbox, so a browser
					cannot preview them.
				</div>
			)}
			{url && (
				<Card
					plain
					title={`Preview of ${visible(url)}`}
					tools={
						<div class="tools">
							<Button
								small
								icon="refresh"
								label="Load again"
								onClick={() => setTurn(turn + 1)}
							/>
							<Button
								small
								icon="close"
								kind="quiet"
								label="Close the preview"
								onClick={() => setShown(null)}
							/>
						</div>
					}
				>
					<iframe
						key={`${url}${turn}`}
						class="preview"
						title={`Preview of port ${shown}`}
						src={url}
						sandbox="allow-scripts allow-forms allow-same-origin"
						referrerpolicy="no-referrer"
					/>
				</Card>
			)}
		</>
	)
}

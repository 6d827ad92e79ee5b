// SPDX-License-Identifier: Apache-2.0
// The processes inside a sandbox, as its own ps tells them.
import { useState } from 'preact/hooks'
import { bytes, seconds, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { sdkOf } from '../lib/sdk'
import type { TabProps } from '../pages/sandbox'
import { confirm } from '../ui/dialog'
import { Button, Card, Empty, Failure, Loading, Search } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { toast } from '../ui/toast'

type Process = {
	pid: number
	parent: number
	user: string
	state: string
	rss: number
	age: number
	cpu: number
	command: string
}

const LOOK_MS = 5000 // each look is a command, and so two records of the audit trail
const PS = 'ps -ww -eo pid=,ppid=,user:32=,stat=,rss=,etimes=,pcpu=,args='

function parse(text: string): Process[] {
	return text
		.split('\n')
		.map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(.*)$/.exec(line))
		.filter((m): m is RegExpExecArray => m !== null)
		.map((m) => ({
			pid: +m[1]!,
			parent: +m[2]!,
			user: m[3]!,
			state: m[4]!,
			rss: +m[5]! * 1024,
			age: +m[6]!,
			cpu: +m[7]!,
			command: m[8]!,
		}))
		.filter((p) => !p.command.includes(PS))
}

export function Processes({ s }: TabProps) {
	const [text, setText] = useState('')
	const got = useData(
		async () => {
			const sdk = await sdkOf(s)
			const run = await sdk.commands.run(`${PS} 2>/dev/null || true`, {
				user: 'root',
				timeoutMs: 10000,
			})
			const rows = parse(run.stdout)
			if (rows.length > 0) return rows
			// an image without ps: at least what clients have started
			return (await sdk.commands.list()).map((p) => ({
				pid: p.pid,
				parent: 0,
				user: '',
				state: '',
				rss: 0,
				age: 0,
				cpu: 0,
				command: [p.cmd, ...p.args].join(' '),
			}))
		},
		LOOK_MS,
		[s.sandboxID],
	)
	const kill = (p: Process, signal: 'TERM' | 'KILL') =>
		confirm({
			title: `Send SIG${signal} to ${p.pid}?`,
			text: visible(p.command.slice(0, 200)),
			action: signal === 'KILL' ? 'Kill' : 'Send',
			act: async () => {
				const sdk = await sdkOf(s)
				await sdk.commands.run(`kill -${signal} ${p.pid}`, { user: 'root', timeoutMs: 10000 })
				toast(`SIG${signal} sent to ${p.pid}`, 'ok')
				await got.refresh()
			},
		})
	if (got.error) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading what="Asking the sandbox" />
	const rows = got.data.filter((p) =>
		`${p.pid} ${p.user} ${p.command}`.toLowerCase().includes(text.toLowerCase()),
	)
	const columns: Column<Process>[] = [
		{
			name: 'PID',
			width: '64px',
			right: true,
			sort: (p) => p.pid,
			cell: (p) => <span class="mono">{p.pid}</span>,
		},
		{
			name: 'User',
			width: '90px',
			sort: (p) => p.user,
			cell: (p) => <div class="clip">{visible(p.user)}</div>,
		},
		{ name: 'CPU', width: '64px', right: true, sort: (p) => p.cpu, cell: (p) => `${p.cpu} %` },
		{ name: 'Memory', width: '84px', right: true, sort: (p) => p.rss, cell: (p) => bytes(p.rss) },
		{ name: 'Age', width: '96px', right: true, sort: (p) => p.age, cell: (p) => seconds(p.age) },
		{
			name: 'Command',
			width: 'minmax(200px, 1fr)',
			sort: (p) => p.command,
			cell: (p) => (
				<div class="mono clip" title={visible(p.command)}>
					{visible(p.command)}
				</div>
			),
		},
		{
			name: 'Actions',
			hidden: true,
			width: '140px',
			cell: (p) =>
				p.pid > 1 && (
					<div class="acts">
						<Button small onClick={() => kill(p, 'TERM')}>
							End
						</Button>
						<Button small kind="danger" onClick={() => kill(p, 'KILL')}>
							Kill
						</Button>
					</div>
				),
		},
	]
	return (
		<Card
			plain
			title={`${got.data.length} processes`}
			tools={
				<div class="tools">
					<Search value={text} set={setText} label="Search processes" />
				</div>
			}
		>
			<Table
				label="Processes"
				columns={columns}
				rows={rows}
				id={(p) => String(p.pid)}
				first={{ column: 'PID' }}
				empty={<Empty icon="search" title="No process matches" />}
			/>
		</Card>
	)
}

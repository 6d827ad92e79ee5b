// SPDX-License-Identifier: Apache-2.0
// What sandboxes used, and what it costs where prices are set.
import { useState } from 'preact/hooks'
import { get } from '../lib/api'
import { bytes, count, seconds, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { isAdmin } from '../lib/session'
import { Chart } from '../ui/chart'
import { Button, Card, Empty, Failure, Field, Head, Loading, Select, Tile } from '../ui/kit'
import { Table, type Column } from '../ui/table'

type Amounts = { seconds: number; vcpuSeconds: number; gibSeconds: number; egressBytes: number; cost?: number }
type Row = Amounts & { by: Record<string, string>; keyName?: string; teamName?: string; sandboxes: number }
type Report = { from: string; to: string; by: string[]; rows: Row[]; total: Amounts; prices?: { currency?: string } }

const day = (back: number) => new Date(Date.now() - back * 86400000).toISOString().slice(0, 10)

export function Usage() {
	const [by, setBy] = useState('key')
	const [label, setLabel] = useState('agent')
	const [from, setFrom] = useState(day(29))
	const [to, setTo] = useState(day(0))
	const [every, setEvery] = useState(false)
	const word = by === 'tag' ? `tag:${label || 'agent'}` : by
	const at = every ? '/admin/usage' : '/usage'
	const got = useData((signal) => get<Report>(at, { by: word, from, to }, signal), 30000, [at, word, from, to])
	const days = useData((signal) => get<Report>(at, { by: 'day', from, to }, signal), 60000, [at, from, to])
	const r = got.data
	const money = (n: number | undefined) =>
		n === undefined ? '–' : `${n.toFixed(n < 1 ? 4 : 2)} ${r?.prices?.currency ?? ''}`
	const nameOf = (row: Row) =>
		visible(
			Object.entries(row.by)
				.map(
					([key, value]) =>
						(key === 'key'
							? (row.keyName ?? value)
							: key === 'team'
								? (row.teamName ?? value)
								: value) || '–',
				)
				.join(' · '),
		)
	const columns: Column<Row>[] = [
		{
			name:
				{
					key: 'Key',
					template: 'Template',
					sandbox: 'Sandbox',
					day: 'Day',
					team: 'Team',
					tag: label,
				}[by] ?? 'By',
			width: 'minmax(150px, 1.5fr)',
			sort: nameOf,
			cell: (row) => <div class="clip">{nameOf(row)}</div>,
		},
		{
			name: 'Sandboxes',
			width: '100px',
			right: true,
			sort: (row) => row.sandboxes,
			cell: (row) => count(row.sandboxes),
		},
		{
			name: 'Time',
			width: '120px',
			right: true,
			sort: (row) => row.seconds,
			cell: (row) => seconds(row.seconds),
		},
		{
			name: 'vCPU hours',
			width: '110px',
			right: true,
			sort: (row) => row.vcpuSeconds,
			cell: (row) => count(row.vcpuSeconds / 3600),
		},
		{
			name: 'GiB hours',
			width: '100px',
			right: true,
			sort: (row) => row.gibSeconds,
			cell: (row) => count(row.gibSeconds / 3600),
		},
		{
			name: 'Sent',
			width: '96px',
			right: true,
			sort: (row) => row.egressBytes,
			cell: (row) => bytes(row.egressBytes),
		},
		...(r?.prices
			? [
					{
						name: 'Cost',
						width: '120px',
						right: true,
						sort: (row: Row) => row.cost ?? 0,
						cell: (row: Row) => money(row.cost),
					},
				]
			: []),
	]
	const save = () => {
		const quote = (text: string | number | undefined) => `"${String(text ?? '').replaceAll('"', '""')}"`
		const lines = [
			['by', 'sandboxes', 'seconds', 'vcpu_seconds', 'gib_seconds', 'egress_bytes', 'cost'],
			...r!.rows.map((row) => [
				nameOf(row),
				row.sandboxes,
				row.seconds,
				row.vcpuSeconds,
				row.gibSeconds,
				row.egressBytes,
				row.cost,
			]),
		]
		const link = document.createElement('a')
		link.href = URL.createObjectURL(
			new Blob([lines.map((l) => l.map(quote).join(',')).join('\r\n')], { type: 'text/csv' }),
		)
		link.download = `usage-${r!.from}-${r!.to}.csv`
		link.click()
	}
	return (
		<>
			<Head
				title="Usage"
				text="Time counts from start to end of a sandbox, except while it is paused."
			>
				<Button icon="download" disabled={!r?.rows.length} onClick={save}>
					CSV
				</Button>
			</Head>
			<div class="tools">
				<Select
					label="Grouped by"
					value={by}
					set={setBy}
					options={[
						['key', 'By key'],
						['template', 'By template'],
						['sandbox', 'By sandbox'],
						['day', 'By day'],
						['tag', 'By metadata'],
						...(every ? [['team', 'By team'] as const] : []),
					]}
				/>
				{by === 'tag' && (
					<input
						class="input tag-name mono"
						aria-label="Metadata name"
						value={label}
						onInput={(e) => setLabel(e.currentTarget.value)}
					/>
				)}
				<Field label="From">
					{(id) => (
						<input
							id={id}
							class="input"
							type="date"
							max={to}
							value={from}
							onInput={(e) =>
								e.currentTarget.value && setFrom(e.currentTarget.value)
							}
						/>
					)}
				</Field>
				<Field label="To">
					{(id) => (
						<input
							id={id}
							class="input"
							type="date"
							min={from}
							value={to}
							onInput={(e) =>
								e.currentTarget.value && setTo(e.currentTarget.value)
							}
						/>
					)}
				</Field>
				{isAdmin.value && (
					<label class="check">
						<input
							type="checkbox"
							checked={every}
							onChange={(e) => setEvery(e.currentTarget.checked)}
						/>{' '}
						all teams
					</label>
				)}
			</div>
			{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
			{!r && !got.error && <Loading />}
			{r && (
				<>
					<div class="tiles">
						<Tile name="Time of sandboxes" value={seconds(r.total.seconds)} />
						<Tile name="vCPU hours" value={count(r.total.vcpuSeconds / 3600)} />
						<Tile name="GiB hours" value={count(r.total.gibSeconds / 3600)} />
						<Tile name="Sent" value={bytes(r.total.egressBytes)} />
						<Tile name="Cost" value={r.prices ? money(r.total.cost) : '–'}>
							{!r.prices && (
								<span class="muted small">no prices are set</span>
							)}
						</Tile>
					</div>
					{days.data && days.data.rows.length > 1 && (
						<Card plain>
							<Chart
								label="Sandbox hours per day"
								times={days.data.rows.map(
									(row) => Date.parse(row.by.day ?? '') / 1000,
								)}
								series={[
									{
										name: 'hours',
										values: days.data.rows.map(
											(row) => row.seconds / 3600,
										),
										color: 1,
									},
								]}
								bars
								format={count}
							/>
						</Card>
					)}
					<Card plain>
						<Table
							label="Usage"
							columns={columns}
							rows={r.rows}
							id={(row) => JSON.stringify(row.by)}
							empty={
								<Empty
									icon="coin"
									title="Nothing was used in this time"
									text="Reports are also on the command line:"
									snippet="atoll usage --by tag:agent,template --csv"
								/>
							}
						/>
					</Card>
				</>
			)}
		</>
	)
}

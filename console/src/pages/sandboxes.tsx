// SPDX-License-Identifier: Apache-2.0
// The list of sandboxes: live, filtered, with actions on many at once.
import { useMemo, useRef, useState } from 'preact/hooks'
import { all, del, get, post } from '../lib/api'
import { bytes, count, percent, plural, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { go, place, setQuery } from '../lib/router'
import { mayAct } from '../lib/session'
import type { Key, Metric, Sandbox } from '../lib/types'
import { confirm } from '../ui/dialog'
import {
	Ago,
	Bar,
	Button,
	Card,
	Empty,
	Failure,
	Head,
	Link,
	Loading,
	Menu,
	Search,
	Select,
	StateTag,
	Tags,
} from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { attempt, toast } from '../ui/toast'
import { CreateSandbox } from './create'

const LIVE_MS = 3000,
	MANY = 500,
	MANY_MS = 10000,
	AT_ONCE = 8,
	IDS_MAX = 100

export const nameOf = (s: Sandbox): string => visible(s.alias ?? s.templateID)

// Does it to each, some at a time; tells how many went well.
async function each(ids: string[], act: (id: string) => Promise<unknown>, done: string): Promise<void> {
	let good = 0
	const bad: string[] = []
	const queue = [...ids]
	const worker = async () => {
		for (let id = queue.shift(); id; id = queue.shift())
			try {
				await act(id)
				good++
			} catch (err) {
				bad.push((err as Error).message)
			}
	}
	await Promise.all(Array.from({ length: AT_ONCE }, worker))
	if (good > 0) toast(`${plural(good, 'sandbox')} ${done}`, 'ok')
	if (bad.length > 0) toast(`${count(bad.length)} failed: ${bad[0]}`, 'bad')
}

export function Sandboxes() {
	const query = place.value.query
	const [picked, setPicked] = useState(new Set<string>())
	const [metrics, setMetrics] = useState<Record<string, Metric>>({})
	const size = useRef(0)
	const list = useData(
		async (signal) => {
			const [running, paused] = await Promise.all([
				get<Sandbox[]>('/sandboxes', {}, signal),
				all<Sandbox>('/v2/sandboxes', { state: 'paused', limit: 100 }, signal),
			])
			const rows = [...running, ...paused]
			size.current = rows.length
			return rows
		},
		(size.current > MANY ? MANY_MS : LIVE_MS) as number,
		[size.current > MANY],
	)
	const keys = useData((signal) => get<Key[]>('/api-keys', {}, signal).catch(() => [] as Key[]), 0, [])
	const filter = {
		text: query.get('q') ?? '',
		state: (query.get('state') ?? '') as '' | 'running' | 'paused',
		template: query.get('template') ?? '',
		owner: query.get('owner') ?? '',
	}
	const rows = useMemo(
		() => (list.data ?? []).filter((s) => fits(s, filter)),
		[list.data, filter.text, filter.state, filter.template, filter.owner],
	)
	const templates = useMemo(
		() => [...new Set((list.data ?? []).map((s) => s.alias ?? s.templateID))].sort(),
		[list.data],
	)
	const owners = useMemo(
		() => [...new Set((list.data ?? []).map((s) => s.keyID).filter((k): k is string => !!k))],
		[list.data],
	)
	const ownerName = (id: string) => keys.data?.find((k) => k.id === id)?.name ?? id.slice(0, 8)

	const live = useRef<{ ids: string[]; timer: number }>({ ids: [], timer: 0 })
	useData(
		async () => {
			await measure(live.current.ids, setMetrics)
		},
		LIVE_MS,
		[],
	)
	const seen = (shown: Sandbox[]) => {
		const ids = shown.filter((s) => s.state === 'running').map((s) => s.sandboxID)
		const fresh = ids.some((id) => !live.current.ids.includes(id))
		live.current.ids = ids.slice(0, IDS_MAX)
		if (fresh) void measure(live.current.ids, setMetrics)
	}
	const chosen = rows.filter((s) => picked.has(s.sandboxID))
	const columns = useMemo(
		() => columnsOf(metrics, ownerName, owners.length > 0, () => void list.refresh()),
		[metrics, keys.data, owners.length > 0],
	)
	const clear = () => setPicked(new Set())

	return (
		<>
			<Head
				title="Sandboxes"
				text={
					list.data
						? `${plural(list.data.length, 'sandbox')}, ${count(list.data.filter((s) => s.state === 'running').length)} running`
						: ' '
				}
			>
				<Button icon="refresh" label="Refresh" onClick={() => void list.refresh()} />
				{mayAct.value && (
					<Button icon="plus" kind="primary" onClick={() => setQuery({ new: '1' })}>
						New sandbox
					</Button>
				)}
			</Head>
			<div class="tools" role="search">
				<Search
					value={filter.text}
					set={(q) => setQuery({ q })}
					label="Id, template or metadata (agent=ada)"
				/>
				<Select
					label="State"
					value={filter.state}
					set={(state) => setQuery({ state })}
					options={[
						['', 'Any state'],
						['running', 'Running'],
						['paused', 'Paused'],
					]}
				/>
				<Select
					label="Template"
					value={filter.template}
					set={(template) => setQuery({ template })}
					options={[
						['', 'Any template'],
						...templates.map((t) => [t, visible(t)] as const),
					]}
				/>
				{owners.length > 0 && (
					<Select
						label="Created by"
						value={filter.owner}
						set={(owner) => setQuery({ owner })}
						options={[
							['', 'Any key'],
							...owners.map((o) => [o, visible(ownerName(o))] as const),
						]}
					/>
				)}
			</div>
			{list.error && <Failure error={list.error} again={() => void list.refresh()} />}
			{!list.data && !list.error && <Loading />}
			{list.data && (
				<Card plain>
					<Table
						label="Sandboxes"
						columns={columns}
						rows={rows}
						id={(s) => s.sandboxID}
						picked={mayAct.value ? picked : undefined}
						pick={mayAct.value ? setPicked : undefined}
						seen={seen}
						first={{ column: 'Started', down: true }}
						empty={
							list.data.length === 0 ? (
								<None />
							) : (
								<Empty
									icon="search"
									title="No sandbox matches"
									text="Change or clear the filters."
								/>
							)
						}
					/>
					{chosen.length > 0 && (
						<div class="bulk">
							<b class="grow">{plural(chosen.length, 'sandbox')} selected</b>
							<Button small onClick={clear}>
								Clear
							</Button>
							<Button
								small
								icon="pause"
								onClick={() =>
									confirm({
										title: `Pause ${plural(chosen.length, 'sandbox')}?`,
										text: 'They keep disk and memory and use no processor. Each can be resumed.',
										action: 'Pause',
										danger: false,
										act: async () => {
											await each(
												chosen
													.filter(
														(s) =>
															s.state ===
															'running',
													)
													.map(
														(s) =>
															s.sandboxID,
													),
												(id) =>
													post(
														`/sandboxes/${id}/pause`,
													),
												'paused',
											)
											clear()
											await list.refresh()
										},
									})
								}
							>
								Pause
							</Button>
							<Button
								small
								icon="trash"
								kind="danger"
								onClick={() =>
									confirm({
										title: `Kill ${plural(chosen.length, 'sandbox')}?`,
										text: 'Their processes end, and their disks are deleted. This cannot be undone.',
										action: 'Kill',
										act: async () => {
											await each(
												chosen.map(
													(s) =>
														s.sandboxID,
												),
												(id) =>
													del(
														`/sandboxes/${id}`,
													),
												'killed',
											)
											clear()
											await list.refresh()
										},
									})
								}
							>
								Kill
							</Button>
						</div>
					)}
				</Card>
			)}
			{query.get('new') && mayAct.value && (
				<CreateSandbox
					close={() => setQuery({ new: '' })}
					template={query.get('from') ?? undefined}
				/>
			)}
		</>
	)
}

function None() {
	return (
		<Empty
			title="No sandboxes"
			text="Create one here, with an SDK, or on the command line:"
			snippet={'eval "$(sudo atoll env)"\natoll create --template code-interpreter-v1'}
		>
			{mayAct.value && (
				<Button icon="plus" kind="primary" onClick={() => setQuery({ new: '1' })}>
					New sandbox
				</Button>
			)}
		</Empty>
	)
}

async function measure(ids: string[], set: (of: Record<string, Metric>) => void): Promise<void> {
	if (ids.length === 0) return
	const got = await get<{ sandboxes: Record<string, Metric> }>('/sandboxes/metrics', {
		sandbox_ids: ids.join(','),
	})
	set(got.sandboxes)
}

function fits(s: Sandbox, f: { text: string; state: string; template: string; owner: string }): boolean {
	if (f.state && s.state !== f.state) return false
	if (f.template && (s.alias ?? s.templateID) !== f.template) return false
	if (f.owner && s.keyID !== f.owner) return false
	if (!f.text) return true
	const meta = Object.entries(s.metadata ?? {}).map(([key, value]) => `${key}=${value}`)
	const text = [s.sandboxID, s.alias ?? '', s.templateID, ...meta].join('\n').toLowerCase()
	return f.text
		.toLowerCase()
		.split(/\s+/)
		.every((word) => text.includes(word))
}

function columnsOf(
	metrics: Record<string, Metric>,
	owner: (id: string) => string,
	owned: boolean,
	refresh: () => void,
): Column<Sandbox>[] {
	const of = (s: Sandbox) => (s.state === 'running' ? metrics[s.sandboxID] : undefined)
	return [
		{
			name: 'Sandbox',
			width: 'minmax(176px, 1.2fr)',
			sort: (s) => s.sandboxID,
			cell: (s) => (
				<Link to={`/sandboxes/${s.sandboxID}`} class="mono clip row">
					{s.sandboxID}
				</Link>
			),
		},
		{ name: 'State', width: '96px', sort: (s) => s.state, cell: (s) => <StateTag state={s.state} /> },
		{
			name: 'Template',
			width: 'minmax(104px, 1fr)',
			sort: nameOf,
			cell: (s) => <div class="clip">{nameOf(s)}</div>,
		},
		{
			name: 'CPU',
			width: '98px',
			sort: (s) => of(s)?.cpuUsedPct ?? -1,
			cell: (s) => {
				const m = of(s)
				return m ? (
					<span class="gauge num small">
						<Bar part={m.cpuUsedPct / 100} label={`CPU of ${s.sandboxID}`} />{' '}
						{percent(m.cpuUsedPct)}
					</span>
				) : (
					<span class="muted">–</span>
				)
			},
		},
		{
			name: 'Memory',
			width: '116px',
			sort: (s) => of(s)?.memUsed ?? -1,
			cell: (s) => {
				const m = of(s)
				return m ? (
					<span
						class="gauge num small"
						title={`${bytes(m.memUsed)} of ${bytes(m.memTotal)}`}
					>
						<Bar part={m.memUsed / m.memTotal} label={`Memory of ${s.sandboxID}`} />{' '}
						{bytes(m.memUsed)}
					</span>
				) : (
					<span class="muted">–</span>
				)
			},
		},
		{
			name: 'Metadata',
			width: 'minmax(96px, 1.4fr)',
			cell: (s) => (
				<div class="one-line">
					<Tags of={s.metadata} />
				</div>
			),
		},
		...(owned
			? [
					{
						name: 'Key',
						width: '100px',
						sort: (s: Sandbox) => owner(s.keyID ?? ''),
						cell: (s: Sandbox) => (
							<div class="clip">
								{s.keyID ? visible(owner(s.keyID)) : '–'}
							</div>
						),
					},
				]
			: []),
		{
			name: 'Started',
			width: '92px',
			sort: (s) => Date.parse(s.startedAt),
			cell: (s) => <Ago time={s.startedAt} />,
		},
		{
			name: 'Ends',
			width: '84px',
			sort: (s) => (s.state === 'paused' ? Infinity : Date.parse(s.endAt)),
			cell: (s) => (s.state === 'paused' ? <span class="muted">–</span> : <Ago time={s.endAt} />),
		},
		{
			name: 'Actions',
			hidden: true,
			width: '34px',
			cell: (s) => <RowMenu s={s} refresh={refresh} />,
		},
	]
}

function RowMenu({ s, refresh }: { s: Sandbox; refresh: () => void }) {
	const at = `/sandboxes/${s.sandboxID}`
	const off = !mayAct.value
	return (
		<Menu
			small
			label={`Actions of ${s.sandboxID}`}
			items={[
				{
					name: 'Terminal',
					icon: 'terminal',
					disabled: off || s.state !== 'running',
					act: () => go(`${at}/terminal`),
				},
				s.state === 'running'
					? {
							name: 'Pause',
							icon: 'pause',
							disabled: off,
							act: () =>
								void attempt(() => post(`${at}/pause`), 'Paused').then(
									refresh,
								),
						}
					: {
							name: 'Resume',
							icon: 'play',
							disabled: off,
							act: () =>
								void attempt(
									() =>
										post(`${at}/connect`, {
											timeout:
												s.timeoutSeconds ??
												3600,
										}),
									'Resumed',
								).then(refresh),
						},
				{
					name: 'Kill …',
					icon: 'trash',
					danger: true,
					disabled: off,
					act: () =>
						confirm({
							title: 'Kill this sandbox?',
							text: `${s.sandboxID}: its processes end, and its disk is deleted. This cannot be undone.`,
							action: 'Kill',
							act: async () => {
								await del(at)
								refresh()
							},
						}),
				},
			]}
		/>
	)
}

// SPDX-License-Identifier: Apache-2.0
// Teams of the server with their quotas and keys; for admins.
import { useState } from 'preact/hooks'
import { del, get, patch, post } from '../lib/api'
import { count, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { go } from '../lib/router'
import type { Quota, Team as TeamInfo } from '../lib/types'
import { confirm, FormDialog } from '../ui/dialog'
import { Ago, Bar, Button, Card, Empty, Failure, Field, Head, Link, Loading, Menu, StateTag, Tile } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { toast } from '../ui/toast'
import { KeysCard } from './keys'

const NUMBERS = [
	['maxSandboxes', 'Sandboxes at once', 'running and paused'],
	['rateLimit', 'Requests per second and key', 'with a burst of twice that'],
] as const
const QUOTAS: [keyof Quota, string, string][] = [
	['createsPerMinute', 'Creations per minute', ''],
	['cpuSecondsPerDay', 'CPU seconds per day', ''],
	['egressMBPerDay', 'MB sent per day', ''],
]

export function Teams() {
	const got = useData((signal) => get<TeamInfo[]>('/admin/teams', {}, signal), 5000, [])
	const [open, setOpen] = useState(false)
	const columns: Column<TeamInfo>[] = [
		{
			name: 'Team',
			width: 'minmax(140px, 1.4fr)',
			sort: (t) => t.name,
			cell: (t) => (
				<Link to={`/teams/${t.teamID}`} class="row">
					<b class="clip">{visible(t.name)}</b>
				</Link>
			),
		},
		{ name: 'State', width: '100px', cell: (t) => <StateTag state={t.blocked ? 'blocked' : 'active'} /> },
		{
			name: 'Running',
			width: '80px',
			right: true,
			sort: (t) => t.runningSandboxes,
			cell: (t) => count(t.runningSandboxes),
		},
		{
			name: 'At most',
			width: '80px',
			right: true,
			cell: (t) => (t.maxSandboxes === null ? '–' : count(t.maxSandboxes)),
		},
		{ name: 'Keys', width: '60px', right: true, sort: (t) => t.keys, cell: (t) => count(t.keys) },
		{
			name: 'CPU today',
			width: '100px',
			right: true,
			sort: (t) => t.usage?.cpuSecondsToday ?? 0,
			cell: (t) => `${count(t.usage?.cpuSecondsToday)} s`,
		},
		{
			name: 'Created',
			width: '92px',
			right: true,
			sort: (t) => t.createdAt,
			cell: (t) => <Ago time={t.createdAt} />,
		},
	]
	return (
		<>
			<Head title="Teams" text="A team sees its own sandboxes, templates and keys only.">
				<Button icon="plus" kind="primary" onClick={() => setOpen(true)}>
					New team
				</Button>
			</Head>
			{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
			{!got.data && !got.error && <Loading />}
			{got.data && (
				<Card plain>
					<Table
						label="Teams"
						columns={columns}
						rows={got.data}
						id={(t) => t.teamID}
						empty={<Empty icon="team" title="No teams" />}
					/>
				</Card>
			)}
			{open && <NewTeam close={() => setOpen(false)} done={got.refresh} />}
		</>
	)
}

function NewTeam({ close, done }: { close: () => void; done: () => Promise<void> }) {
	const [name, setName] = useState('')
	const submit = async () => {
		await post('/admin/teams', { name })
		await done()
	}
	return (
		<FormDialog title="New team" close={close} submit={submit} action="Create">
			<Field label="Name" hint="Small letters, digits, - and _">
				{(id) => (
					<input
						id={id}
						class="input mono"
						required
						pattern="[a-z0-9_\-]{1,63}"
						placeholder="research"
						value={name}
						onInput={(e) => setName(e.currentTarget.value)}
						autoFocus
					/>
				)}
			</Field>
		</FormDialog>
	)
}

export function Team({ id }: { id: string }) {
	const at = `/admin/teams/${encodeURIComponent(id)}`
	const got = useData((signal) => get<TeamInfo>(at, {}, signal), 5000, [id])
	const [open, setOpen] = useState(false)
	if (got.error) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading />
	const t = got.data
	const block = () =>
		confirm({
			title: t.blocked ? `Unblock ${visible(t.name)}?` : `Block ${visible(t.name)}?`,
			text: t.blocked
				? 'Its keys work again.'
				: 'Its keys can list, inspect and delete, and nothing else. Sandboxes that run go on.',
			action: t.blocked ? 'Unblock' : 'Block',
			danger: !t.blocked,
			act: async () => {
				await patch(at, { blocked: !t.blocked })
				await got.refresh()
			},
		})
	const kill = () =>
		confirm({
			title: 'Kill all sandboxes of the team?',
			text: `${count(t.runningSandboxes)} running ones, and all paused ones. This cannot be undone.`,
			action: 'Kill all',
			act: async () => {
				const n = await post<{ killedCount: number; failedCount: number }>(
					`${at}/sandboxes/kill`,
				)
				toast(
					`${n.killedCount} killed${n.failedCount ? `, ${n.failedCount} failed` : ''}`,
					n.failedCount ? 'bad' : 'ok',
				)
				await got.refresh()
			},
		})
	const drop = () =>
		confirm({
			title: `Delete ${visible(t.name)}?`,
			text: 'Its keys are revoked. A team with sandboxes is not deleted.',
			action: 'Delete',
			act: async () => {
				await del(at)
				go('/teams')
			},
		})
	const cpu = t.quota?.cpuSecondsPerDay,
		sent = t.quota?.egressMBPerDay
	return (
		<>
			<Head title={visible(t.name)} text={<span class="mono">{t.teamID}</span>}>
				<StateTag state={t.blocked ? 'blocked' : 'active'} />
				<Button icon="edit" onClick={() => setOpen(true)}>
					Quotas
				</Button>
				<Menu
					label="More actions"
					items={[
						{ name: t.blocked ? 'Unblock …' : 'Block …', icon: 'lock', act: block },
						{
							name: 'Kill all its sandboxes …',
							icon: 'stop',
							danger: true,
							act: kill,
						},
						{
							name: 'Delete …',
							icon: 'trash',
							danger: true,
							disabled: t.isDefault,
							act: drop,
						},
					]}
				/>
			</Head>
			<div class="tiles">
				<Tile
					name="Running sandboxes"
					value={count(t.runningSandboxes)}
					unit={t.maxSandboxes === null ? 'no quota' : `of ${count(t.maxSandboxes)}`}
				>
					{t.maxSandboxes ? (
						<Bar
							part={t.runningSandboxes / t.maxSandboxes}
							label="Sandboxes of the quota"
						/>
					) : null}
				</Tile>
				<Tile
					name="CPU seconds today"
					value={count(t.usage?.cpuSecondsToday)}
					unit={cpu ? `of ${count(cpu)}` : 'no quota'}
				>
					{cpu ? (
						<Bar
							part={(t.usage?.cpuSecondsToday ?? 0) / cpu}
							label="CPU of the quota"
						/>
					) : null}
				</Tile>
				<Tile
					name="MB sent today"
					value={count(t.usage?.egressMBToday)}
					unit={sent ? `of ${count(sent)}` : 'no quota'}
				/>
				<Tile
					name="Creations, last minute"
					value={count(t.usage?.createsLastMinute)}
					unit={
						t.quota?.createsPerMinute
							? `of ${count(t.quota.createsPerMinute)}`
							: 'no quota'
					}
				/>
			</div>
			<KeysCard base={`${at}/api-keys`} title="Keys" />
			{open && <Quotas t={t} at={at} close={() => setOpen(false)} done={got.refresh} />}
		</>
	)
}

function Quotas({ t, at, close, done }: { t: TeamInfo; at: string; close: () => void; done: () => Promise<void> }) {
	const [form, setForm] = useState<Record<string, string>>(() => ({
		maxSandboxes: text(t.maxSandboxes),
		rateLimit: text(t.rateLimit),
		...Object.fromEntries(QUOTAS.map(([key]) => [key, text(t.quota?.[key])])),
	}))
	const number = (key: string) => (form[key]!.trim() === '' ? null : Number(form[key]))
	const submit = async () => {
		await patch(at, {
			maxSandboxes: number('maxSandboxes'),
			rateLimit: number('rateLimit'),
			quota: Object.fromEntries(QUOTAS.map(([key]) => [key, number(key)])),
		})
		toast('The new quotas are in force', 'ok')
		await done()
	}
	return (
		<FormDialog title={`Quotas of ${visible(t.name)}`} close={close} submit={submit} action="Apply">
			<p class="muted">An empty field means the server's default, or no quota.</p>
			{[...NUMBERS, ...QUOTAS].map(([key, name, hint]) => (
				<Field key={key} label={name} hint={hint}>
					{(id) => (
						<input
							id={id}
							class="input"
							type="number"
							min="0"
							value={form[key]}
							onInput={(e) =>
								setForm({ ...form, [key]: e.currentTarget.value })
							}
						/>
					)}
				</Field>
			))}
		</FormDialog>
	)
}

const text = (n: number | null | undefined): string => (n === null || n === undefined ? '' : String(n))

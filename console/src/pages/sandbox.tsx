// SPDX-License-Identifier: Apache-2.0
// One sandbox: what it is, what can be done with it, and a tab for each view of it.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ApiError, del, get, post } from '../lib/api'
import { useData } from '../lib/hooks'
import { href, go } from '../lib/router'
import { mayAct } from '../lib/session'
import type { Sandbox } from '../lib/types'
import { ago, visible } from '../lib/format'
import { About } from '../sandbox/about'
import { Cells } from '../sandbox/cells'
import { Files } from '../sandbox/files'
import { Forks } from '../sandbox/forks'
import { LimitsTab } from '../sandbox/limits'
import { Logs } from '../sandbox/logs'
import { Metrics } from '../sandbox/metrics'
import { NetworkTab } from '../sandbox/network'
import { Ports } from '../sandbox/ports'
import { Processes } from '../sandbox/processes'
import { Terminals } from '../sandbox/terminal'
import { confirm, FormDialog } from '../ui/dialog'
import { Button, Empty, Failure, Field, Link, LinkButton, Loading, Menu, StateTag } from '../ui/kit'
import { usePageCommands } from '../ui/palette'
import { attempt, toast } from '../ui/toast'
import { nameOf } from './sandboxes'

export type TabProps = { s: Sandbox; refresh: () => Promise<void> }

// inside: needs processes of the sandbox; after: still says something when it is gone
const TABS: {
	key: string
	name: string
	inside?: boolean
	after?: boolean
	view: (p: TabProps) => ComponentChildren
}[] = [
	{ key: '', name: 'About', view: (p) => <About {...p} /> },
	{ key: 'terminal', name: 'Terminal', inside: true, view: (p) => <Terminals {...p} /> },
	{ key: 'cells', name: 'Cells', inside: true, view: (p) => <Cells {...p} /> },
	{ key: 'files', name: 'Files', inside: true, view: (p) => <Files {...p} /> },
	{ key: 'processes', name: 'Processes', inside: true, view: (p) => <Processes {...p} /> },
	{ key: 'metrics', name: 'Metrics', view: (p) => <Metrics {...p} /> },
	{ key: 'logs', name: 'Logs', after: true, view: (p) => <Logs {...p} /> },
	{ key: 'network', name: 'Network', view: (p) => <NetworkTab {...p} /> },
	{ key: 'limits', name: 'Limits', view: (p) => <LimitsTab {...p} /> },
	{ key: 'ports', name: 'Ports', inside: true, view: (p) => <Ports {...p} /> },
	{ key: 'forks', name: 'Forks', view: (p) => <Forks {...p} /> },
]

const POLL_MS = 3000

export function SandboxPage({ id, tab = '' }: { id: string; tab?: string }) {
	const got = useData((signal) => get<Sandbox>(`/sandboxes/${encodeURIComponent(id)}`, {}, signal), POLL_MS, [id])
	const gone = got.error instanceof ApiError && got.error.status === 404
	const s = got.data
	const current = TABS.find((t) => t.key === tab) ?? TABS[0]!
	if (!s && !gone)
		return got.error ? (
			<Failure error={got.error} again={() => void got.refresh()} />
		) : (
			<Loading what="Asking for the sandbox" />
		)
	return (
		<>
			<div class="head">
				<div class="grow">
					<h1 class="mono title">{visible(id)}</h1>
					<div class="row wrap">
						<StateTag state={gone ? 'gone' : s!.state} />
						{s && <span class="muted">{nameOf(s)}</span>}
						{s && !gone && s.state === 'running' && (
							<span class="muted">ends {ago(s.endAt)}</span>
						)}
					</div>
				</div>
				{s && !gone && <Actions s={s} refresh={got.refresh} />}
			</div>
			<nav class="tabs" role="tablist" aria-label="Views of the sandbox">
				{TABS.filter((t) => s || t.after || t.key === current.key).map((t) => (
					<a
						key={t.key}
						role="tab"
						aria-selected={t === current}
						href={href(`/sandboxes/${id}${t.key && `/${t.key}`}`)}
					>
						{t.name}
					</a>
				))}
			</nav>
			{gone && (
				<div class="notice bad" role="alert">
					{visible(got.error!.message)}
				</div>
			)}
			<div role="tabpanel" aria-label={current.name} class="stack">
				<Body tab={current} s={s} id={id} gone={gone} refresh={got.refresh} />
			</div>
		</>
	)
}

function Body({
	tab,
	s,
	id,
	gone,
	refresh,
}: {
	tab: (typeof TABS)[number]
	s: Sandbox | undefined
	id: string
	gone: boolean
	refresh: () => Promise<void>
}) {
	if (gone && tab.after) return tab.view({ s: s ?? ({ sandboxID: id } as Sandbox), refresh })
	if (gone || !s)
		return (
			<Empty
				icon="box"
				title="This sandbox is not there any more"
				text="Its log and its audit records are kept for a while."
			>
				<span class="row">
					<LinkButton to={`/sandboxes/${id}/logs`}>Log</LinkButton>
					<LinkButton to={`/audit?sandbox=${id}`}>Audit trail</LinkButton>
					<LinkButton to="/sandboxes">All sandboxes</LinkButton>
				</span>
			</Empty>
		)
	if (tab.inside && s.state !== 'running')
		return (
			<Empty
				icon="pause"
				title="This sandbox is paused"
				text="Its processes stand still. Resume it to use this view."
			>
				<Button
					icon="play"
					kind="primary"
					disabled={!mayAct.value}
					onClick={() => void resume(s).then(refresh)}
				>
					Resume
				</Button>
			</Empty>
		)
	if (tab.inside && !mayAct.value)
		return (
			<Empty
				icon="lock"
				title="Not with this key"
				text="A viewer sees what runs and its figures, but not inside a sandbox."
			/>
		)
	return tab.view({ s, refresh })
}

const resume = (s: Sandbox) =>
	attempt(() => post(`/sandboxes/${s.sandboxID}/connect`, { timeout: s.timeoutSeconds ?? 3600 }), 'Resumed')

function Actions({ s, refresh }: TabProps) {
	const [dialog, setDialog] = useState<'snapshot' | 'fork' | 'timeout' | null>(null)
	const at = `/sandboxes/${s.sandboxID}`
	const running = s.state === 'running'
	const off = !mayAct.value
	const pause = () => void attempt(() => post(`${at}/pause`), 'Paused').then(refresh)
	const kill = () =>
		confirm({
			title: 'Kill this sandbox?',
			text: 'Its processes end, and its disk is deleted. This cannot be undone.',
			action: 'Kill',
			act: async () => {
				await del(at)
				toast('Killed', 'ok')
				await refresh()
			},
		})
	usePageCommands(
		off
			? []
			: [
					running
						? { name: 'Pause this sandbox', icon: 'pause', act: pause }
						: {
								name: 'Resume this sandbox',
								icon: 'play',
								act: () => void resume(s).then(refresh),
							},
					{ name: 'Fork this sandbox', icon: 'fork', act: () => setDialog('fork') },
					{
						name: 'Snapshot this sandbox',
						icon: 'camera',
						act: () => setDialog('snapshot'),
					},
					{ name: 'Kill this sandbox', icon: 'trash', act: kill },
					...TABS.filter((t) => t.key).map((t) => ({
						name: `${t.name} of this sandbox`,
						icon: 'box' as const,
						act: () => go(`${at}/${t.key}`),
					})),
				],
		[s.sandboxID, s.state],
	)
	return (
		<div class="tools">
			{running ? (
				<Button icon="pause" disabled={off} onClick={pause}>
					Pause
				</Button>
			) : (
				<Button
					icon="play"
					kind="primary"
					disabled={off}
					onClick={() => void resume(s).then(refresh)}
				>
					Resume
				</Button>
			)}
			<Button icon="fork" disabled={off || !running} onClick={() => setDialog('fork')}>
				Fork
			</Button>
			<Button icon="camera" disabled={off || !running} onClick={() => setDialog('snapshot')}>
				Snapshot
			</Button>
			<Menu
				label="More actions"
				items={[
					{
						name: 'Set the lifetime …',
						icon: 'clock',
						disabled: off || !running,
						act: () => setDialog('timeout'),
					},
					{
						name: 'Audit trail',
						icon: 'shield',
						act: () => go(`/audit?sandbox=${s.sandboxID}`),
					},
					{ name: 'Kill …', icon: 'trash', danger: true, disabled: off, act: kill },
				]}
			/>
			{dialog === 'timeout' && <Lifetime s={s} refresh={refresh} close={() => setDialog(null)} />}
			{dialog === 'snapshot' && <SnapshotDialog s={s} close={() => setDialog(null)} />}
			{dialog === 'fork' && <ForkDialog s={s} close={() => setDialog(null)} />}
		</div>
	)
}

function Lifetime({ s, refresh, close }: TabProps & { close: () => void }) {
	const [minutes, setMinutes] = useState('60')
	return (
		<FormDialog
			title="Set the lifetime"
			close={close}
			action="Set"
			submit={async () => {
				await post(`/sandboxes/${s.sandboxID}/timeout`, {
					timeout: Math.round(Number(minutes) * 60),
				})
				await refresh()
			}}
		>
			<Field label="Minutes from now">
				{(id) => (
					<input
						id={id}
						class="input"
						type="number"
						min="0"
						max="1440"
						required
						value={minutes}
						onInput={(e) => setMinutes(e.currentTarget.value)}
					/>
				)}
			</Field>
		</FormDialog>
	)
}

function SnapshotDialog({ s, close }: { s: Sandbox; close: () => void }) {
	const [name, setName] = useState('')
	return (
		<FormDialog
			title="Snapshot"
			close={close}
			action="Take the snapshot"
			submit={async () => {
				const made = await post<{ snapshotID: string }>(
					`/sandboxes/${s.sandboxID}/snapshots`,
					name ? { name } : {},
				)
				toast(`Snapshot ${made.snapshotID}`, 'ok')
			}}
		>
			<p class="muted">
				Saves disk and memory. The sandbox stands still while its memory is read; terminals
				reconnect by themselves.
			</p>
			<Field label="Name" hint="Optional. Sandboxes can be made from it by this name.">
				{(id) => (
					<input
						id={id}
						class="input mono"
						placeholder="after-setup"
						value={name}
						onInput={(e) => setName(e.currentTarget.value)}
					/>
				)}
			</Field>
		</FormDialog>
	)
}

function ForkDialog({ s, close }: { s: Sandbox; close: () => void }) {
	const [n, setN] = useState('1')
	const submit = async () => {
		const made = await post<{ sandbox?: Sandbox; error?: { message: string } }[]>(
			`/sandboxes/${s.sandboxID}/fork`,
			{ count: Number(n) },
		)
		const good = made.filter((one) => one.sandbox)
		const failed = made.find((one) => one.error)
		if (failed) toast(failed.error!.message, 'bad')
		if (good.length > 0) toast(`Forked: ${good.map((one) => one.sandbox!.sandboxID).join(', ')}`, 'ok')
		if (good.length === 1) go(`/sandboxes/${good[0]!.sandbox!.sandboxID}`)
		else go(`/sandboxes/${s.sandboxID}/forks`)
	}
	return (
		<FormDialog title="Fork" close={close} action="Fork" submit={submit}>
			<p class="muted">
				Copies the running sandbox with its processes. Each copy goes on from this moment, with
				its own id and tokens.
			</p>
			<Field label="Copies">
				{(id) => (
					<input
						id={id}
						class="input"
						type="number"
						min="1"
						max="20"
						required
						value={n}
						onInput={(e) => setN(e.currentTarget.value)}
					/>
				)}
			</Field>
		</FormDialog>
	)
}

export const IdLink = ({ id }: { id: string }) => (
	<Link to={`/sandboxes/${id}`} class="mono">
		{id}
	</Link>
)

// SPDX-License-Identifier: Apache-2.0
// Sessions of agents, and the notebooks of what they ran.
import { useState } from 'preact/hooks'
import { del, get, post, send } from '../lib/api'
import { visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { go } from '../lib/router'
import { mayAct } from '../lib/session'
import { confirm, FormDialog } from '../ui/dialog'
import { Ago, Button, Card, Empty, Failure, Field, Head, Link, Loading, Menu } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { attempt } from '../ui/toast'
import { recorded, type Recorded } from '../sandbox/notebook'
import { Outputs } from '../sandbox/outputs'

type AgentSession = {
	sessionId: string
	sandboxId: string | null
	agentId: string
	userId: string | null
	createdAt: string
	lastUsed: string
	environment: string
	resourceLimits: Record<string, string | number>
}
type Book = Parameters<typeof recorded>[0]

export function Sessions() {
	const got = useData((signal) => get<AgentSession[]>('/agent/sessions', {}, signal), 4000, [])
	const [shown, setShown] = useState<AgentSession | null>(null)
	const [open, setOpen] = useState(false)
	const off = !mayAct.value
	const save = (s: AgentSession) =>
		void attempt(async () => {
			const res = await send('GET', `/sandboxes/${s.sandboxId}/notebook`)
			const link = document.createElement('a')
			link.href = URL.createObjectURL(await res.blob())
			link.download = `${s.sessionId}.ipynb`
			link.click()
			setTimeout(() => URL.revokeObjectURL(link.href), 60000)
		})
	const columns: Column<AgentSession>[] = [
		{
			name: 'Session',
			width: 'minmax(180px, 1.2fr)',
			cell: (s) => (
				<button class="link mono clip" onClick={() => setShown(s)}>
					{s.sessionId}
				</button>
			),
		},
		{
			name: 'Agent',
			width: 'minmax(90px, 1fr)',
			sort: (s) => s.agentId,
			cell: (s) => <div class="clip">{visible(s.agentId)}</div>,
		},
		{
			name: 'User',
			width: 'minmax(70px, 1fr)',
			sort: (s) => s.userId ?? '',
			cell: (s) => (
				<div class="clip">{s.userId ? visible(s.userId) : <span class="muted">–</span>}</div>
			),
		},
		{
			name: 'Sandbox',
			width: 'minmax(150px, 200px)',
			cell: (s) =>
				s.sandboxId ? (
					<Link to={`/sandboxes/${s.sandboxId}`} class="mono clip row">
						{s.sandboxId}
					</Link>
				) : (
					<span class="muted">–</span>
				),
		},
		{
			name: 'Environment',
			width: 'minmax(110px, 1fr)',
			cell: (s) => <div class="clip">{visible(s.environment)}</div>,
		},
		{ name: 'Last used', width: '92px', sort: (s) => s.lastUsed, cell: (s) => <Ago time={s.lastUsed} /> },
		{
			name: 'Actions',
			hidden: true,
			width: '34px',
			cell: (s) => (
				<Menu
					small
					label={`Actions of ${s.sessionId}`}
					items={[
						{ name: 'Notebook', icon: 'file', act: () => setShown(s) },
						{
							name: 'Download the notebook',
							icon: 'download',
							disabled: !s.sandboxId,
							act: () => save(s),
						},
						{
							name: 'Audit trail',
							icon: 'shield',
							act: () => go(`/audit?session=${s.sessionId}`),
						},
						{
							name: 'End …',
							icon: 'stop',
							danger: true,
							disabled: off,
							act: () =>
								confirm({
									title: 'End this session?',
									text: `${s.sessionId}: its sandbox is killed.`,
									action: 'End',
									act: async () => {
										await del(
											`/agent/sessions/${s.sessionId}`,
										)
										if (shown?.sessionId === s.sessionId)
											setShown(null)
										await got.refresh()
									},
								}),
						},
					]}
				/>
			),
		},
	]
	return (
		<>
			<Head
				title="Agent sessions"
				text="Sessions keep an agent's variables and files from call to call."
			>
				{!off && (
					<Button icon="plus" kind="primary" onClick={() => setOpen(true)}>
						New session
					</Button>
				)}
			</Head>
			{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
			{!got.data && !got.error && <Loading />}
			{got.data && (
				<Card plain>
					<Table
						label="Agent sessions"
						columns={columns}
						rows={got.data}
						id={(s) => s.sessionId}
						empty={
							<Empty
								icon="agent"
								title="No sessions"
								text="Agents make them over MCP or HTTP. To try it:"
								snippet={
									'id=$(atoll session create --agent ada)\natoll session run "$id" \'x = 21\''
								}
							/>
						}
					/>
				</Card>
			)}
			{shown && <Notebook key={shown.sessionId} of={shown} close={() => setShown(null)} />}
			{open && <NewSession close={() => setOpen(false)} done={got.refresh} />}
		</>
	)
}

function Notebook({ of, close }: { of: AgentSession; close: () => void }) {
	const got = useData<Recorded[]>(
		async (signal) =>
			of.sandboxId
				? recorded(await get<Book>(`/sandboxes/${of.sandboxId}/notebook`, {}, signal))
				: [],
		4000,
		[of.sandboxId],
	)
	return (
		<Card
			plain
			title={`Notebook of ${visible(of.agentId)}`}
			tools={<Button small icon="close" kind="quiet" label="Close" onClick={close} />}
		>
			{got.error && <Failure error={got.error} />}
			{!got.data && !got.error && <Loading />}
			{got.data?.length === 0 && (
				<Empty
					icon="file"
					title="Nothing was run yet"
					text="Cells of this session appear here with their output."
					snippet={`atoll session run ${of.sessionId} '6 * 7'`}
				/>
			)}
			{got.data?.map((c, i) => (
				<section class="cell" key={i} aria-label={`Cell ${c.count ?? ''}`}>
					<div class="gutter">[{c.count ?? ' '}]</div>
					<div>
						<div class="code">
							<pre class="ran" tabIndex={0}>
								{c.code}
							</pre>
						</div>
						<Outputs of={c.outputs} />
					</div>
				</section>
			))}
		</Card>
	)
}

function NewSession({ close, done }: { close: () => void; done: () => Promise<void> }) {
	const [form, setForm] = useState({ agentId: 'console', environment: 'code-interpreter-v1' })
	const submit = async () => {
		await post('/agent/sessions', form)
		await done()
	}
	return (
		<FormDialog title="New session" close={close} submit={submit} action="Create">
			<Field label="Agent">
				{(id) => (
					<input
						id={id}
						class="input"
						required
						value={form.agentId}
						onInput={(e) => setForm({ ...form, agentId: e.currentTarget.value })}
						autoFocus
					/>
				)}
			</Field>
			<Field label="Environment" hint="A template">
				{(id) => (
					<input
						id={id}
						class="input mono"
						required
						value={form.environment}
						onInput={(e) =>
							setForm({ ...form, environment: e.currentTarget.value })
						}
					/>
				)}
			</Field>
		</FormDialog>
	)
}

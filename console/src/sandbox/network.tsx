// SPDX-License-Identifier: Apache-2.0
// What the sandbox may reach, and what it was refused, with the reason.
import { useState } from 'preact/hooks'
import { get, put } from '../lib/api'
import { count, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { mayAct } from '../lib/session'
import type { LogEntry, Network } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { FormDialog } from '../ui/dialog'
import { Ago, Button, Card, Empty, Failure, Field, Loading } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { toast } from '../ui/toast'

type Refusal = { what: string; process: string; why: string; times: number; last: string }

// The same cause is one row, as in `atoll explain`.
function gather(logs: LogEntry[]): Refusal[] {
	const rows = new Map<string, Refusal>()
	const add = (r: Refusal) => {
		const key = `${r.what}\n${r.process}`
		const old = rows.get(key)
		rows.set(
			key,
			old ? { ...r, times: old.times + r.times, last: r.last > old.last ? r.last : old.last } : r,
		)
	}
	for (const l of logs) {
		const f = l.fields
		add({
			what: f.call || l.message,
			process: f.process ?? '',
			why: f.reason ?? '',
			times: Number(f.count) || 1,
			last: l.timestamp,
		})
	}
	return [...rows.values()].sort((a, b) => (a.last < b.last ? 1 : -1))
}

async function refusals(id: string, signal: AbortSignal): Promise<Refusal[]> {
	const { logs } = await get<{ logs: LogEntry[] }>(`/v2/sandboxes/${id}/logs`, { limit: 1000 }, signal)
	return gather(logs.filter((l) => l.fields.type === 'security'))
}

const Entries = ({ of, none }: { of: string[] | undefined; none: string }) =>
	of?.length ? (
		<span class="row wrap">
			{of.map((e) => (
				<span class="tag" key={e}>
					{visible(e)}
				</span>
			))}
		</span>
	) : (
		<span class="muted">{none}</span>
	)

export function NetworkTab({ s, refresh }: TabProps) {
	const [edit, setEdit] = useState(false)
	const got = useData((signal) => refusals(s.sandboxID, signal), 4000, [s.sandboxID])
	const n: Network = s.network ?? {}
	const columns: Column<Refusal>[] = [
		{
			name: 'Refused',
			width: 'minmax(160px, 1fr)',
			cell: (r) => <span class="mono">{visible(r.what)}</span>,
		},
		{ name: 'By', width: '110px', cell: (r) => <div class="clip">{visible(r.process) || '–'}</div> },
		{ name: 'Why', width: 'minmax(200px, 2fr)', cell: (r) => visible(r.why) || '–' },
		{ name: 'Times', width: '70px', right: true, sort: (r) => r.times, cell: (r) => count(r.times) },
		{ name: 'Last', width: '90px', right: true, sort: (r) => r.last, cell: (r) => <Ago time={r.last} /> },
	]
	const closed = s.allowInternetAccess === false
	return (
		<>
			<Card
				title="What it may reach"
				tools={
					<Button
						icon="edit"
						disabled={!mayAct.value || s.state !== 'running'}
						onClick={() => setEdit(true)}
					>
						Change
					</Button>
				}
			>
				<dl class="facts">
					<dt>Internet</dt>
					<dd>
						{closed
							? 'closed, except what is allowed'
							: 'open, except what is denied'}
					</dd>
					<dt>Allowed</dt>
					<dd>
						<Entries of={n.allowOut} none="nothing in particular" />
					</dd>
					<dt>Denied</dt>
					<dd>
						<Entries
							of={n.denyOut}
							none="nothing besides private ranges, other sandboxes and this host"
						/>
					</dd>
					<dt>Header rules</dt>
					<dd>
						<Entries of={Object.keys(n.rules ?? {})} none="none" />
					</dd>
					{n.egressProxy && (
						<>
							<dt>Proxy</dt>
							<dd class="mono">{visible(n.egressProxy.address)}</dd>
						</>
					)}
					<dt>Its own ports</dt>
					<dd>
						{n.allowPublicTraffic === false
							? 'need the traffic token'
							: 'public to whoever knows the address'}
					</dd>
				</dl>
			</Card>
			<Card title="Refusals" plain>
				{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
				{!got.data && !got.error && <Loading />}
				{got.data && (
					<Table
						label="Refusals"
						columns={columns}
						rows={got.data}
						id={(r) => r.what + r.process}
						empty={
							<Empty
								icon="shield"
								title="Nothing was refused"
								text="System calls and connections that the sandbox may not make appear here, with the reason."
							/>
						}
					/>
				)}
			</Card>
			{edit && (
				<Change
					s={s}
					refresh={refresh}
					network={n}
					closed={closed}
					close={() => setEdit(false)}
				/>
			)}
		</>
	)
}

const lines = (text: string) =>
	text
		.split(/[\s,]+/)
		.map((l) => l.trim())
		.filter(Boolean)

function Change({
	s,
	refresh,
	network,
	closed,
	close,
}: TabProps & { network: Network; closed: boolean; close: () => void }) {
	const [form, setForm] = useState({
		allow: (network.allowOut ?? []).join('\n'),
		deny: (network.denyOut ?? []).join('\n'),
		open: !closed,
	})
	const lost = Object.keys(network.rules ?? {}).length > 0 || !!network.egressProxy
	const submit = async () => {
		await put(`/sandboxes/${s.sandboxID}/network`, {
			allowOut: lines(form.allow),
			denyOut: lines(form.deny),
			...(form.open ? {} : { allow_internet_access: false }),
		})
		toast('The new rules are in force', 'ok')
		await refresh()
	}
	return (
		<FormDialog title="What it may reach" close={close} submit={submit} action="Apply">
			{lost && (
				<div class="notice warn">
					Header rules and the proxy of this sandbox are cleared by a change here.
				</div>
			)}
			<label class="check">
				<input
					type="checkbox"
					checked={form.open}
					onChange={(e) => setForm({ ...form, open: e.currentTarget.checked })}
				/>{' '}
				The internet, except what is denied
			</label>
			<Field
				label="Allowed"
				hint="Addresses, ranges, names (*.example.com), one per line; :PORT limits an entry."
			>
				{(id) => (
					<textarea
						id={id}
						class="area mono"
						rows={3}
						placeholder={'pypi.org\n*.pythonhosted.org:443'}
						value={form.allow}
						onInput={(e) => setForm({ ...form, allow: e.currentTarget.value })}
					/>
				)}
			</Field>
			<Field
				label="Denied"
				hint="Addresses and ranges. 0.0.0.0/0 denies everything that is not allowed above."
			>
				{(id) => (
					<textarea
						id={id}
						class="area mono"
						rows={2}
						placeholder="203.0.113.0/24"
						value={form.deny}
						onInput={(e) => setForm({ ...form, deny: e.currentTarget.value })}
					/>
				)}
			</Field>
		</FormDialog>
	)
}

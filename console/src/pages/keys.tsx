// SPDX-License-Identifier: Apache-2.0
// API keys of the team. A key is shown once, when it is made.
import { useState } from 'preact/hooks'
import { del, get, patch, post } from '../lib/api'
import { count, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { isAdmin, mayAct, session } from '../lib/session'
import type { Key } from '../lib/types'
import { confirm, Dialog, FormDialog } from '../ui/dialog'
import { Ago, Button, Card, Empty, Failure, Field, Head, Loading, Menu, Snippet, StateTag } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { toast } from '../ui/toast'

export const maskOf = (k: Key): string => `${k.mask.prefix}${k.mask.maskedValuePrefix}…${k.mask.maskedValueSuffix}`

// base: /api-keys of the own team, or /admin/teams/ID/api-keys
export function KeysCard({ base, title }: { base: string; title?: string }) {
	const got = useData((signal) => get<Key[]>(base, {}, signal), 5000, [base])
	const [dialog, setDialog] = useState<{ kind: 'new' | 'rename' | 'rotate'; key?: Key } | null>(null)
	const [made, setMade] = useState<Key | null>(null)
	const off = !mayAct.value
	const columns: Column<Key>[] = [
		{
			name: 'Name',
			width: 'minmax(110px, 1fr)',
			sort: (k) => k.name,
			cell: (k) => <b class="clip row">{visible(k.name)}</b>,
		},
		{ name: 'Key', width: '130px', cell: (k) => <code class="muted">{maskOf(k)}</code> },
		{
			name: 'Rights',
			width: '110px',
			sort: (k) => Number(k.admin),
			cell: (k) =>
				k.admin ? (
					<StateTag state="admin" />
				) : (
					<span class="muted">{visible(k.role ?? 'member')}</span>
				),
		},
		{
			name: 'Last used',
			width: '96px',
			sort: (k) => k.lastUsed ?? '',
			cell: (k) => (k.lastUsed ? <Ago time={k.lastUsed} /> : <span class="muted">never</span>),
		},
		{
			name: 'CPU today',
			width: '96px',
			right: true,
			sort: (k) => k.usage?.cpuSecondsToday ?? 0,
			cell: (k) => `${count(k.usage?.cpuSecondsToday)} s`,
		},
		{ name: 'Created', width: '92px', sort: (k) => k.createdAt, cell: (k) => <Ago time={k.createdAt} /> },
		{
			name: 'Expires',
			width: '92px',
			cell: (k) => (k.expiresAt ? <Ago time={k.expiresAt} /> : <span class="muted">never</span>),
		},
		{
			name: 'Actions',
			hidden: true,
			width: '34px',
			cell: (k) => (
				<Menu
					small
					label={`Actions of key ${visible(k.name)}`}
					items={[
						{
							name: 'Rename …',
							icon: 'edit',
							disabled: off,
							act: () => setDialog({ kind: 'rename', key: k }),
						},
						{
							name: 'Rotate …',
							icon: 'refresh',
							disabled: off,
							act: () => setDialog({ kind: 'rotate', key: k }),
						},
						{
							name: 'Revoke …',
							icon: 'trash',
							danger: true,
							disabled: off,
							act: () =>
								confirm({
									title: `Revoke ${visible(k.name)}?`,
									text: `Programs that use ${maskOf(k)} are refused from the next request on.${k.id === session.value?.key?.id ? ' It is the key of this session: you are logged out.' : ''}`,
									action: 'Revoke',
									act: async () => {
										await del(`${base}/${k.id}`)
										toast('Revoked', 'ok')
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
			{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
			{!got.data && !got.error && <Loading />}
			{got.data && (
				<Card
					plain
					title={title ?? 'Keys of your team'}
					tools={
						!off && (
							<Button
								icon="plus"
								kind="primary"
								onClick={() => setDialog({ kind: 'new' })}
							>
								New key
							</Button>
						)
					}
				>
					<Table
						label="API keys"
						columns={columns}
						rows={got.data}
						id={(k) => k.id}
						first={{ column: 'Created' }}
						empty={<Empty icon="key" title="No keys" />}
					/>
				</Card>
			)}
			{dialog?.kind === 'new' && (
				<NewKey base={base} close={() => setDialog(null)} made={setMade} done={got.refresh} />
			)}
			{dialog?.kind === 'rename' && (
				<Rename base={base} of={dialog.key!} close={() => setDialog(null)} done={got.refresh} />
			)}
			{dialog?.kind === 'rotate' && (
				<Rotate
					base={base}
					of={dialog.key!}
					close={() => setDialog(null)}
					made={setMade}
					done={got.refresh}
				/>
			)}
			{made && (
				<Dialog title="Your new key" close={() => setMade(null)}>
					<div>
						<h2>Your new key</h2>
						<p class="muted">
							It is shown this once. The server keeps only its hash.
						</p>
						<Snippet text={made.key!} />
						<footer>
							<Button kind="primary" onClick={() => setMade(null)}>
								I have copied it
							</Button>
						</footer>
					</div>
				</Dialog>
			)}
		</>
	)
}

type Done = { close: () => void; done: () => Promise<void>; base: string }

function NewKey({ base, close, made, done }: Done & { made: (k: Key) => void }) {
	const [name, setName] = useState('')
	const [admin, setAdmin] = useState(false)
	const submit = async () => {
		made(await post<Key>(base, { name, ...(admin ? { admin } : {}) }))
		await done()
	}
	return (
		<FormDialog title="New key" close={close} submit={submit} action="Create">
			<Field label="Name">
				{(id) => (
					<input
						id={id}
						class="input"
						required
						maxLength={64}
						placeholder="ci"
						value={name}
						onInput={(e) => setName(e.currentTarget.value)}
						autoFocus
					/>
				)}
			</Field>
			{isAdmin.value && (
				<label class="check">
					<input
						type="checkbox"
						checked={admin}
						onChange={(e) => setAdmin(e.currentTarget.checked)}
					/>{' '}
					Admin: may do everything on this server
				</label>
			)}
		</FormDialog>
	)
}

function Rename({ base, of, close, done }: Done & { of: Key }) {
	const [name, setName] = useState(of.name)
	const submit = async () => {
		await patch(`${base}/${of.id}`, { name })
		await done()
	}
	return (
		<FormDialog title="Rename the key" close={close} submit={submit} action="Rename">
			<Field label="Name">
				{(id) => (
					<input
						id={id}
						class="input"
						required
						maxLength={64}
						value={name}
						onInput={(e) => setName(e.currentTarget.value)}
						autoFocus
					/>
				)}
			</Field>
		</FormDialog>
	)
}

function Rotate({ base, of, close, made, done }: Done & { of: Key; made: (k: Key) => void }) {
	const [hours, setHours] = useState('24')
	const submit = async () => {
		made(await post<Key>(`${base}/${of.id}/rotate`, { grace_s: Math.round(Number(hours) * 3600) }))
		await done()
	}
	return (
		<FormDialog title={`Rotate ${visible(of.name)}`} close={close} submit={submit} action="Rotate">
			<p class="muted">
				Makes a new key with the same name and rights. The old one stays valid for the time
				below.
			</p>
			<Field label="Hours until the old key ends">
				{(id) => (
					<input
						id={id}
						class="input"
						type="number"
						min="0"
						max="168"
						required
						value={hours}
						onInput={(e) => setHours(e.currentTarget.value)}
					/>
				)}
			</Field>
		</FormDialog>
	)
}

export function Keys() {
	return (
		<>
			<Head
				title="API keys"
				text="Programs use them to act for your team. Sandboxes belong to the team, not to a key."
			/>
			<KeysCard base="/api-keys" />
		</>
	)
}

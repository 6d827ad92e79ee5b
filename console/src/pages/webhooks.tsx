// SPDX-License-Identifier: Apache-2.0
// Webhooks of the team, and how their deliveries went.
import { useState } from 'preact/hooks'
import { del, get, patch, post } from '../lib/api'
import { count, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { mayAct } from '../lib/session'
import type { Webhook } from '../lib/types'
import { confirm, Dialog, FormDialog } from '../ui/dialog'
import { Ago, Button, Card, Empty, Failure, Field, Head, Loading, Menu, Snippet, StateTag } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { attempt } from '../ui/toast'

type Delivery = {
	id: string
	eventType: string
	state: string
	outcome: string | null
	statusCode: number | null
	attempts: number
	createdAt: string
	lastAttemptAt: string | null
	error: string | null
}

const LIFE = 'sandbox.lifecycle.'
const EVENTS = ['created', 'updated', 'checkpointed', 'paused', 'resumed', 'killed']
	.map((e) => LIFE + e)
	.concat('sandbox.resource.threshold')
const short = (e: string) => e.split('.').pop()!

export function Webhooks() {
	const got = useData((signal) => get<Webhook[]>('/events/webhooks', {}, signal), 4000, [])
	const [edit, setEdit] = useState<Webhook | 'new' | null>(null)
	const [shown, setShown] = useState<Webhook | null>(null)
	const [secret, setSecret] = useState<string | null>(null)
	const off = !mayAct.value
	const columns: Column<Webhook>[] = [
		{
			name: 'Name',
			width: 'minmax(110px, 1fr)',
			sort: (w) => w.name,
			cell: (w) => (
				<button class="link clip" onClick={() => setShown(w)}>
					{visible(w.name)}
				</button>
			),
		},
		{
			name: 'Address',
			width: 'minmax(180px, 2fr)',
			cell: (w) => <div class="mono clip">{visible(w.url)}</div>,
		},
		{
			name: 'Events',
			width: 'minmax(120px, 1fr)',
			cell: (w) => <div class="clip">{w.events.map(short).map(visible).join(', ')}</div>,
		},
		{ name: 'State', width: '90px', cell: (w) => <StateTag state={w.enabled ? 'active' : 'off'} /> },
		{ name: 'Waiting', width: '80px', right: true, sort: (w) => w.waiting, cell: (w) => count(w.waiting) },
		{
			name: 'Actions',
			hidden: true,
			width: '34px',
			cell: (w) => (
				<Menu
					small
					label={`Actions of ${visible(w.name)}`}
					items={[
						{ name: 'Deliveries', icon: 'clock', act: () => setShown(w) },
						{
							name: 'Send a test',
							icon: 'play',
							disabled: off,
							act: () =>
								void attempt(
									() => post(`/events/webhooks/${w.id}/test`),
									'A test event is on its way',
								).then(() => setShown(w)),
						},
						{
							name: 'Change …',
							icon: 'edit',
							disabled: off,
							act: () => setEdit(w),
						},
						{
							name: w.enabled ? 'Switch off' : 'Switch on',
							icon: 'pause',
							disabled: off,
							act: () =>
								void attempt(() =>
									patch(`/events/webhooks/${w.id}`, {
										enabled: !w.enabled,
									}),
								).then(got.refresh),
						},
						{
							name: 'Delete …',
							icon: 'trash',
							danger: true,
							disabled: off,
							act: () =>
								confirm({
									title: `Delete ${visible(w.name)}?`,
									text: w.waiting
										? `${count(w.waiting)} events wait for it and are dropped.`
										: 'Nothing waits for it.',
									action: 'Delete',
									act: async () => {
										await del(`/events/webhooks/${w.id}`)
										if (shown?.id === w.id) setShown(null)
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
			<Head title="Webhooks" text="Events of sandboxes, sent to your programs and signed.">
				{!off && (
					<Button icon="plus" kind="primary" onClick={() => setEdit('new')}>
						New webhook
					</Button>
				)}
			</Head>
			{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
			{!got.data && !got.error && <Loading />}
			{got.data && (
				<Card plain>
					<Table
						label="Webhooks"
						columns={columns}
						rows={got.data}
						id={(w) => w.id}
						empty={
							<Empty
								icon="hook"
								title="No webhooks"
								text="Add one here, or by:"
								snippet="atoll webhook add https://example.com/hook --name bell --events created,killed"
							/>
						}
					/>
				</Card>
			)}
			{shown && <Deliveries of={shown} close={() => setShown(null)} />}
			{edit && (
				<Edit
					of={edit === 'new' ? null : edit}
					close={() => setEdit(null)}
					done={got.refresh}
					secret={setSecret}
				/>
			)}
			{secret && (
				<Dialog title="Secret of the signatures" close={() => setSecret(null)}>
					<div>
						<h2>Secret of the signatures</h2>
						<p class="muted">
							Your program checks deliveries with it. It is shown this once.
						</p>
						<Snippet text={secret} />
						<footer>
							<Button kind="primary" onClick={() => setSecret(null)}>
								I have copied it
							</Button>
						</footer>
					</div>
				</Dialog>
			)}
		</>
	)
}

function Deliveries({ of, close }: { of: Webhook; close: () => void }) {
	const got = useData(
		(signal) => get<Delivery[]>(`/events/webhooks/${of.id}/deliveries`, { limit: 100 }, signal),
		2000,
		[of.id],
	)
	const columns: Column<Delivery>[] = [
		{ name: 'Event', width: 'minmax(110px, 1fr)', cell: (d) => visible(short(d.eventType)) },
		{ name: 'Outcome', width: '110px', cell: (d) => <StateTag state={d.outcome ?? d.state} /> },
		{
			name: 'Why',
			width: 'minmax(140px, 2fr)',
			cell: (d) => <div class="clip">{visible(d.error ?? '') || '–'}</div>,
		},
		{ name: 'Status', width: '70px', right: true, cell: (d) => d.statusCode ?? '–' },
		{ name: 'Attempts', width: '76px', right: true, cell: (d) => d.attempts },
		{
			name: 'Last',
			width: '92px',
			right: true,
			cell: (d) => <Ago time={d.lastAttemptAt ?? d.createdAt} />,
		},
	]
	return (
		<Card
			plain
			title={`Deliveries of ${visible(of.name)}`}
			tools={<Button small icon="close" kind="quiet" label="Close" onClick={close} />}
		>
			{got.error && <Failure error={got.error} />}
			{!got.data && !got.error && <Loading />}
			{got.data && (
				<Table
					label="Deliveries"
					columns={columns}
					rows={got.data}
					id={(d) => d.id}
					empty={
						<Empty
							icon="clock"
							title="Nothing was sent yet"
							text="Send a test to see how it goes."
						/>
					}
				/>
			)}
		</Card>
	)
}

function Edit({
	of,
	close,
	done,
	secret,
}: {
	of: Webhook | null
	close: () => void
	done: () => Promise<void>
	secret: (s: string) => void
}) {
	const [form, setForm] = useState({
		name: of?.name ?? '',
		url: of?.url ?? '',
		events: of?.events ?? [`${LIFE}created`, `${LIFE}killed`],
	})
	const toggle = (e: string) =>
		setForm({
			...form,
			events: form.events.includes(e) ? form.events.filter((x) => x !== e) : [...form.events, e],
		})
	const submit = async () => {
		if (of) await patch(`/events/webhooks/${of.id}`, form)
		else {
			const made = await post<Webhook>('/events/webhooks', form)
			if (made.signatureSecret) secret(made.signatureSecret)
		}
		await done()
	}
	return (
		<FormDialog
			title={of ? 'Change the webhook' : 'New webhook'}
			close={close}
			submit={submit}
			action={of ? 'Apply' : 'Add'}
			ready={form.events.length > 0}
		>
			<Field label="Name">
				{(id) => (
					<input
						id={id}
						class="input"
						required
						placeholder="bell"
						value={form.name}
						onInput={(e) => setForm({ ...form, name: e.currentTarget.value })}
						autoFocus
					/>
				)}
			</Field>
			<Field label="Address">
				{(id) => (
					<input
						id={id}
						class="input mono"
						type="url"
						required
						placeholder="https://example.com/hook"
						value={form.url}
						onInput={(e) => setForm({ ...form, url: e.currentTarget.value })}
					/>
				)}
			</Field>
			<fieldset class="events">
				<legend class="label">Events</legend>
				{EVENTS.map((e) => (
					<label class="check" key={e}>
						<input
							type="checkbox"
							checked={form.events.includes(e)}
							onChange={() => toggle(e)}
						/>{' '}
						{short(e)}
					</label>
				))}
			</fieldset>
		</FormDialog>
	)
}

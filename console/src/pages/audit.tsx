// SPDX-License-Identifier: Apache-2.0
// The audit trail: search it, look at records, verify the chain.
import { useEffect, useState } from 'preact/hooks'
import { messageFrom, send } from '../lib/api'
import { verify, type Verdict } from '../lib/chain'
import { count, stamp, visible } from '../lib/format'
import { place, setQuery } from '../lib/router'
import { isAdmin } from '../lib/session'
import type { AuditRecord } from '../lib/types'
import { Button, Card, Empty, Failure, Head, Link, Loading, Search, Select, Snippet } from '../ui/kit'

const PAGE = 100,
	CHECKED_AT_ONCE = 5000
const KINDS = [
	'code.run',
	'code.done',
	'command.start',
	'command.end',
	'file.read',
	'file.write',
	'file.remove',
	'sandbox.create',
	'sandbox.kill',
	'sandbox.pause',
	'sandbox.resume',
	'sandbox.fork',
	'sandbox.snapshot',
	'sandbox.limits',
	'sandbox.network',
	'sandbox.started',
	'sandbox.ended',
	'key.create',
	'key.delete',
	'auth.failure',
	'quota.refused',
	'violation.syscall',
	'violation.egress',
	'agent.execution',
	'agent.violation',
	'api.call',
]

type Found = { records: { record: AuditRecord; line: string }[]; next: string | null }

async function ask(
	at: string,
	query: Record<string, string | number | undefined>,
	signal?: AbortSignal,
): Promise<Found> {
	const res = await send('GET', at, undefined, { query, signal })
	const lines = (await res.text()).split('\n').filter(Boolean)
	return {
		records: lines.map((line) => ({ line, record: JSON.parse(line) as AuditRecord })),
		next: res.headers.get('x-next-token'),
	}
}

export function Audit() {
	const query = place.value.query
	const every = isAdmin.value && query.get('all') !== 'no'
	const at = every ? '/admin/audit' : '/audit'
	const filter = {
		kind: query.get('kind') ?? '',
		sandbox: query.get('sandbox') ?? '',
		session: query.get('session') ?? '',
		request: query.get('request') ?? '',
		key: query.get('key') ?? '',
	}
	const [found, setFound] = useState<Found | null>(null)
	const [error, setError] = useState<Error | null>(null)
	const [turn, setTurn] = useState(0)
	const [open, setOpen] = useState<number | null>(null)
	const filters = JSON.stringify(filter)

	useEffect(() => {
		const abort = new AbortController()
		const timer = setTimeout(() => {
			ask(at, { ...filter, last: PAGE }, abort.signal)
				.then((got) => {
					setFound({ ...got, records: got.records.reverse() })
					setError(null)
				})
				.catch((err) => !abort.signal.aborted && setError(err as Error))
		}, 200)
		return () => {
			clearTimeout(timer)
			abort.abort()
		}
	}, [at, filters, turn])

	const older = async () => {
		try {
			const got = await ask(at, { ...filter, last: PAGE, before: found!.next! })
			setFound({ records: [...found!.records, ...got.records.reverse()], next: got.next })
		} catch (err) {
			setError(err as Error)
		}
	}
	const word = filter.sandbox || filter.request || filter.session || filter.key
	const search = (text: string) => {
		const clear = { sandbox: '', request: '', session: '', key: '' }
		if (/^[0-9a-f-]{36}$/.test(text)) setQuery({ ...clear, key: text })
		else if (/^ses_/.test(text)) setQuery({ ...clear, session: text })
		else if (/^[0-9a-f]{16}$/.test(text)) setQuery({ ...clear, request: text })
		else setQuery({ ...clear, sandbox: text.trim() })
	}
	return (
		<>
			<Head
				title="Audit trail"
				text="Who did what, when, and how it ended. Records are chained, so that nobody changes them unnoticed."
			>
				<Button icon="refresh" label="Refresh" onClick={() => setTurn(turn + 1)} />
			</Head>
			<Verify at={at} every={every} />
			<div class="tools" role="search">
				<Search value={word} set={search} label="Id of a sandbox, session, request or key" />
				<Select
					label="Kind"
					value={filter.kind}
					set={(kind) => setQuery({ kind })}
					options={[
						['', 'All kinds'],
						...KINDS.map((k) => [k, k] as const),
						...(filter.kind && !KINDS.includes(filter.kind)
							? [[filter.kind, visible(filter.kind)] as const]
							: []),
					]}
				/>
				{isAdmin.value && (
					<label class="check">
						<input
							type="checkbox"
							checked={every}
							onChange={(e) =>
								setQuery({ all: e.currentTarget.checked ? '' : 'no' })
							}
						/>{' '}
						all teams and the server
					</label>
				)}
			</div>
			{error && <Failure error={error} again={() => setTurn(turn + 1)} />}
			{!found && !error && <Loading />}
			{found && (
				<Card plain>
					{found.records.length === 0 && (
						<Empty
							icon="shield"
							title="No records"
							text="Change the filters, or see all of them:"
							snippet="atoll audit tail"
						/>
					)}
					{found.records.length > 0 && (
						<div class="table" role="table" aria-label="Audit records">
							<div role="rowgroup">
								<div class="tr th record" role="row">
									{[
										'Number',
										'Time',
										'Kind',
										'Sandbox',
										'What',
									].map((n) => (
										<span role="columnheader" key={n}>
											{n}
										</span>
									))}
								</div>
							</div>
							<div class="tbody" role="rowgroup">
								{found.records.map(({ record: r, line }) => (
									<Record
										key={r.seq}
										r={r}
										line={line}
										open={open === r.seq}
										toggle={() =>
											setOpen(
												open === r.seq
													? null
													: r.seq,
											)
										}
									/>
								))}
							</div>
						</div>
					)}
					{found.next && (
						<div class="more">
							<Button onClick={() => void older()}>Older records</Button>
						</div>
					)}
				</Card>
			)}
		</>
	)
}

function Record({ r, line, open, toggle }: { r: AuditRecord; line: string; open: boolean; toggle: () => void }) {
	const words = Object.entries(r.fields)
		.filter(([key]) => !/sha256/i.test(key))
		.map(([key, value]) => `${key}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
	const bad = r.fields.outcome === 'failed' || r.kind.startsWith('violation.') || r.kind === 'auth.failure'
	return (
		<>
			<div class="tr record" role="row">
				<span role="cell" class="num">
					<button
						class="link num"
						aria-expanded={open}
						onClick={toggle}
						aria-label={`Record ${r.seq}`}
					>
						{r.seq}
					</button>
				</span>
				<span role="cell" class="num nowrap">
					{stamp(r.time)}
				</span>
				<span role="cell" class={`mono clip ${bad ? 'error' : ''}`}>
					{visible(r.kind)}
				</span>
				<span role="cell" class="clip">
					{r.sandbox ? (
						<Link to={`/sandboxes/${r.sandbox}`} class="mono">
							{r.sandbox}
						</Link>
					) : (
						<span class="muted">–</span>
					)}
				</span>
				<span role="cell" class="clip muted" title={visible(words.join(' '))}>
					{visible(words.join(' '))}
				</span>
			</div>
			{open && (
				<div class="opened" role="row">
					<div role="cell">
						<Snippet
							text={JSON.stringify(JSON.parse(line), null, 2)
								.split('\n')
								.map(visible)
								.join('\n')}
						/>
					</div>
				</div>
			)}
		</>
	)
}

// Fetches all records and checks them here, so that the page does not have to believe the server.
function Verify({ at, every }: { at: string; every: boolean }) {
	const [busy, setBusy] = useState(false)
	const [verdict, setVerdict] = useState<Verdict | null>(null)
	const [error, setError] = useState<string | null>(null)
	const run = async () => {
		setBusy(true)
		setError(null)
		setVerdict(null)
		try {
			let after: string | null = '0'
			let state: Awaited<ReturnType<typeof verify>> = { verdict: { checked: 0, links: 0, wrong: [] } }
			while (after !== null) {
				const res: Response = await send('GET', at, undefined, {
					query: { after, limit: CHECKED_AT_ONCE },
				})
				const lines = (await res.text()).split('\n').filter(Boolean)
				state = await verify(lines, state.verdict, state.last)
				setVerdict(state.verdict)
				after = res.headers.get('x-next-token')
			}
		} catch (err) {
			setError(messageFrom(err))
		}
		setBusy(false)
	}
	const good = verdict && verdict.wrong.length === 0
	return (
		<Card>
			<div class="row wrap">
				<Button icon="shield" disabled={busy} onClick={() => void run()}>
					{busy && <span class="spin" />}Verify
				</Button>
				<span
					class="grow muted"
					role="status"
					data-verdict={busy ? 'busy' : verdict ? (good ? 'good' : 'bad') : 'none'}
				>
					{!verdict &&
						!busy &&
						(every
							? 'Fetches all records and checks every hash and link of the chain in this page.'
							: "Checks the hashes of your team's records in this page. The chain runs through the records of all teams.")}
					{verdict && (
						<span class={good ? 'good' : 'error'}>
							{count(verdict.checked)} records, {count(verdict.links)} links:{' '}
							{good
								? 'all as they were written.'
								: `${count(verdict.wrong.length)} wrong; the first is record ${verdict.wrong[0]!.seq}: ${verdict.wrong[0]!.why}.`}
						</span>
					)}
				</span>
			</div>
			{error && <p class="error">{error}</p>}
			{good && !busy && every && verdict.head && (
				<div class="head-line small muted">
					Head: <code>{verdict.head}</code> Keep it elsewhere:{' '}
					<code>atoll audit verify --expect</code> then finds a trail that was cut or
					rewritten. The seals can be checked with the server's key only:{' '}
					<code>sudo atoll audit verify</code>.
				</div>
			)}
		</Card>
	)
}

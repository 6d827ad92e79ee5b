// SPDX-License-Identifier: Apache-2.0
// How the server is: what it holds, how much more fits, how fast it creates, and what needs attention.
import { all, get, send } from '../lib/api'
import { bytes, count, percent, plural, seconds, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { parse, quantile, sum, type Samples } from '../lib/prometheus'
import { isAdmin, mayAct, session } from '../lib/session'
import type { Sandbox } from '../lib/types'
import { Chart } from '../ui/chart'
import { Ago, Bar, Card, Empty, Failure, Head, Link, LinkButton, Loading, StateTag, Tile } from '../ui/kit'

type Capacity = {
	now: {
		sandboxes: { running: number; paused: number; max: number }
		memory: { usedBytes: number; leftBytes: number; limitBytes: number }
		cpu: { usedCores: number; cores: number }
		processes: { used: number; max: number }
		disk: { poolBytes: number; freeBytes: number; growBytes: number }
		pool: { ready: number; hits: number; misses: number }
	}
	fits: { more: number; bound: string; moreAtFullUse: number; boundAtFullUse: string }
}
type Point = { timestamp: string; timestampUnix: number; concurrentSandboxes: number; sandboxStartRate: number }
type Event = {
	id: string
	type: string
	timestamp: string
	sandbox_id: string
	event_label: string
	event_data: Record<string, unknown>
}

const DAY_S = 86400,
	WEEK_S = 7 * DAY_S
const BOUNDS: Record<string, string> = { max_sandboxes: 'the setting max_sandboxes' }

export function Overview() {
	const me = session.value!
	const admin = isAdmin.value
	const events = useData((signal) => get<Event[]>('/events/sandboxes', { limit: 12 }, signal), 5000, [])
	const points = useData(
		(signal) =>
			get<Point[]>(
				`/teams/${me.team.id}/metrics`,
				{ start: Math.floor(Date.now() / 1000) - DAY_S, end: Math.floor(Date.now() / 1000) },
				signal,
			),
		30000,
		[],
	)
	return (
		<>
			<Head
				title="Overview"
				text={admin ? 'All teams of this server.' : `Sandboxes of ${me.team.name}.`}
			>
				{mayAct.value && (
					<LinkButton to="/sandboxes?new=1" icon="plus" kind="primary">
						New sandbox
					</LinkButton>
				)}
			</Head>
			{admin ? <Server events={events.data ?? []} /> : <OfTeam />}
			<div class="grid two">
				<Card title="Sandboxes at once, last day" plain>
					{points.data && points.data.length > 1 ? (
						<Chart
							label="Running and paused"
							times={points.data.map((p) => p.timestampUnix)}
							series={[
								{
									name: 'sandboxes',
									values: points.data.map(
										(p) => p.concurrentSandboxes,
									),
									color: 1,
									fill: true,
								},
							]}
							format={count}
							height={200}
						/>
					) : (
						<Empty
							icon="overview"
							title="Nothing to draw yet"
							text="The chart begins with the second minute in which a sandbox runs."
						/>
					)}
				</Card>
				<Card title="What happened" plain>
					{events.error && <Failure error={events.error} />}
					{events.loading && !events.data && <Loading />}
					{events.data?.length === 0 && (
						<Empty
							icon="clock"
							title="No events yet"
							text="Create a sandbox here, or with an SDK:"
							snippet={
								'import { Sandbox } from "e2b"\nconst sandbox = await Sandbox.create()'
							}
						/>
					)}
					{events.data?.map((e) => (
						<div class="tr happened" key={e.id}>
							<StateTag state={labelOf(e)} />
							<Link to={`/sandboxes/${e.sandbox_id}`} class="mono clip">
								{e.sandbox_id}
							</Link>
							<span class="muted clip">{detailOf(e)}</span>
							<span class="muted small">
								<Ago time={e.timestamp} />
							</span>
						</div>
					))}
				</Card>
			</div>
		</>
	)
}

const labelOf = (e: Event) => e.type.split('.').pop() ?? e.type

function detailOf(e: Event): string {
	const data = e.event_data
	if (data.kill_reason) return visible(String(data.kill_reason)).replaceAll('_', ' ')
	if (data.resource) return `${visible(String(data.resource))} at ${percent(Number(data.percent))}`
	if (data.snapshot_id) return visible(String(data.snapshot_id))
	return ''
}

function OfTeam() {
	const running = useData((signal) => get<Sandbox[]>('/sandboxes', {}, signal), 5000, [])
	const paused = useData(
		(signal) => all<Sandbox>('/v2/sandboxes', { state: 'paused', limit: 100 }, signal),
		10000,
		[],
	)
	const cpus = running.data?.reduce((n, s) => n + s.cpuCount, 0)
	const memory = running.data?.reduce((n, s) => n + s.memoryMB, 0)
	if (running.error) return <Failure error={running.error} again={() => void running.refresh()} />
	return (
		<div class="tiles">
			<Tile name="Running" value={count(running.data?.length)} />
			<Tile name="Paused" value={count(paused.data?.length)} />
			<Tile name="Processors given out" value={count(cpus)} />
			<Tile name="Memory given out" value={memory === undefined ? '–' : bytes(memory * 2 ** 20)} />
		</div>
	)
}

function alarmsOf(c: Capacity, m: Samples, events: Event[]): { text: string; bad?: boolean }[] {
	const found: { text: string; bad?: boolean }[] = []
	const full = (used: number, of: number, what: string) => {
		if (of > 0 && used / of > 0.85)
			found.push({ text: `${what}: ${percent((100 * used) / of)} is used.`, bad: used / of > 0.95 })
	}
	const disk = c.now.disk.poolBytes + c.now.disk.growBytes
	full(c.now.sandboxes.running + c.now.sandboxes.paused, c.now.sandboxes.max, 'Sandboxes (max_sandboxes)')
	full(disk - c.now.disk.freeBytes - c.now.disk.growBytes, disk, 'Storage')
	full(c.now.memory.usedBytes, c.now.memory.usedBytes + c.now.memory.leftBytes, 'Memory')
	if (sum(m, 'atoll_audit_failing') > 0)
		found.push({ text: 'The audit trail cannot be written. The log of the server says why.', bad: true })
	if (sum(m, 'atoll_webhook_dropped_total') > 0)
		found.push({
			text: `${plural(sum(m, 'atoll_webhook_dropped_total'), 'event')} for webhooks dropped because too many wait.`,
		})
	if (sum(m, 'atoll_starts_refused_total') > 0)
		found.push({
			text: `${plural(sum(m, 'atoll_starts_refused_total'), 'start')} refused because too many were waiting.`,
		})
	const expiry = m.find((s) => s.name === 'atoll_tls_certificate_expiry_seconds')?.value
	if (expiry && expiry - Date.now() / 1000 < WEEK_S)
		found.push({ text: 'The TLS certificate expires within a week.', bad: true })
	const near = events.filter((e) => e.type === 'sandbox.resource.threshold')
	if (near.length > 0)
		found.push({ text: `${plural(near.length, 'sandbox')} came near a limit: see what happened.` })
	return found
}

function Server({ events }: { events: Event[] }) {
	const got = useData(
		async (signal) => {
			const [capacity, text] = await Promise.all([
				get<Capacity>('/admin/capacity', { by: 'hour', days: 1 }, signal),
				send('GET', '/metrics', undefined, { signal }).then((res) => res.text()),
			])
			return { capacity, metrics: parse(text) }
		},
		5000,
		[],
	)
	if (got.error && !got.data) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading />
	const { capacity: c, metrics: m } = got.data
	const { now } = c
	const taken = now.pool.hits + now.pool.misses
	const [p50, p99] = [0.5, 0.99].map((q) => quantile(m, 'atoll_sandbox_create_seconds', q))
	const target = sum(m, 'atoll_pool_target')
	const disk = now.disk.poolBytes + now.disk.growBytes
	const diskUsed = disk - now.disk.freeBytes - now.disk.growBytes
	const memory = now.memory.usedBytes + now.memory.leftBytes
	const alarms = alarmsOf(c, m, events)
	return (
		<>
			<div class="tiles six">
				<Tile
					name="Running sandboxes"
					value={count(now.sandboxes.running)}
					unit={`of ${count(now.sandboxes.max)}`}
				>
					<Bar
						part={
							(now.sandboxes.running + now.sandboxes.paused) /
							now.sandboxes.max
						}
						label="Sandboxes of the maximum"
					/>
					<span class="muted small">{count(now.sandboxes.paused)} paused</span>
				</Tile>
				<Tile
					name="Create, request to answer"
					value={p50 === null || p50 === undefined ? '–' : seconds(p50)}
					unit="p50"
				>
					<span class="muted small">
						{p99 === null || p99 === undefined
							? 'no creation yet'
							: `${seconds(p99)} p99 since the start`}
					</span>
				</Tile>
				<Tile
					name="Warm pool"
					value={count(now.pool.ready)}
					unit={`ready, target ${count(target)}`}
				>
					<Bar
						part={target ? now.pool.ready / target : 0}
						label="Warm pool filled"
						good
					/>
					<span class="muted small">
						{taken
							? `${percent((100 * now.pool.hits) / taken)} of ${plural(taken, 'creation')} from it`
							: 'not used yet'}
					</span>
				</Tile>
				<Tile name="Memory" value={bytes(now.memory.usedBytes)} unit={`of ${bytes(memory)}`}>
					<Bar part={now.memory.usedBytes / memory} label="Memory used" />
					<span class="muted small">{bytes(now.memory.limitBytes)} promised</span>
				</Tile>
				<Tile
					name="Processors"
					value={now.cpu.usedCores.toFixed(2)}
					unit={`of ${count(now.cpu.cores)} cores`}
				>
					<Bar part={now.cpu.usedCores / now.cpu.cores} label="Processors used" />
				</Tile>
				<Tile name="Storage" value={bytes(diskUsed)} unit={`of ${bytes(disk)}`}>
					<Bar part={diskUsed / disk} label="Storage used" />
				</Tile>
			</div>
			<div class="grid two">
				<Card title="Room for more">
					<dl class="facts">
						<dt>Like those that run</dt>
						<dd>
							<b>{count(c.fits.more)}</b> more, then{' '}
							{visible(BOUNDS[c.fits.bound] ?? c.fits.bound)} runs out
						</dd>
						<dt>Each at its limits</dt>
						<dd>
							<b>{count(c.fits.moreAtFullUse)}</b> more, then{' '}
							{visible(
								BOUNDS[c.fits.boundAtFullUse] ?? c.fits.boundAtFullUse,
							)}{' '}
							runs out
						</dd>
						<dt>Refused calls</dt>
						<dd>{count(sum(m, 'atoll_refused_calls_total'))} since the start</dd>
						<dt>Wrong keys</dt>
						<dd>{count(sum(m, 'atoll_auth_failures_total'))} since the start</dd>
					</dl>
				</Card>
				<Card title="Alarms">
					{alarms.length === 0 ? (
						<div class="notice ok">Nothing needs attention.</div>
					) : (
						<div class="stack tight">
							{alarms.map((a) => (
								<div
									class={`notice ${a.bad ? 'bad' : 'warn'}`}
									key={a.text}
								>
									{a.text}
								</div>
							))}
						</div>
					)}
					<p class="muted small alarm-hint">
						<code>sudo atoll doctor</code> checks the host,{' '}
						<code>sudo atoll selftest</code> the isolation.
					</p>
				</Card>
			</div>
		</>
	)
}

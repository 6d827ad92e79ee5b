// SPDX-License-Identifier: Apache-2.0
// The limits of a running sandbox, changed while it runs.
import { useState } from 'preact/hooks'
import { get, patch } from '../lib/api'
import { count } from '../lib/format'
import { useData } from '../lib/hooks'
import { mayAct } from '../lib/session'
import type { LimitsAnswer } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { Bar, Button, Card, Failure, Loading } from '../ui/kit'
import { attempt } from '../ui/toast'

const ROWS: [string, string, string][] = [
	['memoryMB', 'Memory', 'MiB; beyond it the largest process is killed'],
	['swapMB', 'Swap', 'MiB on top of the memory'],
	['cpus', 'Processors', 'a share of time; 0.5 is half a core'],
	['processes', 'Processes', 'and threads'],
	['diskMB', 'Disk', 'MiB'],
	['ioMBps', 'Disk rate', 'MB per second, reads and writes each'],
	['iops', 'Disk operations', 'per second'],
	['egressMB', 'Sent in its life', 'MB; beyond it the network is refused'],
	['egressKBps', 'Sending rate', 'kB per second'],
]

export function LimitsTab({ s, refresh }: TabProps) {
	const got = useData((signal) => get<LimitsAnswer>(`/sandboxes/${s.sandboxID}/limits`, {}, signal), 3000, [
		s.sandboxID,
	])
	const [changes, setChanges] = useState<Record<string, string>>({})
	const [busy, setBusy] = useState(false)
	if (got.error) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading />
	const { limits, maxima, used } = got.data
	const off = !mayAct.value || s.state !== 'running'
	const dirty = Object.keys(changes).length > 0
	const submit = async (e: Event) => {
		e.preventDefault()
		const body = Object.fromEntries(
			Object.entries(changes).map(([key, text]) => [key, text.trim() === '' ? null : Number(text)]),
		)
		setBusy(true)
		const good = await attempt(
			() => patch(`/sandboxes/${s.sandboxID}/limits`, body),
			'The new limits are in force',
		)
		if (good) setChanges({})
		setBusy(false)
		await Promise.all([got.refresh(), refresh()])
	}
	return (
		<form onSubmit={submit}>
			<Card
				plain
				title="Limits"
				tools={
					<div class="tools">
						<Button disabled={!dirty} onClick={() => setChanges({})}>
							Undo
						</Button>
						<Button type="submit" kind="primary" disabled={!dirty || off || busy}>
							{busy && <span class="spin" />}Apply
						</Button>
					</div>
				}
			>
				<div class="table">
					{ROWS.map(([key, name, hint]) => {
						const limit = limits[key] ?? null,
							most = maxima?.[key] ?? null,
							use = used?.[key]
						return (
							<div class="tr limit" key={key}>
								<div>
									<label for={`limit-${key}`}>{name}</label>
									<div class="muted small">{hint}</div>
								</div>
								<input
									id={`limit-${key}`}
									class="input num"
									inputMode="decimal"
									disabled={off}
									placeholder={
										limit === null
											? 'no limit'
											: 'the default'
									}
									value={
										changes[key] ??
										(limit === null ? '' : String(limit))
									}
									onInput={(e) =>
										setChanges({
											...changes,
											[key]: e.currentTarget.value,
										})
									}
								/>
								<span class="muted small wide-only">
									{most === null
										? 'no maximum'
										: `at most ${count(most)}`}
								</span>
								<span class="wide-only">
									{use !== undefined && limit ? (
										<span class="gauge small num">
											<Bar
												part={use / limit}
												label={`${name} used`}
											/>{' '}
											{count(use)} used
										</span>
									) : null}
								</span>
							</div>
						)
					})}
				</div>
			</Card>
			{!!used?.memoryLimitKills && (
				<p class="notice warn limit-note">
					{count(used.memoryLimitKills)} processes were killed at the memory limit. Raise
					it, or let the program use less.
				</p>
			)}
		</form>
	)
}

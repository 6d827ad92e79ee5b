// SPDX-License-Identifier: Apache-2.0
// The log of a sandbox, followed while it is shown.
import { useEffect, useRef, useState } from 'preact/hooks'
import { get } from '../lib/api'
import { clock, stamp, visible } from '../lib/format'
import type { LogEntry } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { Button, Card, Empty, Failure, Loading, Search, Select } from '../ui/kit'

const PAGE = 500,
	KEPT = 3000,
	FOLLOW_MS = 2000

export function Logs({ s }: TabProps) {
	const [level, setLevel] = useState<'' | 'info' | 'warn' | 'error'>('')
	const [search, setSearch] = useState('')
	const [kind, setKind] = useState('')
	const [logs, setLogs] = useState<LogEntry[] | null>(null)
	const [error, setError] = useState<Error | null>(null)
	const [older, setOlder] = useState(true)
	const at = `/v2/sandboxes/${s.sandboxID}/logs`
	const bottom = useRef<HTMLDivElement>(null)

	useEffect(() => {
		const abort = new AbortController()
		let timer = 0,
			cursor = 0
		setLogs(null)
		const query = { level, search, limit: PAGE }
		const follow = async () => {
			try {
				if (!document.hidden) {
					const got = await get<{ logs: LogEntry[] }>(
						at,
						{ ...query, direction: 'forward', cursor },
						abort.signal,
					)
					if (got.logs.length > 0) {
						cursor = Date.parse(got.logs[got.logs.length - 1]!.timestamp) + 1
						setLogs((old) => [...(old ?? []), ...got.logs].slice(-KEPT))
					}
					setError(null)
				}
			} catch (err) {
				if (abort.signal.aborted) return
				setError(err as Error)
			}
			timer = window.setTimeout(follow, FOLLOW_MS)
		}
		get<{ logs: LogEntry[] }>(at, { ...query, direction: 'backward' }, abort.signal)
			.then((got) => {
				const all = got.logs.reverse()
				cursor =
					all.length > 0
						? Date.parse(all[all.length - 1]!.timestamp) + 1
						: Date.now() - 60000
				setLogs(all)
				setOlder(all.length === PAGE)
				setError(null)
				timer = window.setTimeout(follow, FOLLOW_MS)
			})
			.catch((err) => !abort.signal.aborted && setError(err as Error))
		return () => {
			abort.abort()
			clearTimeout(timer)
		}
	}, [s.sandboxID, level, search])

	const more = async () => {
		const got = await get<{ logs: LogEntry[] }>(at, {
			level,
			search,
			limit: PAGE,
			direction: 'backward',
			cursor: Date.parse(logs![0]!.timestamp),
		})
		setLogs([...got.logs.reverse(), ...logs!])
		setOlder(got.logs.length === PAGE)
	}
	const shown = (logs ?? []).filter((l) => !kind || l.fields.type === kind)
	return (
		<Card
			plain
			title="Log"
			tools={
				<div class="tools">
					<Search value={search} set={setSearch} label="Search the log" />
					<Select
						label="Kind"
						value={kind}
						set={setKind}
						options={[
							['', 'All kinds'],
							['lifecycle', 'Lifecycle'],
							['request', 'Requests'],
							['process', 'Processes'],
							['security', 'Refusals'],
						]}
					/>
					<Select
						label="Level"
						value={level}
						set={setLevel}
						options={[
							['', 'All levels'],
							['info', 'Info and worse'],
							['warn', 'Warnings'],
							['error', 'Errors'],
						]}
					/>
				</div>
			}
		>
			{error && <Failure error={error} />}
			{!logs && !error && <Loading />}
			{logs && shown.length === 0 && (
				<Empty
					icon="file"
					title="No entries"
					text="Requests, processes and changes of this sandbox appear here as they happen."
				/>
			)}
			<div class="log" role="log" aria-label="Log of the sandbox" tabIndex={0}>
				{older && logs && logs.length > 0 && (
					<div class="line">
						<Button small onClick={() => void more()}>
							Older
						</Button>
					</div>
				)}
				{shown.map((l, i) => (
					<div class={`line ${l.level}`} key={`${l.timestamp}${i}`}>
						<time class="time" title={stamp(l.timestamp)}>
							{clock(l.timestamp)}
						</time>
						<span class="level">{visible(l.level)}</span>
						<span>
							{visible(l.message)}{' '}
							<span class="muted">
								{Object.entries(l.fields ?? {})
									.filter(([key]) => key !== 'type')
									.map(
										([key, value]) =>
											`${visible(key)}=${visible(String(value))}`,
									)
									.join(' ')}
							</span>
						</span>
					</div>
				))}
				<div ref={bottom} />
			</div>
		</Card>
	)
}

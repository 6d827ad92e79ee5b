// SPDX-License-Identifier: Apache-2.0
// Charts of the last 15 minutes, with marks where the sandbox was paused, resumed, saved or changed.
import { get } from '../lib/api'
import { bytes, count, percent } from '../lib/format'
import { useData } from '../lib/hooks'
import type { Metric } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { Chart, type Mark } from '../ui/chart'
import { Card, Empty, Failure, Loading } from '../ui/kit'

type Event = { type: string; timestamp: string }

export function Metrics({ s }: TabProps) {
	const got = useData((signal) => get<Metric[]>(`/sandboxes/${s.sandboxID}/metrics`, {}, signal), 3000, [
		s.sandboxID,
	])
	const events = useData(
		(signal) => get<Event[]>(`/events/sandboxes/${s.sandboxID}`, { limit: 50 }, signal),
		5000,
		[s.sandboxID],
	)
	if (got.error) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading />
	if (got.data.length < 2)
		return (
			<Empty
				icon="overview"
				title="No figures yet"
				text="The first comes a second after the start, then one every five seconds."
			/>
		)
	const times = got.data.map((m) => m.timestampUnix)
	const marks: Mark[] = (events.data ?? [])
		.filter((e) => e.type.startsWith('sandbox.lifecycle.'))
		.map((e) => ({ at: Date.parse(e.timestamp) / 1000, name: e.type.split('.').pop()! }))
	const of = (pick: (m: Metric) => number | undefined) => got.data!.map((m) => pick(m) ?? null)
	const newest = got.data[got.data.length - 1]!
	return (
		<div class="grid two">
			<Card plain>
				<Chart
					label="CPU"
					times={times}
					marks={marks}
					most={100}
					format={percent}
					series={[
						{
							name: `of ${newest.cpuCount} processors`,
							values: of((m) => m.cpuUsedPct),
							color: 1,
							fill: true,
						},
					]}
				/>
			</Card>
			<Card plain>
				<Chart
					label="Memory"
					times={times}
					marks={marks}
					most={newest.memTotal}
					format={bytes}
					series={[
						{ name: 'used', values: of((m) => m.memUsed), color: 2, fill: true },
						{ name: 'page cache', values: of((m) => m.memCache), color: 3 },
					]}
				/>
			</Card>
			<Card plain>
				<Chart
					label="Disk"
					times={times}
					marks={marks}
					most={newest.diskTotal}
					format={bytes}
					series={[{ name: 'used', values: of((m) => m.diskUsed), color: 4, fill: true }]}
				/>
			</Card>
			<Card plain>
				<Chart
					label="Processes and threads"
					times={times}
					marks={marks}
					most={10}
					format={count}
					series={[
						{
							name: 'now',
							values: of((m) => m.processCount),
							color: 3,
							fill: true,
						},
					]}
				/>
			</Card>
		</div>
	)
}

// SPDX-License-Identifier: Apache-2.0
// Saved sandboxes: disk and memory at one moment, from which new ones start.
import { all, del, post } from '../lib/api'
import { visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { go } from '../lib/router'
import { mayAct } from '../lib/session'
import type { Sandbox, Snapshot } from '../lib/types'
import { confirm } from '../ui/dialog'
import { Ago, Button, Card, Empty, Failure, Head, Link, Loading, Menu } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { attempt, toast } from '../ui/toast'

const idOf = (s: Snapshot) => s.snapshotID.split(':')[0]!

function start(s: Snapshot): void {
	void attempt(async () => {
		const made = await post<Sandbox>('/v2/sandboxes', {
			templateID: s.snapshotID,
			timeout: 3600,
			secure: true,
		})
		go(`/sandboxes/${made.sandboxID}`)
	})
}

export function SnapshotTable({ rows, refresh }: { rows: Snapshot[]; refresh: () => Promise<void> }) {
	const off = !mayAct.value
	const columns: Column<Snapshot>[] = [
		{
			name: 'Snapshot',
			width: 'minmax(190px, 1fr)',
			sort: (s) => s.snapshotID,
			cell: (s) => <div class="mono clip">{s.snapshotID}</div>,
		},
		{
			name: 'Names',
			width: 'minmax(110px, 1fr)',
			cell: (s) => (
				<span class="row wrap">
					{s.names?.length ? (
						s.names.map((n) => (
							<span class="tag" key={n}>
								{visible(n)}
							</span>
						))
					) : (
						<span class="muted">–</span>
					)}
				</span>
			),
		},
		{ name: 'Holds', width: '130px', cell: (s) => (s.memory === false ? 'disk' : 'disk and memory') },
		{
			name: 'Of sandbox',
			width: 'minmax(150px, 200px)',
			cell: (s) =>
				s.sandboxID ? (
					<Link to={`/sandboxes/${s.sandboxID}`} class="mono clip row">
						{s.sandboxID}
					</Link>
				) : (
					'–'
				),
		},
		{
			name: 'Taken',
			width: '92px',
			sort: (s) => s.createdAt ?? '',
			cell: (s) => <Ago time={s.createdAt} />,
		},
		{
			name: 'Actions',
			hidden: true,
			width: '170px',
			cell: (s) => (
				<div class="acts">
					<Button small icon="play" disabled={off} onClick={() => start(s)}>
						New sandbox
					</Button>
					<Menu
						small
						label={`Actions of ${s.snapshotID}`}
						items={[
							{
								name: 'Delete …',
								icon: 'trash',
								danger: true,
								disabled: off,
								act: () =>
									confirm({
										title: 'Delete this snapshot?',
										text: `${s.snapshotID} cannot be started any more. Sandboxes made from it stay.`,
										action: 'Delete',
										act: async () => {
											await del(
												`/templates/${encodeURIComponent(idOf(s))}`,
											)
											toast('Deleted', 'ok')
											await refresh()
										},
									}),
							},
						]}
					/>
				</div>
			),
		},
	]
	return (
		<Table
			label="Snapshots"
			columns={columns}
			rows={rows}
			id={(s) => s.snapshotID}
			first={{ column: 'Taken', down: true }}
			empty={
				<Empty
					icon="camera"
					title="No snapshots"
					text="Take one of a running sandbox, on its page or by:"
					snippet="atoll snapshot create SANDBOX --name after-setup"
				/>
			}
		/>
	)
}

export function Snapshots() {
	const got = useData((signal) => all<Snapshot>('/snapshots', { limit: 100 }, signal), 5000, [])
	return (
		<>
			<Head
				title="Snapshots"
				text="Sandboxes as they were at one moment. A new sandbox goes on from there."
			/>
			{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
			{!got.data && !got.error && <Loading />}
			{got.data && (
				<Card plain>
					<SnapshotTable rows={got.data} refresh={got.refresh} />
				</Card>
			)}
		</>
	)
}

// SPDX-License-Identifier: Apache-2.0
// The tree of forks that the sandbox is part of, and its snapshots.
import { all, get } from '../lib/api'
import { visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { href } from '../lib/router'
import type { Sandbox, Snapshot } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { Ago, Card, Empty, Failure, Loading, StateTag } from '../ui/kit'
import { SnapshotTable } from '../pages/snapshots'

// The oldest ancestor that is known; a parent that has ended stands there by its id.
export function rootOf(id: string, parents: Map<string, string>): string {
	const seen = new Set<string>()
	let at = id
	while (parents.has(at) && !seen.has(at)) {
		seen.add(at)
		at = parents.get(at)!
	}
	return at
}

export function Forks({ s }: TabProps) {
	const got = useData(
		async (signal) => {
			const [running, paused, snapshots] = await Promise.all([
				get<Sandbox[]>('/sandboxes', {}, signal),
				all<Sandbox>('/v2/sandboxes', { state: 'paused', limit: 100 }, signal),
				all<Snapshot>('/snapshots', { sandboxID: s.sandboxID, limit: 100 }, signal),
			])
			return { sandboxes: [...running, ...paused], snapshots }
		},
		5000,
		[s.sandboxID],
	)
	if (got.error) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading />
	const byId = new Map(got.data.sandboxes.map((one) => [one.sandboxID, one]))
	const parents = new Map(
		got.data.sandboxes.filter((one) => one.parentID).map((one) => [one.sandboxID, one.parentID!]),
	)
	const children = new Map<string, string[]>()
	for (const [child, parent] of parents) children.set(parent, [...(children.get(parent) ?? []), child])
	const root = rootOf(s.sandboxID, parents)
	const alone = root === s.sandboxID && !children.has(s.sandboxID)
	return (
		<>
			<Card title="Tree of forks">
				{alone ? (
					<Empty
						icon="fork"
						title="No forks"
						text="A fork copies the running sandbox with its processes: use the button above, or:"
						snippet={`atoll fork ${s.sandboxID}`}
					/>
				) : (
					<div class="forks">
						<ul class="top-level">
							<Node
								id={root}
								self={s.sandboxID}
								byId={byId}
								childrenOf={children}
							/>
						</ul>
					</div>
				)}
			</Card>
			<Card title="Snapshots of this sandbox" plain>
				<SnapshotTable rows={got.data.snapshots} refresh={got.refresh} />
			</Card>
		</>
	)
}

function Node({
	id,
	self,
	byId,
	childrenOf,
}: {
	id: string
	self: string
	byId: Map<string, Sandbox>
	childrenOf: Map<string, string[]>
}) {
	const s = byId.get(id)
	return (
		<li>
			<span class={`node ${id === self ? 'self' : ''}`}>
				<a class="mono" href={href(`/sandboxes/${id}/forks`)}>
					{visible(id)}
				</a>
				<StateTag state={s?.state ?? 'gone'} />
				{s && (
					<span class="muted small">
						<Ago time={s.createdAt ?? s.startedAt} />
					</span>
				)}
			</span>
			{childrenOf.has(id) && (
				<ul>
					{childrenOf.get(id)!.map((child) => (
						<Node
							key={child}
							id={child}
							self={self}
							byId={byId}
							childrenOf={childrenOf}
						/>
					))}
				</ul>
			)}
		</li>
	)
}

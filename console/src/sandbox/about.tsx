// SPDX-License-Identifier: Apache-2.0
// Facts about a sandbox, and how to reach it from a program.
import { get } from '../lib/api'
import { bytes, mib, percent, seconds, stamp, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import type { Metric } from '../lib/types'
import type { TabProps } from '../pages/sandbox'
import { Ago, Bar, Card, Link, Snippet, Tags, Tile } from '../ui/kit'

const WHERE: Record<string, string> = {
	'ram': 'frozen in memory',
	'ram+disk': 'frozen, and written to disk: it survives the server and the host',
	'disk': 'on disk',
	'none': 'only the disk is kept; a resume boots',
	'lost': 'lost: it can be resumed without memory only',
}

export function About({ s }: TabProps) {
	const metrics = useData((signal) => get<Metric[]>(`/sandboxes/${s.sandboxID}/metrics`, {}, signal), 3000, [
		s.sandboxID,
	])
	const m = metrics.data?.[metrics.data.length - 1]
	const lived = s.createdAt ? (Date.now() - Date.parse(s.createdAt)) / 1000 : NaN
	return (
		<>
			{s.state === 'running' && (
				<div class="tiles">
					<Tile
						name="CPU"
						value={m ? percent(m.cpuUsedPct) : '–'}
						unit={`of ${s.cpuCount} processors`}
					>
						<Bar part={(m?.cpuUsedPct ?? 0) / 100} label="CPU used" />
					</Tile>
					<Tile name="Memory" value={bytes(m?.memUsed)} unit={`of ${mib(s.memoryMB)}`}>
						<Bar part={m ? m.memUsed / m.memTotal : 0} label="Memory used" />
					</Tile>
					<Tile name="Disk" value={bytes(m?.diskUsed)} unit={`of ${mib(s.diskSizeMB)}`}>
						<Bar part={m ? m.diskUsed / m.diskTotal : 0} label="Disk used" />
					</Tile>
					<Tile name="Processes" value={m?.processCount ?? '–'} />
				</div>
			)}
			<div class="grid two">
				<Card title="Facts">
					<dl class="facts">
						<dt>Template</dt>
						<dd>
							<Link to={`/templates/${s.templateID}`}>
								{visible(s.alias ?? s.templateID)}
							</Link>
						</dd>
						<dt>Created</dt>
						<dd title={stamp(s.createdAt)}>
							{Number.isFinite(lived) ? `${seconds(lived)} ago` : '–'}
						</dd>
						<dt>Started</dt>
						<dd>
							<Ago time={s.startedAt} />
						</dd>
						<dt>Last request</dt>
						<dd>
							<Ago time={s.lastActivityAt} />
						</dd>
						<dt>{s.state === 'paused' ? 'Memory' : 'Ends'}</dt>
						<dd>
							{s.state === 'paused' ? (
								<>
									{WHERE[s.pausedMemory ?? ''] ?? s.pausedMemory}
									{s.pausedMemoryReason && (
										<div class="error small">
											{visible(s.pausedMemoryReason)}
										</div>
									)}
								</>
							) : (
								<>
									<Ago time={s.endAt} />, then it{' '}
									{s.lifecycle?.onTimeout === 'pause'
										? 'pauses'
										: 'is killed'}
								</>
							)}
						</dd>
						<dt>Wakes on traffic</dt>
						<dd>{s.lifecycle?.autoResume ? 'yes' : 'no'}</dd>
						{s.parentID && (
							<>
								<dt>Copy of</dt>
								<dd>
									<Link
										to={`/sandboxes/${s.parentID}`}
										class="mono"
									>
										{s.parentID}
									</Link>
								</dd>
							</>
						)}
						{!!s.volumeMounts?.length && (
							<>
								<dt>Volumes</dt>
								<dd>
									{s.volumeMounts.map((v) => (
										<div key={v.path}>
											{visible(v.name)} at{' '}
											<code>{visible(v.path)}</code>
										</div>
									))}
								</dd>
							</>
						)}
						<dt>Metadata</dt>
						<dd>
							<Tags of={s.metadata} />
						</dd>
					</dl>
				</Card>
				<Card title="Use it from a program">
					<div class="stack tight">
						<span class="label">JavaScript</span>
						<Snippet
							text={`import { Sandbox } from 'e2b'\nconst sandbox = await Sandbox.connect('${s.sandboxID}')\nawait sandbox.commands.run('uname -a')`}
						/>
						<span class="label">Python</span>
						<Snippet
							text={`from e2b import Sandbox\nsandbox = Sandbox.connect("${s.sandboxID}")`}
						/>
						<span class="label">Command line</span>
						<Snippet text={`atoll exec ${s.sandboxID} -- bash`} />
					</div>
				</Card>
			</div>
		</>
	)
}

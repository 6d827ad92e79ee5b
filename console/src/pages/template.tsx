// SPDX-License-Identifier: Apache-2.0
// One template: its builds with their logs as they run, and its tags.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, del, get, patch, post } from '../lib/api'
import { clock, mib, seconds, stamp, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { go } from '../lib/router'
import { mayAct } from '../lib/session'
import type { Build, Template as TemplateInfo } from '../lib/types'
import { confirm, FormDialog } from '../ui/dialog'
import { Ago, Button, Card, Empty, Failure, Field, Head, Link, Loading, Menu, Snippet, StateTag } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { attempt } from '../ui/toast'
import { namesOf } from './create'
import { dropTemplate } from './templates'

type Full = TemplateInfo & { builds?: Build[]; isDefault?: boolean }
type Tag = { tag: string; buildID: string; createdAt: string }
type LogLine = { timestamp: string; message: string; level: string; step?: string }
type Status = { status: string; logEntries: LogLine[]; reason?: { message: string; step?: string } }

async function find(id: string, signal: AbortSignal): Promise<Full> {
	try {
		return await get<Full>(`/templates/${encodeURIComponent(id)}`, {}, signal)
	} catch (err) {
		const of = await get<Full[]>('/default-templates', {}, signal)
		const found = of.find((t) => t.templateID === id || t.aliases?.includes(id))
		if (!found || !(err instanceof ApiError)) throw err
		return found
	}
}

export function Template({ id, build }: { id: string; build?: string }) {
	const got = useData((signal) => find(id, signal), 3000, [id])
	const tags = useData(
		(signal) => get<Tag[]>(`/templates/${encodeURIComponent(id)}/tags`, {}, signal).catch(() => []),
		4000,
		[id],
	)
	const [tagging, setTagging] = useState<string | null>(null)
	if (got.error && !got.data) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading />
	const t = got.data
	const off = !mayAct.value || !!t.isDefault
	const builds = [...(t.builds ?? [])].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
	const shown = build ?? builds[0]?.buildID
	const columns: Column<Build>[] = [
		{
			name: 'Build',
			width: 'minmax(120px, 1fr)',
			cell: (b) => (
				<Link
					to={`/templates/${id}/${b.buildID}`}
					class="mono clip row"
					aria-current={b.buildID === shown ? 'true' : undefined}
				>
					{b.buildID.slice(0, 13)}
				</Link>
			),
		},
		{ name: 'State', width: '100px', cell: (b) => <StateTag state={b.status} /> },
		{
			name: 'Tags',
			width: 'minmax(90px, 1fr)',
			cell: (b) => (
				<span class="row wrap">
					{tags.data
						?.filter((g) => g.buildID === b.buildID)
						.map((g) => (
							<span class="tag" key={g.tag}>
								{visible(g.tag)}
							</span>
						))}
				</span>
			),
		},
		{
			name: 'Took',
			width: '90px',
			right: true,
			cell: (b) =>
				b.finishedAt
					? seconds((Date.parse(b.finishedAt) - Date.parse(b.createdAt)) / 1000)
					: '–',
		},
		{ name: 'Started', width: '92px', right: true, cell: (b) => <Ago time={b.createdAt} /> },
		{
			name: 'Actions',
			hidden: true,
			width: '34px',
			cell: (b) => (
				<Menu
					small
					label={`Actions of build ${b.buildID.slice(0, 8)}`}
					items={[
						{
							name: 'Tag …',
							icon: 'plus',
							disabled: off || b.status !== 'ready',
							act: () => setTagging(b.buildID),
						},
						{
							name: 'Cancel',
							icon: 'stop',
							danger: true,
							disabled: off || !['building', 'waiting'].includes(b.status),
							act: () =>
								void attempt(
									() =>
										del(
											`/templates/${id}/builds/${b.buildID}`,
										),
									'Cancelled',
								).then(got.refresh),
						},
					]}
				/>
			),
		},
	]
	return (
		<>
			<Head title={visible(namesOf(t)[0]!)} text={<span class="mono">{t.templateID}</span>}>
				<StateTag state={t.buildStatus ?? 'ready'} />
				<Button
					icon="plus"
					kind="primary"
					disabled={!mayAct.value}
					onClick={() =>
						go(`/sandboxes?new=1&from=${encodeURIComponent(namesOf(t)[0]!)}`)
					}
				>
					New sandbox
				</Button>
				<Menu
					label="More actions"
					items={[
						{
							name: t.public ? 'Make private' : 'Publish to all teams …',
							icon: 'team',
							disabled: off,
							act: () =>
								confirm({
									title: t.public
										? 'Make it private?'
										: 'Publish it?',
									text: t.public
										? 'Other teams cannot start sandboxes of it any more.'
										: 'Every team of this server can start sandboxes of it, and read its files in them.',
									action: t.public ? 'Make private' : 'Publish',
									danger: !t.public,
									act: async () => {
										await patch(`/v2/templates/${id}`, {
											public: !t.public,
										})
										await got.refresh()
									},
								}),
						},
						{
							name: 'Delete …',
							icon: 'trash',
							danger: true,
							disabled: off,
							act: () => dropTemplate(t, () => go('/templates')),
						},
					]}
				/>
			</Head>
			<div class="grid two">
				<Card title="Facts">
					<dl class="facts">
						<dt>Names</dt>
						<dd>
							<span class="row wrap">
								{namesOf(t).map((n) => (
									<span class="tag" key={n}>
										{visible(n)}
									</span>
								))}
							</span>
						</dd>
						<dt>Sandboxes get</dt>
						<dd>
							{t.cpuCount} processors, {mib(t.memoryMB)} memory,{' '}
							{mib(t.diskSizeMB)} disk
						</dd>
						<dt>Seen by</dt>
						<dd>{t.public ? 'all teams' : 'your team'}</dd>
						<dt>Created</dt>
						<dd>{stamp(t.createdAt)}</dd>
						<dt>Last used</dt>
						<dd>
							{t.lastSpawnedAt ? (
								<Ago time={t.lastSpawnedAt} />
							) : t.isDefault ? (
								'not counted for templates of the server'
							) : (
								'never'
							)}
						</dd>
					</dl>
				</Card>
				<Card title="Use it">
					<div class="stack tight">
						<Snippet
							text={`const sandbox = await Sandbox.create('${visible(namesOf(t)[0]!)}')`}
						/>
						<Snippet text={`atoll create --template ${visible(namesOf(t)[0]!)}`} />
					</div>
				</Card>
			</div>
			<Card title="Tags" plain>
				<div class="tag-row">
					{tags.data?.length === 0 && <span class="muted">No tags.</span>}
					{tags.data?.map((g) => (
						<span class="row" key={g.tag}>
							<span class="tag">{visible(g.tag)}</span>
							<Link to={`/templates/${id}/${g.buildID}`} class="mono small">
								{g.buildID.slice(0, 13)}
							</Link>
							{!off && (
								<Button
									small
									icon="close"
									kind="quiet"
									label={`Remove the tag ${visible(g.tag)}`}
									onClick={() =>
										confirm({
											title: `Remove the tag ${visible(g.tag)}?`,
											text: 'The build stays for as long as a tag names it, or the cache has room.',
											action: 'Remove',
											act: async () => {
												await del(
													'/templates/tags',
													{
														name: namesOf(
															t,
														)[0]!,
														tags: [
															g.tag,
														],
													},
												)
												await tags.refresh()
											},
										})
									}
								/>
							)}
						</span>
					))}
				</div>
			</Card>
			{builds.length > 0 && (
				<Card title="Builds" plain>
					<Table label="Builds" columns={columns} rows={builds} id={(b) => b.buildID} />
				</Card>
			)}
			{!t.isDefault && shown && (
				<BuildLog key={shown} template={id} build={shown} done={() => void got.refresh()} />
			)}
			{tagging && (
				<TagDialog
					name={namesOf(t)[0]!}
					build={tagging}
					close={() => setTagging(null)}
					done={() => void tags.refresh()}
				/>
			)}
		</>
	)
}

function TagDialog({ name, build, close, done }: { name: string; build: string; close: () => void; done: () => void }) {
	const [tag, setTag] = useState('')
	const submit = async () => {
		await post('/templates/tags', { target: `${name}:${build}`, tags: [tag.trim()] })
		done()
	}
	return (
		<FormDialog title="Tag this build" close={close} submit={submit} action="Tag">
			<p class="muted">A tag that names another build moves to this one.</p>
			<Field label="Tag">
				{(id) => (
					<input
						id={id}
						class="input mono"
						required
						placeholder="production"
						value={tag}
						onInput={(e) => setTag(e.currentTarget.value)}
						autoFocus
					/>
				)}
			</Field>
		</FormDialog>
	)
}

const OVER = ['ready', 'error']

function BuildLog({ template, build, done }: { template: string; build: string; done: () => void }) {
	const [status, setStatus] = useState<Status | null>(null)
	const [error, setError] = useState<Error | null>(null)
	const box = useRef<HTMLDivElement>(null)
	useEffect(() => {
		const abort = new AbortController()
		let timer = 0
		let lines: LogLine[] = []
		const ask = async () => {
			try {
				const got = await get<Status>(
					`/templates/${template}/builds/${build}/status`,
					{ logsOffset: lines.length, limit: 100 },
					abort.signal,
				)
				lines = [...lines, ...got.logEntries]
				setStatus({ ...got, logEntries: lines })
				setError(null)
				if (OVER.includes(got.status) && got.logEntries.length === 0) return done()
				timer = window.setTimeout(ask, got.logEntries.length >= 100 ? 0 : 700)
			} catch (err) {
				if (abort.signal.aborted) return
				setError(err as Error)
				if (!(err instanceof ApiError) || err.status === 0 || err.status >= 500)
					timer = window.setTimeout(ask, 3000)
			}
		}
		void ask()
		return () => {
			abort.abort()
			clearTimeout(timer)
		}
	}, [template, build])
	const n = status?.logEntries.length ?? 0
	useEffect(() => {
		const el = box.current
		if (el && status && !OVER.includes(status.status)) el.scrollTop = el.scrollHeight
	}, [n])
	return (
		<Card
			title={`Log of build ${build.slice(0, 13)}`}
			tools={status && <StateTag state={status.status} />}
			plain
		>
			{error && <Failure error={error} />}
			{!status && !error && <Loading />}
			{status?.reason && (
				<div class="notice bad flat" role="alert">
					{status.reason.step && `Step ${visible(status.reason.step)}: `}
					{visible(status.reason.message)}
				</div>
			)}
			{status && n === 0 && <Empty icon="file" title="No lines yet" />}
			{n > 0 && (
				<div
					class="log build-log"
					ref={box}
					role="log"
					aria-label="Log of the build"
					tabIndex={0}
				>
					{status!.logEntries.map((l, i) => (
						<div class={`line ${l.level}`} key={i}>
							<time class="time">{clock(l.timestamp)}</time>
							<span class="level">{visible(l.step ?? l.level)}</span>
							<span>{visible(l.message)}</span>
						</div>
					))}
				</div>
			)}
		</Card>
	)
}

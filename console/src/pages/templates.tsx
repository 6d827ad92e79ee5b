// SPDX-License-Identifier: Apache-2.0
// Templates of the team and of the server, and a form that builds one.
import { useState } from 'preact/hooks'
import { del, get, post } from '../lib/api'
import { count, mib, plural, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { go, place, setQuery } from '../lib/router'
import { mayAct } from '../lib/session'
import type { Template } from '../lib/types'
import { confirm, FormDialog } from '../ui/dialog'
import { Ago, Button, Card, Empty, Failure, Field, Head, Link, Loading, Menu, Search, StateTag } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { toast } from '../ui/toast'
import { namesOf } from './create'

type Listed = Template & { isDefault?: boolean }

const label = (t: Template) => visible(namesOf(t)[0]!)

export function dropTemplate(t: Template, then: () => void): void {
	confirm({
		title: `Delete ${label(t)}?`,
		text: 'With all its builds and tags. Sandboxes that run keep it from being deleted.',
		action: 'Delete',
		act: async () => {
			await del(`/templates/${t.templateID}`)
			toast('Deleted', 'ok')
			then()
		},
	})
}

export function Templates() {
	const [text, setText] = useState('')
	const got = useData(
		async (signal) => {
			const [own, of] = await Promise.all([
				get<Listed[]>('/templates', {}, signal),
				get<Listed[]>('/default-templates', {}, signal),
			])
			return { own, of }
		},
		4000,
		[],
	)
	const columns: Column<Listed>[] = [
		{
			name: 'Name',
			width: 'minmax(160px, 1.4fr)',
			sort: label,
			cell: (t) => (
				<Link to={`/templates/${t.templateID}`} class="clip row">
					{label(t)}
				</Link>
			),
		},
		{
			name: 'State',
			width: '100px',
			sort: (t) => t.buildStatus ?? '',
			cell: (t) => <StateTag state={t.buildStatus ?? 'ready'} />,
		},
		{
			name: 'Id',
			width: 'minmax(120px, 190px)',
			cell: (t) => <div class="mono clip muted">{t.templateID}</div>,
		},
		{ name: 'CPU', width: '56px', right: true, sort: (t) => t.cpuCount, cell: (t) => t.cpuCount },
		{ name: 'Memory', width: '84px', right: true, sort: (t) => t.memoryMB, cell: (t) => mib(t.memoryMB) },
		{
			name: 'Builds',
			width: '64px',
			right: true,
			sort: (t) => t.buildCount ?? 0,
			cell: (t) => count(t.buildCount),
		},
		{
			name: 'Used',
			width: '64px',
			right: true,
			sort: (t) => t.spawnCount ?? 0,
			cell: (t) => (t.isDefault ? '–' : count(t.spawnCount)),
		},
		{ name: 'Changed', width: '92px', sort: (t) => t.updatedAt, cell: (t) => <Ago time={t.updatedAt} /> },
		{
			name: 'Actions',
			hidden: true,
			width: '34px',
			cell: (t) => (
				<Menu
					small
					label={`Actions of ${label(t)}`}
					items={[
						{
							name: 'New sandbox',
							icon: 'plus',
							disabled: !mayAct.value,
							act: () =>
								go(
									`/sandboxes?new=1&from=${encodeURIComponent(namesOf(t)[0]!)}`,
								),
						},
						{
							name: 'Delete …',
							icon: 'trash',
							danger: true,
							disabled: !mayAct.value || !!t.isDefault,
							act: () => dropTemplate(t, () => void got.refresh()),
						},
					]}
				/>
			),
		},
	]
	const fits = (t: Listed) => [...namesOf(t), t.templateID].join(' ').toLowerCase().includes(text.toLowerCase())
	return (
		<>
			<Head title="Templates" text="What sandboxes start from.">
				<Search value={text} set={setText} label="Search templates" />
				{mayAct.value && (
					<Button icon="plus" kind="primary" onClick={() => setQuery({ new: '1' })}>
						New template
					</Button>
				)}
			</Head>
			{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
			{!got.data && !got.error && <Loading />}
			{got.data && (
				<>
					<Card
						title={`Your templates${got.data.own.length ? ` · ${plural(got.data.own.length, 'template')}` : ''}`}
						plain
					>
						<Table
							label="Your templates"
							columns={columns}
							rows={got.data.own.filter(fits)}
							id={(t) => t.templateID}
							empty={
								got.data.own.length > 0 ? (
									<Empty
										icon="search"
										title="No template matches"
									/>
								) : (
									<Empty
										icon="template"
										title="No templates of your own"
										text="Build one here, with an SDK, or from a Dockerfile:"
										snippet="atoll template build ./my-app -t my-app"
									/>
								)
							}
						/>
					</Card>
					<Card title="Templates of the server" plain>
						<Table
							label="Templates of the server"
							columns={columns}
							rows={got.data.of.filter(fits)}
							id={(t) => t.templateID + namesOf(t)[0]}
							empty={<Empty icon="search" title="No template matches" />}
						/>
					</Card>
				</>
			)}
			{place.value.query.get('new') && mayAct.value && (
				<NewTemplate close={() => setQuery({ new: '' })} />
			)}
		</>
	)
}

type Step = { type: string; args: string[] }

// Lines such as RUN, ENV, WORKDIR and USER; files cannot be copied from here.
export function steps(text: string): Step[] {
	const joined = text.replace(/\\\n\s*/g, ' ')
	return joined
		.split('\n')
		.map((l) => l.trim())
		.filter((l) => l && !l.startsWith('#'))
		.map((line) => {
			const m = /^(RUN|ENV|WORKDIR|USER)\s+(.*)$/i.exec(line)
			if (!m) return { type: 'RUN', args: [line] }
			const [type, rest] = [m[1]!.toUpperCase(), m[2]!]
			if (type !== 'ENV') return { type, args: [rest] }
			const at = rest.indexOf('=')
			if (at < 1) throw new Error(`"${line}": write ENV NAME=value`)
			return { type, args: [rest.slice(0, at), rest.slice(at + 1).replace(/^"(.*)"$/, '$1')] }
		})
}

function NewTemplate({ close }: { close: () => void }) {
	const [form, setForm] = useState({
		name: '',
		from: 'template',
		base: 'code-interpreter-v1',
		lines: '',
		cpus: '2',
		memory: '512',
		start: '',
		ready: '',
	})
	const set = (more: Partial<typeof form>) => setForm({ ...form, ...more })
	const submit = async () => {
		const body = {
			[form.from === 'image' ? 'fromImage' : 'fromTemplate']: form.base.trim(),
			steps: steps(form.lines),
			...(form.start ? { startCmd: form.start, readyCmd: form.ready || 'sleep 5' } : {}),
		}
		const made = await post<{ templateID: string; buildID: string }>('/v3/templates', {
			name: form.name.trim(),
			cpuCount: Number(form.cpus),
			memoryMB: Number(form.memory),
		})
		await post(`/v2/templates/${made.templateID}/builds/${made.buildID}`, body)
		go(`/templates/${made.templateID}/${made.buildID}`)
	}
	return (
		<FormDialog title="New template" close={close} submit={submit} action="Build" wide>
			<div class="form-pair">
				<Field label="Name" hint="An existing name gets a new build.">
					{(id) => (
						<input
							id={id}
							class="input mono"
							required
							placeholder="my-app"
							value={form.name}
							onInput={(e) => set({ name: e.currentTarget.value })}
						/>
					)}
				</Field>
				<Field
					label={form.from === 'image' ? 'Image' : 'Template'}
					hint={
						form.from === 'image'
							? 'Fetched from its registry.'
							: 'Of the server, or your own.'
					}
				>
					{(id) => (
						<span class="row">
							<select
								class="select base-kind"
								aria-label="Base"
								value={form.from}
								onChange={(e) => set({ from: e.currentTarget.value })}
							>
								<option value="template">template</option>
								<option value="image">image</option>
							</select>
							<input
								id={id}
								class="input mono"
								required
								value={form.base}
								onInput={(e) => set({ base: e.currentTarget.value })}
							/>
						</span>
					)}
				</Field>
			</div>
			<Field
				label="Steps"
				hint="One per line: RUN (or just the command), ENV, WORKDIR, USER. Files are copied by an SDK or by atoll template build."
			>
				{(id) => (
					<textarea
						id={id}
						class="area mono"
						rows={6}
						placeholder={
							'RUN pip install --no-cache-dir flask\nENV MODEL=small\nWORKDIR /srv/app'
						}
						value={form.lines}
						onInput={(e) => set({ lines: e.currentTarget.value })}
					/>
				)}
			</Field>
			<div class="form-pair">
				<Field label="Processors">
					{(id) => (
						<input
							id={id}
							class="input"
							type="number"
							min="1"
							required
							value={form.cpus}
							onInput={(e) => set({ cpus: e.currentTarget.value })}
						/>
					)}
				</Field>
				<Field label="Memory, MiB">
					{(id) => (
						<input
							id={id}
							class="input"
							type="number"
							min="128"
							required
							value={form.memory}
							onInput={(e) => set({ memory: e.currentTarget.value })}
						/>
					)}
				</Field>
				<Field label="Start command" hint="Runs in every sandbox of the template.">
					{(id) => (
						<input
							id={id}
							class="input mono"
							placeholder="python3 server.py"
							value={form.start}
							onInput={(e) => set({ start: e.currentTarget.value })}
						/>
					)}
				</Field>
				<Field label="Ready command" hint="Asked until it succeeds.">
					{(id) => (
						<input
							id={id}
							class="input mono"
							placeholder="curl -fs localhost:8000"
							value={form.ready}
							onInput={(e) => set({ ready: e.currentTarget.value })}
						/>
					)}
				</Field>
			</div>
		</FormDialog>
	)
}

// SPDX-License-Identifier: Apache-2.0
// Volumes, and a browser of their files.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, del, get, messageFrom, patch, post, withQuery } from '../lib/api'
import { bytes, count, mib, visible } from '../lib/format'
import { useData } from '../lib/hooks'
import { go } from '../lib/router'
import { mayAct } from '../lib/session'
import type { Volume } from '../lib/types'
import { confirm, FormDialog } from '../ui/dialog'
import { Icon } from '../ui/icons'
import { Ago, Bar, Button, Card, Empty, Failure, Field, Head, Link, Loading, Menu, Tile } from '../ui/kit'
import { Table, type Column } from '../ui/table'
import { attempt, toast } from '../ui/toast'

type Entry = { name: string; type: string; path: string; size: number; mtime: string }

const usedBy = (v: Volume) => (Array.isArray(v.sandboxes) ? v.sandboxes.length : v.sandboxes)

function drop(v: Volume, then: () => void): void {
	confirm({
		title: `Delete ${visible(v.name)}?`,
		text: 'With all its files. This cannot be undone.',
		action: 'Delete',
		act: async () => {
			await del(`/volumes/${v.volumeID}`)
			toast('Deleted', 'ok')
			then()
		},
	})
}

export function Volumes() {
	const got = useData((signal) => get<Volume[]>('/volumes', {}, signal), 5000, [])
	const [open, setOpen] = useState(false)
	const columns: Column<Volume>[] = [
		{
			name: 'Name',
			width: 'minmax(140px, 1fr)',
			sort: (v) => v.name,
			cell: (v) => (
				<Link to={`/volumes/${v.volumeID}`} class="row">
					<b class="clip">{visible(v.name)}</b>
				</Link>
			),
		},
		{
			name: 'Id',
			width: 'minmax(150px, 200px)',
			cell: (v) => <div class="mono clip muted">{v.volumeID}</div>,
		},
		{ name: 'Size', width: '100px', right: true, sort: (v) => v.sizeMB, cell: (v) => mib(v.sizeMB) },
		{ name: 'Sandboxes', width: '100px', right: true, sort: usedBy, cell: (v) => count(usedBy(v)) },
		{
			name: 'Created',
			width: '100px',
			right: true,
			sort: (v) => v.createdAt,
			cell: (v) => <Ago time={v.createdAt} />,
		},
		{
			name: 'Actions',
			hidden: true,
			width: '34px',
			cell: (v) => (
				<Menu
					small
					label={`Actions of ${visible(v.name)}`}
					items={[
						{
							name: 'Delete …',
							icon: 'trash',
							danger: true,
							disabled: !mayAct.value,
							act: () => drop(v, () => void got.refresh()),
						},
					]}
				/>
			),
		},
	]
	return (
		<>
			<Head
				title="Volumes"
				text="Directories that outlive sandboxes. Several sandboxes mount one at a time."
			>
				{mayAct.value && (
					<Button icon="plus" kind="primary" onClick={() => setOpen(true)}>
						New volume
					</Button>
				)}
			</Head>
			{got.error && <Failure error={got.error} again={() => void got.refresh()} />}
			{!got.data && !got.error && <Loading />}
			{got.data && (
				<Card plain>
					<Table
						label="Volumes"
						columns={columns}
						rows={got.data}
						id={(v) => v.volumeID}
						empty={
							<Empty
								icon="disk"
								title="No volumes"
								text="Add one here, or by:"
								snippet="atoll volume create data --size-mb 1024"
							/>
						}
					/>
				</Card>
			)}
			{open && <NewVolume close={() => setOpen(false)} />}
		</>
	)
}

function NewVolume({ close }: { close: () => void }) {
	const [name, setName] = useState('')
	const [size, setSize] = useState('1024')
	const submit = async () => {
		const made = await post<Volume>('/volumes', { name, sizeMB: Number(size) })
		go(`/volumes/${made.volumeID}`)
	}
	return (
		<FormDialog title="New volume" close={close} submit={submit} action="Create">
			<Field label="Name" hint="Letters, digits, - and _">
				{(id) => (
					<input
						id={id}
						class="input mono"
						required
						placeholder="data"
						value={name}
						onInput={(e) => setName(e.currentTarget.value)}
						autoFocus
					/>
				)}
			</Field>
			<Field label="Size, MiB">
				{(id) => (
					<input
						id={id}
						class="input"
						type="number"
						min="1"
						required
						value={size}
						onInput={(e) => setSize(e.currentTarget.value)}
					/>
				)}
			</Field>
		</FormDialog>
	)
}

async function content(
	v: Volume,
	method: string,
	what: 'dir' | 'file' | 'path',
	path: string,
	body?: BodyInit,
): Promise<Response> {
	const res = await fetch(withQuery(`/volumecontent/${v.volumeID}/${what}`, { path }), {
		method,
		body,
		headers: { Authorization: `Bearer ${v.token}` },
		cache: 'no-store',
	})
	if (res.ok) return res
	const text = await res.text()
	let message = text
	try {
		message = (JSON.parse(text) as { message: string }).message
	} catch {
		// not JSON
	}
	throw new ApiError(res.status, message)
}

export function VolumePage({ id }: { id: string }) {
	const got = useData((signal) => get<Volume>(`/volumes/${encodeURIComponent(id)}`, {}, signal), 10000, [id])
	const [grow, setGrow] = useState(false)
	if (got.error) return <Failure error={got.error} again={() => void got.refresh()} />
	if (!got.data) return <Loading />
	const v = got.data
	return (
		<>
			<Head title={visible(v.name)} text={<span class="mono">{v.volumeID}</span>}>
				<Button icon="edit" disabled={!mayAct.value} onClick={() => setGrow(true)}>
					Size
				</Button>
				<Button
					icon="trash"
					kind="danger"
					disabled={!mayAct.value}
					onClick={() => drop(v, () => go('/volumes'))}
				>
					Delete
				</Button>
			</Head>
			<div class="tiles">
				<Tile name="Used" value={bytes(v.usedBytes)} unit={`of ${mib(v.sizeMB)}`}>
					<Bar part={(v.usedBytes ?? 0) / (v.sizeMB * 2 ** 20)} label="Space used" />
				</Tile>
				<Tile name="Sandboxes that mount it" value={count(usedBy(v))} />
			</div>
			{v.token ? (
				<Browser v={v} />
			) : (
				<Empty
					icon="lock"
					title="Not with this key"
					text="A viewer sees that the volume is there, but not its files."
				/>
			)}
			{grow && <Size v={v} close={() => setGrow(false)} done={got.refresh} />}
		</>
	)
}

function Size({ v, close, done }: { v: Volume; close: () => void; done: () => Promise<void> }) {
	const [size, setSize] = useState(String(v.sizeMB))
	const submit = async () => {
		await patch(`/volumes/${v.volumeID}`, { sizeMB: Number(size) })
		await done()
	}
	return (
		<FormDialog title="Size of the volume" close={close} submit={submit} action="Set">
			<Field label="MiB" hint="Files stay, even if they are larger.">
				{(id) => (
					<input
						id={id}
						class="input"
						type="number"
						min="1"
						required
						value={size}
						onInput={(e) => setSize(e.currentTarget.value)}
					/>
				)}
			</Field>
		</FormDialog>
	)
}

function Browser({ v }: { v: Volume }) {
	const [dir, setDir] = useState('/')
	const [rows, setRows] = useState<Entry[] | null>(null)
	const [error, setError] = useState<string | null>(null)
	const [over, setOver] = useState(false)
	const picker = useRef<HTMLInputElement>(null)
	const list = async () => {
		try {
			const res = await content(v, 'GET', 'dir', dir)
			setRows(
				((await res.json()) as Entry[]).sort(
					(a, b) =>
						Number(b.type === 'directory' || b.type === 'dir') -
							Number(a.type === 'directory' || a.type === 'dir') ||
						a.name.localeCompare(b.name),
				),
			)
			setError(null)
		} catch (err) {
			setError(messageFrom(err))
		}
	}
	useEffect(() => {
		setRows(null)
		void list()
	}, [dir, v.volumeID])
	const under = (name: string) => (dir === '/' ? `/${name}` : `${dir}/${name}`)
	const send = async (files: FileList | undefined | null) => {
		for (const file of files ?? [])
			await attempt(
				() => content(v, 'PUT', 'file', under(file.name), file),
				`${visible(file.name)} is on the volume`,
			)
		void list()
	}
	const save = (e: Entry) =>
		void attempt(async () => {
			const res = await content(v, 'GET', 'file', e.path)
			const link = document.createElement('a')
			link.href = URL.createObjectURL(await res.blob())
			link.download = e.name
			link.click()
			setTimeout(() => URL.revokeObjectURL(link.href), 60000)
		})
	const remove = (e: Entry) =>
		confirm({
			title: `Delete ${visible(e.name)}?`,
			text: 'This cannot be undone.',
			action: 'Delete',
			act: async () => {
				await content(v, 'DELETE', 'path', e.path)
				await list()
			},
		})
	const isDir = (e: Entry) => e.type === 'dir' || e.type === 'directory'
	const off = !mayAct.value
	const columns: Column<Entry>[] = [
		{
			name: 'Name',
			width: 'minmax(180px, 1fr)',
			cell: (e) => (
				<span class="row">
					<Icon name={isDir(e) ? 'folder' : 'file'} />
					{isDir(e) ? (
						<button class="link clip" onClick={() => setDir(under(e.name))}>
							{visible(e.name)}
						</button>
					) : (
						<span class="clip">{visible(e.name)}</span>
					)}
				</span>
			),
		},
		{ name: 'Size', width: '100px', right: true, cell: (e) => (isDir(e) ? '–' : bytes(e.size)) },
		{ name: 'Changed', width: '110px', right: true, cell: (e) => <Ago time={e.mtime} /> },
		{
			name: 'Actions',
			hidden: true,
			width: '90px',
			cell: (e) => (
				<div class="acts">
					{!isDir(e) && (
						<Button
							small
							icon="download"
							kind="quiet"
							label={`Download ${visible(e.name)}`}
							onClick={() => save(e)}
						/>
					)}
					<Button
						small
						icon="trash"
						kind="quiet danger"
						label={`Delete ${visible(e.name)}`}
						disabled={off}
						onClick={() => remove(e)}
					/>
				</div>
			),
		},
	]
	const parts = dir.split('/').filter(Boolean)
	return (
		<Card
			plain
			title={
				<span class="row wrap mono">
					<button class="link" onClick={() => setDir('/')}>
						/
					</button>
					{parts.map((p, i) => (
						<button
							key={i}
							class="link"
							onClick={() => setDir(`/${parts.slice(0, i + 1).join('/')}`)}
						>
							{visible(p)}/
						</button>
					))}
				</span>
			}
			tools={
				<div class="tools">
					<Button small icon="refresh" label="Refresh" onClick={() => void list()} />
					<Button
						small
						icon="upload"
						disabled={off}
						onClick={() => picker.current?.click()}
					>
						Upload
					</Button>
					<input
						ref={picker}
						type="file"
						multiple
						hidden
						aria-label="Files to upload"
						onChange={(e) => void send(e.currentTarget.files)}
					/>
				</div>
			}
		>
			<div
				class={over ? 'dropping' : ''}
				onDragOver={(e) => {
					e.preventDefault()
					setOver(true)
				}}
				onDragLeave={() => setOver(false)}
				onDrop={(e) => {
					e.preventDefault()
					setOver(false)
					void send(e.dataTransfer?.files)
				}}
			>
				{error && <Failure error={new Error(error)} again={() => void list()} />}
				{!rows && !error && <Loading />}
				{rows && (
					<Table
						label="Files of the volume"
						columns={columns}
						rows={rows}
						id={(e) => e.path}
						empty={
							<Empty
								icon="folder"
								title="Empty"
								text="Drop files here, or mount the volume in a sandbox and write to it."
							/>
						}
					/>
				)}
			</div>
		</Card>
	)
}

// SPDX-License-Identifier: Apache-2.0
// Shows one file: text in an editor, pictures as pictures, anything else as bytes; of a large one only the beginning.
import { useEffect, useState } from 'preact/hooks'
import { messageFrom } from '../lib/api'
import { bytes, visible } from '../lib/format'
import { sdkOf, type EntryInfo } from '../lib/sdk'
import type { Sandbox } from '../lib/types'
import { Editor } from '../ui/editor'
import { Button, Empty, Loading } from '../ui/kit'
import { attempt, toast } from '../ui/toast'
import { beginning, download } from './transfer'

const EDIT_MOST = 2 * 2 ** 20,
	HEX_MOST = 64 * 1024
const PICTURES: Record<string, string> = {
	png: 'png',
	jpg: 'jpeg',
	jpeg: 'jpeg',
	gif: 'gif',
	webp: 'webp',
	svg: 'svg+xml',
	bmp: 'bmp',
	ico: 'x-icon',
}
const LANGUAGES: Record<string, string> = {
	py: 'python',
	js: 'javascript',
	mjs: 'javascript',
	cjs: 'javascript',
	jsx: 'javascript',
	ts: 'typescript',
	tsx: 'typescript',
	sh: 'bash',
	bash: 'bash',
	bashrc: 'bash',
	profile: 'bash',
	r: 'r',
	java: 'java',
	json: 'json',
	ipynb: 'json',
	html: 'html',
	htm: 'html',
	svg: 'html',
	css: 'css',
	md: 'markdown',
	yaml: 'yaml',
	yml: 'yaml',
	toml: 'toml',
}

type Shown =
	| { kind: 'text'; text: string; whole: boolean; load: number } // load: the editor of another load is another one
	| { kind: 'hex'; data: Uint8Array; whole: boolean }
	| { kind: 'picture'; url: string }

const ending = (path: string) => (path.split('/').pop() ?? '').split('.').pop()!.toLowerCase()

function textOf(data: Uint8Array, whole: boolean): string | null {
	if (data.subarray(0, 8192).includes(0)) return null
	try {
		// a large file is cut within a character
		return new TextDecoder('utf-8', { fatal: whole }).decode(data)
	} catch {
		return null
	}
}

function hex(data: Uint8Array): string {
	const lines: string[] = []
	for (let at = 0; at < data.length; at += 16) {
		const part = [...data.subarray(at, at + 16)]
		const digits = part.map((b) => b.toString(16).padStart(2, '0')).join(' ')
		const text = part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : '·')).join('')
		lines.push(`${at.toString(16).padStart(8, '0')}  ${digits.padEnd(47)}  ${text}`)
	}
	return lines.join('\n')
}

export function Viewer({
	s,
	entry,
	user,
	stale,
	removed,
}: {
	s: Sandbox
	entry: EntryInfo
	user: string
	stale: number
	removed: boolean
}) {
	const [shown, setShown] = useState<Shown | null>(null)
	const [error, setError] = useState<string | null>(null)
	const [text, setText] = useState('')
	const [saved, setSaved] = useState('')
	const [version, setVersion] = useState(0)
	const dirty = text !== saved
	const [behind, setBehind] = useState(false)

	useEffect(() => {
		if (stale === 0) return
		if (dirty) setBehind(true)
		else setVersion((v) => v + 1)
	}, [stale])

	useEffect(() => {
		let over = false
		let url = ''
		setError(null)
		setBehind(false)
		const type = PICTURES[ending(entry.path)]
		beginning(s, entry.path, user, type ? 8 * EDIT_MOST : EDIT_MOST)
			.then(({ bytes: data, whole }) => {
				if (over) return
				if (type && whole && data.length > 0) {
					url = URL.createObjectURL(
						new Blob([data as BlobPart], { type: `image/${type}` }),
					)
					return setShown({ kind: 'picture', url })
				}
				const read = textOf(data, whole)
				if (read === null)
					return setShown({
						kind: 'hex',
						data: data.subarray(0, HEX_MOST),
						whole: whole && data.length <= HEX_MOST,
					})
				setText(read)
				setSaved(read)
				return setShown({ kind: 'text', text: read, whole, load: version })
			})
			.catch((err) => !over && setError(messageFrom(err)))
		return () => {
			over = true
			if (url) URL.revokeObjectURL(url)
		}
	}, [entry.path, user, version])

	const save = () =>
		void attempt(async () => {
			const sdk = await sdkOf(s)
			await sdk.files.write(entry.path, text, { user })
			setSaved(text)
			setBehind(false)
			toast(`${visible(entry.name)} is saved`, 'ok')
		})
	const editable = shown?.kind === 'text' && shown.whole
	return (
		<>
			<header>
				<b class="clip mono grow" title={visible(entry.path)}>
					{visible(entry.name)}
					{dirty && <span class="muted"> · not saved</span>}
				</b>
				<span class="muted small nowrap wide-only">
					{bytes(entry.size)} · {visible(entry.permissions)} · {visible(entry.owner)}
				</span>
				{editable && (
					<Button small kind="primary" disabled={!dirty} onClick={save}>
						Save
					</Button>
				)}
				<Button
					small
					icon="download"
					label="Download"
					onClick={() => void attempt(() => download(s, entry.path, user, entry.size))}
				/>
			</header>
			{removed && <div class="notice warn flat">This file was removed. Saving writes it again.</div>}
			{behind && (
				<div class="notice warn flat row">
					<span class="grow">The file has changed in the sandbox while you edit it.</span>
					<Button small onClick={() => setVersion(version + 1)}>
						Load it, dropping my changes
					</Button>
				</div>
			)}
			{shown && shown.kind !== 'picture' && !shown.whole && (
				<div class="notice flat">
					The file has {bytes(entry.size)}. This is its beginning (
					{bytes(shown.kind === 'text' ? EDIT_MOST : HEX_MOST)}); download it for the
					rest.
				</div>
			)}
			<div class="content">
				{error && (
					<div class="notice bad flat" role="alert">
						{visible(error)}
					</div>
				)}
				{!shown && !error && <Loading what="Reading the file" />}
				{shown?.kind === 'text' &&
					shown.text.length === 0 &&
					entry.size === 0 &&
					!dirty &&
					!editable && <Empty icon="file" title="Empty" />}
				{shown?.kind === 'text' && (
					<Editor
						key={`${entry.path}${shown.load}`}
						label={`Content of ${visible(entry.name)}`}
						value={shown.text}
						change={setText}
						save={save}
						language={LANGUAGES[ending(entry.path)] ?? ''}
						readOnly={!editable}
						fill
					/>
				)}
				{shown?.kind === 'hex' && (
					<div class="hex" tabIndex={0} aria-label="Bytes of the file">
						{hex(shown.data)}
					</div>
				)}
				{shown?.kind === 'picture' && (
					<div class="body centered">
						<img class="pic" src={shown.url} alt={visible(entry.name)} />
					</div>
				)}
			</div>
		</>
	)
}

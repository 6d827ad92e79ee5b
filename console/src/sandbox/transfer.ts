// SPDX-License-Identifier: Apache-2.0
// Files in and out of a sandbox, of any size: the browser streams them from and to its disk.
import { routeTo } from '../lib/sdk'
import { withQuery } from '../lib/api'
import type { Sandbox } from '../lib/types'

export type Upload = { name: string; sent: number; size: number; error?: string; done?: boolean }

export function upload(
	s: Sandbox,
	path: string,
	file: Blob,
	user: string,
	progress: (sent: number) => void,
): Promise<void> {
	return new Promise((done, fail) => {
		const req = new XMLHttpRequest()
		req.open('POST', withQuery('/files', { path, username: user }))
		for (const [name, value] of Object.entries(routeTo(s))) req.setRequestHeader(name, value)
		req.setRequestHeader('Content-Type', 'application/octet-stream')
		req.upload.onprogress = (e) => progress(e.loaded)
		req.onload = () => {
			if (req.status < 300) return done()
			let text = req.responseText
			try {
				text = (JSON.parse(text) as { message: string }).message
			} catch {
				// not JSON
			}
			return fail(
				new Error(
					req.status === 507
						? `No space: ${text}`
						: text || `the upload was answered with ${req.status}`,
				),
			)
		}
		req.onerror = () => fail(new Error('the connection was lost'))
		req.send(file)
	})
}

// What was dropped, folders with all that is in them.
export async function dropped(data: DataTransfer): Promise<{ path: string; file: File }[]> {
	const entries = [...data.items]
		.map((item) => item.webkitGetAsEntry?.())
		.filter((e): e is FileSystemEntry => !!e)
	if (entries.length === 0) return [...data.files].map((file) => ({ path: file.name, file }))
	const found: { path: string; file: File }[] = []
	const walk = async (entry: FileSystemEntry, before: string): Promise<void> => {
		const path = before + entry.name
		if (entry.isFile) {
			found.push({
				path,
				file: await new Promise<File>((done, fail) =>
					(entry as FileSystemFileEntry).file(done, fail),
				),
			})
			return
		}
		const reader = (entry as FileSystemDirectoryEntry).createReader()
		for (;;) {
			const some = await new Promise<FileSystemEntry[]>((done, fail) =>
				reader.readEntries(done, fail),
			)
			if (some.length === 0) return
			for (const one of some) await walk(one, `${path}/`)
		}
	}
	for (const entry of entries) await walk(entry, '')
	return found
}

type SaveFile = { createWritable: () => Promise<WritableStream> }
type Picker = { showSaveFilePicker?: (opt: { suggestedName: string }) => Promise<SaveFile> }
const TO_DISK = 64 * 2 ** 20

export async function download(s: Sandbox, path: string, user: string, size: number): Promise<void> {
	const name = path.split('/').pop() || 'file'
	const picker = (window as Picker).showSaveFilePicker
	const to = size > TO_DISK && picker ? await picker.call(window, { suggestedName: name }) : null
	const res = await fetch(withQuery('/files', { path, username: user }), { headers: routeTo(s) })
	if (!res.ok || !res.body)
		throw new Error((await res.text()).slice(0, 300) || `the server answered ${res.status}`)
	if (to) return res.body.pipeTo(await to.createWritable())
	const link = document.createElement('a')
	link.href = URL.createObjectURL(await res.blob())
	link.download = name
	link.click()
	setTimeout(() => URL.revokeObjectURL(link.href), 60000)
	return undefined
}

// The beginning of a file; what follows is not fetched.
export async function beginning(
	s: Sandbox,
	path: string,
	user: string,
	most: number,
): Promise<{ bytes: Uint8Array; whole: boolean }> {
	const abort = new AbortController()
	const res = await fetch(withQuery('/files', { path, username: user }), {
		headers: routeTo(s),
		signal: abort.signal,
		cache: 'no-store',
	})
	if (!res.ok || !res.body) {
		const text = await res.text()
		let message = text
		try {
			message = (JSON.parse(text) as { message: string }).message
		} catch {
			// not JSON
		}
		throw new Error(message || `the server answered ${res.status}`)
	}
	const reader = res.body.getReader()
	const parts: Uint8Array[] = []
	let n = 0
	for (;;) {
		const { done, value } = await reader.read()
		if (done) return { bytes: concat(parts, n), whole: true }
		parts.push(value)
		n += value.length
		if (n > most) {
			abort.abort()
			return { bytes: concat(parts, n).slice(0, most), whole: false }
		}
	}
}

function concat(parts: Uint8Array[], n: number): Uint8Array {
	const all = new Uint8Array(n)
	let at = 0
	for (const part of parts) {
		all.set(part, at)
		at += part.length
	}
	return all
}

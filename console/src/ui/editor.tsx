// SPDX-License-Identifier: Apache-2.0
// The code editor. CodeMirror is fetched with the first one; it lives in a shadow root, where its styles are
// constructed style sheets, as the page's policy wants it.
import type { EditorView } from '@codemirror/view'
import { useEffect, useRef, useState } from 'preact/hooks'
import { theme } from './theme'
import { Loading } from './kit'

export function Editor({
	label,
	value,
	version = 0,
	change,
	language,
	run,
	save,
	readOnly,
	fill,
	focus,
}: {
	label: string
	value: string
	version?: number // the text is put into the editor when this changes, and stays the user's otherwise
	change?: (text: string) => void
	language: string
	run?: () => void
	save?: () => void
	readOnly?: boolean
	fill?: boolean
	focus?: boolean
}) {
	const ref = useRef<HTMLDivElement>(null)
	const view = useRef<EditorView | null>(null)
	const [ready, setReady] = useState(false)
	const latest = useRef({ change, run, save })
	latest.current = { change, run, save }

	useEffect(() => {
		let over = false
		void import('./codemirror').then(({ open }) => {
			const host = ref.current
			if (over || !host) return
			const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
			root.replaceChildren()
			view.current = open(root, {
				label,
				text: view.current?.state.doc.toString() ?? value,
				language,
				dark: theme.value === 'dark',
				readOnly: !!readOnly,
				fill: !!fill,
				change: (text) => latest.current.change?.(text),
				run: run && (() => latest.current.run?.()),
				save: save && (() => latest.current.save?.()),
			})
			setReady(true)
			if (focus) view.current.focus()
		})
		return () => {
			over = true
			view.current?.destroy()
		}
	}, [language, theme.value, readOnly])
	useEffect(() => {
		const doc = view.current?.state.doc
		if (doc && doc.toString() !== value)
			view.current!.dispatch({ changes: { from: 0, to: doc.length, insert: value } })
	}, [version])
	return (
		<>
			{!ready && <Loading what="Fetching the editor" />}
			<div ref={ref} class={fill ? 'fill' : ''} data-editor />
		</>
	)
}

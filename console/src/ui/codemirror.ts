// SPDX-License-Identifier: Apache-2.0
// CodeMirror with the languages of cells and common files.
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { css } from '@codemirror/lang-css'
import { html } from '@codemirror/lang-html'
import { javascript } from '@codemirror/lang-javascript'
import { json } from '@codemirror/lang-json'
import { markdown } from '@codemirror/lang-markdown'
import { python } from '@codemirror/lang-python'
import {
	bracketMatching,
	HighlightStyle,
	indentOnInput,
	StreamLanguage,
	syntaxHighlighting,
} from '@codemirror/language'
import { java } from '@codemirror/legacy-modes/mode/clike'
import { r } from '@codemirror/legacy-modes/mode/r'
import { shell } from '@codemirror/legacy-modes/mode/shell'
import { toml } from '@codemirror/legacy-modes/mode/toml'
import { yaml } from '@codemirror/legacy-modes/mode/yaml'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, Prec, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags as t } from '@lezer/highlight'

const LANGUAGES: Record<string, () => Extension> = {
	python,
	javascript: () => javascript({ jsx: true }),
	typescript: () => javascript({ typescript: true, jsx: true }),
	bash: () => StreamLanguage.define(shell),
	r: () => StreamLanguage.define(r),
	java: () => StreamLanguage.define(java),
	json,
	html,
	css,
	markdown: () => markdown(),
	yaml: () => StreamLanguage.define(yaml),
	toml: () => StreamLanguage.define(toml),
}

const look = (dark: boolean): Extension => {
	const [keyword, string, number, comment, name, type] = dark
		? ['#c9a6ff', '#a5e3a8', '#ffc27a', '#8d9aab', '#8ab4f8', '#7fe0e5']
		: ['#7a3fb8', '#1f6f35', '#95500a', '#5f6b7c', '#1f56a8', '#0b6f79']
	return [
		syntaxHighlighting(
			HighlightStyle.define([
				{ tag: [t.keyword, t.operatorKeyword, t.modifier], color: keyword },
				{ tag: [t.string, t.special(t.string), t.regexp], color: string },
				{ tag: [t.number, t.bool, t.null, t.atom], color: number },
				{ tag: t.comment, color: comment, fontStyle: 'italic' },
				{ tag: [t.function(t.variableName), t.propertyName, t.attributeName], color: name },
				{ tag: [t.typeName, t.className, t.tagName, t.namespace], color: type },
				{ tag: t.heading, fontWeight: '600' },
			]),
		),
		EditorView.theme(
			{
				'&': {
					color: dark ? '#e4e9f0' : '#18202c',
					fontSize: '12.5px',
					backgroundColor: 'transparent',
				},
				'&.cm-focused': { outline: 'none' },
				'.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
				'.cm-gutters': {
					backgroundColor: 'transparent',
					border: '0',
					color: dark ? '#9aa7b8' : '#566173',
				},
				'.cm-activeLine': { backgroundColor: dark ? '#ffffff0a' : '#0000000a' },
				'.cm-cursor': { borderLeftColor: dark ? '#3cc3cb' : '#0b6f79' },
				'&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
					backgroundColor: dark ? '#2b5b66' : '#bfe3e6',
				},
				'.cm-panels': { backgroundColor: dark ? '#1c2430' : '#f6f7f9', color: 'inherit' },
			},
			{ dark },
		),
	]
}

export type Options = {
	label: string
	text: string
	language: string
	dark: boolean
	readOnly: boolean
	fill: boolean
	change: (text: string) => void
	run?: () => void
	save?: () => void
}

export function open(root: ShadowRoot, opt: Options): EditorView {
	// Emptied at once: what is typed right after it belongs to the next cell.
	const run = (of: EditorView) => {
		opt.run!()
		of.dispatch({ changes: { from: 0, to: of.state.doc.length } })
		return true
	}
	const acts = [
		...(opt.run ? ['Shift-Enter', 'Mod-Enter'].map((key) => ({ key, run })) : []),
		...(opt.save ? [{ key: 'Mod-s', run: () => (opt.save!(), true) }] : []),
	]
	const view = new EditorView({
		root,
		state: EditorState.create({
			doc: opt.text,
			extensions: [
				Prec.highest(keymap.of(acts)),
				opt.fill
					? [lineNumbers(), highlightActiveLine()]
					: EditorView.theme({
							'.cm-scroller': { maxHeight: '420px', overflow: 'auto' },
							'.cm-content': { padding: '7px 0' },
							'.cm-line': { padding: '0 10px' },
						}),
				opt.fill
					? EditorView.theme({
							'&': { height: '100%' },
							'.cm-scroller': { overflow: 'auto' },
						})
					: [],
				history(),
				drawSelection(),
				indentOnInput(),
				bracketMatching(),
				highlightSelectionMatches(),
				keymap.of([
					...defaultKeymap,
					...historyKeymap,
					...searchKeymap,
					...(opt.fill ? [] : [indentWithTab]),
				]),
				LANGUAGES[opt.language]?.() ?? [],
				look(opt.dark),
				EditorState.readOnly.of(opt.readOnly),
				EditorView.contentAttributes.of({ 'aria-label': opt.label }),
				EditorView.updateListener.of((u) => u.docChanged && opt.change(u.state.doc.toString())),
			],
		}),
	})
	if (opt.fill) {
		const host = root.host as HTMLElement
		host.style.height = '100%'
	}
	root.append(view.dom)
	return view
}

export const known = Object.keys(LANGUAGES)

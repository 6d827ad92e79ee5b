// SPDX-License-Identifier: Apache-2.0
// Lets a library that makes <style> elements and style attributes work under `style-src 'self'`: its rules go into
// constructed style sheets and properties, which the policy allows, because only our scripts can make them.
function styleElement(): HTMLElement {
	const sheet = new CSSStyleSheet()
	const el = document.createElement('span')
	el.hidden = true
	Object.defineProperty(el, 'textContent', {
		set: (css: string) => sheet.replaceSync(css),
		get: () => [...sheet.cssRules].map((r) => r.cssText).join('\n'),
	})
	el.remove = () => {
		document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet)
		Element.prototype.remove.call(el)
	}
	document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
	return el
}

let installed = false

export function allowStyles(): void {
	if (installed) return
	installed = true
	const create = document.createElement.bind(document) as (
		name: string,
		options?: ElementCreationOptions,
	) => HTMLElement
	document.createElement = ((name: string, options?: ElementCreationOptions) =>
		name.toLowerCase() === 'style'
			? styleElement()
			: create(name, options)) as typeof document.createElement
	const set = Element.prototype.setAttribute
	Element.prototype.setAttribute = function (name: string, value: string) {
		if (name === 'style' && this instanceof HTMLElement) this.style.cssText = value
		else set.call(this, name, value)
	}
}

// Shows HTML that a program in a sandbox made. This page has an origin of its own, no network, and runs this script
// only; what could run or lead elsewhere is dropped besides.
const body = document.body
const BAD = 'script,meta,base,link,iframe,frame,object,embed,form,template,portal'

addEventListener('message', (event) => {
	if (event.source !== parent || typeof event.data?.html !== 'string') return
	const made = new DOMParser().parseFromString(event.data.html, 'text/html')
	for (const node of made.querySelectorAll(BAD)) node.remove()
	for (const node of made.querySelectorAll('*'))
		for (const { name, value } of [...node.attributes])
			if (/^on/i.test(name) || /^(href|src|srcset|poster|data|background|action|formaction|xlink:href|srcdoc)$/i.test(name))
				if (!/^(#|data:image\/)/i.test(value)) node.removeAttribute(name)
	body.className = event.data.dark ? 'dark' : ''
	body.replaceChildren(...made.head.querySelectorAll('style'), ...made.body.childNodes)
})

new ResizeObserver(() => parent.postMessage({ height: document.documentElement.scrollHeight }, '*')).observe(body)
parent.postMessage({ ready: true }, '*')

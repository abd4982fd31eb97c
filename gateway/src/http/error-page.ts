/** The page of error codes, to which the `doc_url` of every error leads. */
import { createHash } from 'node:crypto'

import { errors } from '@kinora/contract/errors'
import { taskErrors } from '@kinora/contract/task-errors'

import { escapeHtml } from '../platform/text/escape-html.ts'

const style = `
:root { color-scheme: light dark; --ink: #16181d; --soft: #5d6470; --paper: #f4f2ee; --line: #e3dfd7; --mark: #fff3c4 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f1efea; --soft: #a3a9b5; --paper: #121317; --line: #2b2e36; --mark: #3a3418 }
}
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1.5rem 50vh; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif }
section { border-top: 1px solid var(--line); padding: .75rem .5rem }
section:target { background: var(--mark) }
h3 { margin: 0; font: 600 1rem/1.5 ui-monospace, monospace }
h3 a { color: inherit; text-decoration: none }
p { margin: .25rem 0 }
small { color: var(--soft) }
code { font-family: ui-monospace, monospace }
`

/** No scripts, forms, frames or other origins. */
const policy = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Text in which backquotes mark code. */
const written = (text: string) => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')

const section = (code: string, lines: string[]) => `<section id="${code}">
<h3><a href="#${code}">${code}</a></h3>
${lines.join('\n')}
</section>
`

const responseSections = Object.entries(errors).map(([code, { status, type, message, hint }]) =>
  section(code, [
    `<small>${status} <code>${type}</code></small>`,
    `<p>${written(message)}</p>`,
    `<p>${written(hint)}</p>`,
    ...(code in taskErrors
      ? [`<p>Of a failed task: ${written(taskErrors[code as keyof typeof taskErrors])}</p>`]
      : []),
  ]),
)

const taskSections = Object.entries(taskErrors)
  .filter(([code]) => !(code in errors))
  .map(([code, message]) => section(code, [`<p>${written(message)}</p>`]))

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors</title>
<style>${style}</style>
</head>
<body>
<h1>Errors</h1>
<p>The message of an error may be more specific than the one listed here. Programs use <code>code</code>. Include
<code>request_id</code> when you report a problem.</p>
<h2>Errors of requests</h2>
${responseSections.join('')}
<h2>Errors of failed tasks only</h2>
${taskSections.join('')}
</body>
</html>
`

export const errorPage = {
  headers: { 'content-security-policy': policy, 'referrer-policy': 'no-referrer' },
  body: page,
}

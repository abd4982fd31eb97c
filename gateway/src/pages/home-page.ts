/** What a browser shows at `/`: no scripts, no other origins. */
import { createHash } from 'node:crypto'

import type { Service } from '@kinora/contract/operations/service'

import { escapeHtml } from '../platform/text/escape-html.ts'

const style = `
:root { color-scheme: light dark; --ink: #16181d; --soft: #5d6470; --paper: #f4f2ee; --card: #fff; --line: #e3dfd7;
  --link: #1a5fb4; --good: #1f7d53; --fair: #8a5600; --bad: #b03427 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f1efea; --soft: #a3a9b5; --paper: #121317; --card: #1a1c22; --line: #2b2e36;
    --link: #8ab4f8; --good: #3fb37f; --fair: #e0a030; --bad: #ee7b70 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 46rem; padding: 3rem 1.5rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem .75rem }
h1 { margin: 0; font-size: 2rem; line-height: 1.2 }
header small { color: var(--soft) }
header a { margin-left: auto; font-weight: 600; text-decoration: none }
a { color: var(--link) }
.operational { color: var(--good) } .degraded { color: var(--fair) } .down { color: var(--bad) }
section { margin: 1.5rem 0 0; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--card) }
h2 { margin: 0 0 .5rem; font-size: 1rem }
p { margin: .5rem 0 }
dl { display: grid; grid-template-columns: auto 1fr; gap: .25rem 1rem; margin: 0 }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
pre { margin: .5rem 0 0; padding: .75rem 1rem; border-radius: .5rem; background: var(--paper); white-space: pre-wrap; overflow-wrap: anywhere }
code { font: .9rem/1.5 ui-monospace, monospace }
ul { margin: 0; padding: 0; list-style: none }
li { margin: .35rem 0 }
li span { color: var(--soft) }
@media (max-width: 30rem) {
  body { padding: 1.5rem 1rem 3rem }
  header a { margin-left: 0; flex-basis: 100% }
  dl { grid-template-columns: 1fr; gap: 0 } dd + dt { margin-top: .5rem }
  li span { display: block }
  pre { padding: .5rem } pre code { font-size: .775rem }
}
`

export const homePagePolicy = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

const stateTexts: Record<string, string> = {
  operational: 'All systems operational',
  degraded: 'Some requests may fail or take longer',
  down: 'The service is down',
}

const link = (url: string, name: string, about: string) =>
  `<li><a href="${escapeHtml(url)}">${name}</a> <span>${about}</span></li>`

export const homePage = (service: Service): string => {
  const state = Object.hasOwn(stateTexts, service.state) ? service.state : 'down'
  const baseUrl = escapeHtml(service.base_url)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(service.name)}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>${escapeHtml(service.name)}</h1><small>${escapeHtml(service.version)}</small>
<a class="${state}" href="${escapeHtml(service.status_url)}">${stateTexts[state]}</a>
</header>
<main>
<p>One API for generated video, speech, transcription and chat with audio.</p>
<section>
<h2>Base URLs</h2>
<dl>
<dt>This API</dt><dd><code>${baseUrl}</code></dd>
<dt><code>openai</code> libraries</dt><dd><code>${escapeHtml(service.openai_base_url)}</code></dd>
</dl>
</section>
<section>
<h2>First request</h2>
<p>Set your API key, which the operator of this instance creates, and list the models that it can use.</p>
<pre><code>export KINORA_URL=${baseUrl}
export KINORA_API_KEY=sk-…
curl "$KINORA_URL/v1/models" \\
  -H "Authorization: Bearer $KINORA_API_KEY"</code></pre>
</section>
<section>
<h2>Next</h2>
<ul>
${[
  ...(service.console_url === null
    ? []
    : [link(service.console_url, 'Console', 'playground, tasks, keys and costs in the browser')]),
  link(service.docs_url, 'API reference', 'every operation, with code for each'),
  link(service.openapi_url, 'OpenAPI document', 'for tools and generated clients'),
  link(service.errors_url, 'Error codes', 'what each means, and what to do'),
  link(service.status_url, 'Status', 'now, and in the last 90 days'),
  link(service.llms_url, 'llms.txt', 'for language models'),
].join('\n')}
</ul>
</section>
</main>
</body>
</html>
`
}

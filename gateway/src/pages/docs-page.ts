/** The API reference: Scalar with our OpenAPI document. It loads nothing from other hosts. */
import { createHash } from 'node:crypto'

import { operations } from '@kinora/contract/operations'

import { escapeHtml } from '../platform/text/escape-html.ts'

/** Scalar's colors, darker or lighter until texts have a contrast of 4.5, and targets of 24 pixels. */
const style = `
:root { color-scheme: light dark }
body { margin: 0 }
body.light-mode { --scalar-color-2: #5f5f5f; --scalar-color-3: #676767; --scalar-color-green: #04704b;
  --scalar-color-red: #c60005; --scalar-color-blue: #0068a8; --scalar-color-accent: #0068a8; --scalar-color-orange: #b03c00; --scalar-color-yellow: #7a5f00;
  --scalar-sidebar-color-2: #5f5f5f; --scalar-sidebar-search-color: #5f5f5f }
body.dark-mode { --scalar-color-3: #a0a0a0; --scalar-color-red: #ff6b66; --scalar-sidebar-search-color: #a4a4a4 }
.markdown pre code.hljs { white-space: pre-wrap !important; overflow-wrap: anywhere }
/* Scalar focuses a section that a link leads to. */
[tabindex='-1']:focus { outline: none }
button.absolute { min-width: 24px; min-height: 24px }
`

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

export interface DocsPage {
  html: string
  policy: string
}

export const docsPage = (publicUrl: string, entryPath: string): DocsPage => {
  const { origin, pathname } = new URL(publicUrl)
  // A proxy may serve the API below a path.
  const root = pathname.replace(/\/$/, '')
  const entry = root + entryPath
  const options = {
    url: root + operations.getOpenapi.path,
    telemetry: false,
    withDefaultFonts: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    // Each operation has code of its own in the document.
    hiddenClients: true,
    hideModels: true,
    persistAuth: false,
    authentication: { preferredSecurityScheme: 'key' },
  }
  const script = `
import { createApiReference } from ${JSON.stringify(entry)}
// Scalar leaves these buttons without a name, and gives some a text later.
const nameButtons = () => {
  for (const button of document.querySelectorAll('button:not([aria-label]), button[data-named]')) {
    if (button.innerText.trim() === '') {
      button.setAttribute('aria-label', 'Copy')
      button.dataset.named = ''
    } else if ('named' in button.dataset) {
      button.removeAttribute('aria-label')
      delete button.dataset.named
    }
  }
}
const changes = { childList: true, subtree: true, characterData: true }
new MutationObserver(() => requestIdleCallback(nameButtons)).observe(document.body, changes)
createApiReference('#app', ${JSON.stringify(options)})
`
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kinora API reference</title>
<link rel="icon" href="data:,">
<link rel="modulepreload" href="${escapeHtml(entry)}">
<style>${style}</style>
</head>
<body>
<noscript><p>The reference needs JavaScript. The <a href="${escapeHtml(options.url)}">OpenAPI document</a> does not.</p></noscript>
<div id="app"></div>
<script type="module">${script}</script>
</body>
</html>
`,
    // Scalar writes styles at run time. Requests that readers send from the page go to the public URL.
    policy: [
      `default-src 'none'`,
      `script-src 'self' ${hashOf(script)}`,
      `style-src 'self' 'unsafe-inline'`,
      `img-src 'self' data:`,
      `font-src 'self'`,
      `connect-src 'self' ${origin}`,
      `media-src 'self' blob: ${origin}`,
      `base-uri 'none'`,
      `form-action 'none'`,
      `frame-ancestors 'none'`,
    ].join('; '),
  }
}

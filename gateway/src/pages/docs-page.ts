/** The API reference: Scalar with our OpenAPI document. It loads nothing from other hosts. */
import { createHash } from 'node:crypto'

import { operations } from '@kinora/contract/operations'

import { escapeHtml } from '../platform/text/escape-html.ts'

const style = `
:root { color-scheme: light dark }
body { margin: 0 }
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
    hiddenClients: true,
    persistAuth: false,
  }
  const script = `
import { createApiReference } from ${JSON.stringify(entry)}
createApiReference('#app', ${JSON.stringify(options)})
`
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kinora API reference</title>
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

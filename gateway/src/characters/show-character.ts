import { createHash } from 'node:crypto'

import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { findCharacterNamed } from './character-store.ts'
import { isUsername, type StoredCharacter } from './character.ts'
import { pageOf, type CharacterLinks } from './present-character.ts'

const style = `
:root { color-scheme: light dark; --ink: #16181d; --soft: #5d6470; --paper: #f4f2ee; --card: #fff; --line: #e3dfd7 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f1efea; --soft: #a3a9b5; --paper: #121317; --card: #1b1d23; --line: #2b2e36 }
}
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: min(100%, 26rem); background: var(--card); border: 1px solid var(--line); border-radius: 1.25rem;
  overflow: hidden }
video { display: block; width: 100%; max-height: 60vh; background: #000 }
header { display: flex; gap: 1rem; align-items: center; padding: 1.25rem 1.5rem }
img { width: 4.5rem; height: 4.5rem; border-radius: 50%; object-fit: cover; border: 1px solid var(--line) }
h1 { margin: 0; font-size: 1.35rem; line-height: 1.2; overflow-wrap: anywhere }
p { margin: .2rem 0 0; color: var(--soft); font-size: .9rem }
`

const styleHash = createHash('sha256').update(style).digest('base64')

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const page = (name: string, portraitUrl: string, clipUrl: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>@${name}</title>
<style>${style}</style>
</head>
<body>
<main>
<video src="${clipUrl}" poster="${portraitUrl}" controls loop playsinline preload="metadata"></video>
<header>
<img src="${portraitUrl}" alt="Portrait of @${name}" width="72" height="72">
<div><h1>@${name}</h1><p>A video character</p></div>
</header>
</main>
</body>
</html>
`

/** Allows only our own images, media and inline style: no scripts, forms, frames or other origins. */
const policyFor = (origin: string) =>
  [
    `default-src 'none'`,
    `img-src 'self' ${origin}`,
    `media-src 'self' ${origin}`,
    `style-src 'sha256-${styleHash}'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')

/** The web page of a character. It shows the name, the portrait and the clip, but not the owner. */
export const showCharacter = ({
  database,
  links,
  publicUrl,
}: CharacterLinks & { database: Database }): Handler<typeof operations.showCharacter> => {
  const policy = policyFor(new URL(publicUrl).origin)

  const isVisible = (character: StoredCharacter, query: string): boolean => {
    if (!character.isPrivate) return true
    // Without a valid link, a private page must look like a missing one.
    try {
      links.check(pageOf(character), query)
      return true
    } catch (error) {
      if (error instanceof ApiError && error.code === 'media_not_found') return false
      throw error
    }
  }

  return async ({ path, url }) => {
    const { username } = path
    const query = url.slice(url.indexOf('?') + 1)
    const character = isUsername(username) ? await findCharacterNamed(database, username) : undefined
    if (character === undefined || !isVisible(character, query)) throw new ApiError('character_not_found')
    return {
      headers: {
        'content-security-policy': policy,
        'referrer-policy': 'no-referrer',
        'x-robots-tag': 'noindex',
      },
      body: page(
        escaped(character.username),
        escaped(links.link(character.portraitMediaId, 'portrait.jpg')),
        escaped(links.link(character.clipMediaId, 'clip.mp4')),
      ),
    }
  }
}

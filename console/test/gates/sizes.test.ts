/** How much a browser downloads before it shows a screen. */
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

import { beforeAll, expect, test } from 'vitest'

import { getSeed } from '../kit/console.ts'

interface Chunk {
  file: string
  isEntry?: boolean
  imports?: string[]
  dynamicImports?: string[]
}

const initialBytesMax = 180_000
const routeBytesMax = 60_000

const dist = new URL('../../dist/', import.meta.url)
let manifest: Record<string, Chunk>
let entry: string

beforeAll(async () => {
  await getSeed()
  manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', dist), 'utf8')) as typeof manifest
  entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry === true) ?? ''
})

/** The scripts that a module loads at once, by their names. */
const findScripts = (name: string, found = new Set<string>()): Set<string> => {
  const chunk = manifest[name]
  if (chunk === undefined || found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const each of chunk.imports ?? []) findScripts(each, found)
  return found
}

const countBytes = (files: Iterable<string>) =>
  [...files].reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, dist))).length, 0)

test('the initial script has at most 180 kB', () => {
  const bytes = countBytes(findScripts(entry))
  console.log(`initial script: ${Math.round(bytes / 1000)} kB`)
  expect(bytes).toBeLessThan(initialBytesMax)
})

// The shell loads its menu after the first screen is shown, and the screens share its scripts.
test('a screen adds at most 60 kB to what every screen loads', () => {
  const shell = findScripts('src/shell/user-menu.tsx', findScripts(entry))
  const pages = (manifest[entry]?.dynamicImports ?? []).filter((name) => name.endsWith('-page.tsx'))
  expect(pages.length).toBeGreaterThan(10)
  const sizes = pages.map((name) => ({
    name,
    bytes: countBytes([...findScripts(name)].filter((file) => !shell.has(file))),
  }))
  const [largest] = sizes.toSorted((a, b) => b.bytes - a.bytes)
  console.log(`largest screen: ${largest?.name} with ${Math.round((largest?.bytes ?? 0) / 1000)} kB`)
  expect(sizes.filter(({ bytes }) => bytes > routeBytesMax)).toEqual([])
})

/** The built files of the web console. `npm run build:console` makes them, and `tools/build.ts` packages them. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { createFixedResponse, type FixedResponse } from '../platform/fixed-response.ts'
import { missingPage } from './missing-page.ts'
import { pagePolicy, policyHeaders } from './page-policy.ts'

const contentTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

const checkout = new URL('../../../console/', import.meta.url)

/** `dist` of the package, or of the folder in a checkout; undefined if it was not built. */
export const findConsoleFiles = (): URL | undefined => {
  const places = [checkout]
  try {
    const manifest = createRequire(import.meta.url).resolve('@kinora/console/package.json')
    places.push(pathToFileURL(join(dirname(manifest), '/')))
  } catch {
    // Not installed.
  }
  const dist = places.map((place) => new URL('dist/', place))
  return dist.find((each) => existsSync(new URL('index.html', each)))
}

/** Files of this folder have a hash of their content in their name. */
const isImmutable = (name: string) => name.startsWith('assets/')

export interface ConsoleFileSettings {
  /** Undefined if the console is not built. */
  findDirectory: () => URL | undefined
  /** Other origins that media is loaded from. */
  findMediaOrigins: () => Promise<string[]>
}

/** When the page was built; 0 if it is not. A build removes it for a moment. */
const readBuildTime = (directory: URL | undefined): number =>
  directory === undefined
    ? 0
    : (statSync(new URL('index.html', directory), { throwIfNoEntry: false })?.mtimeMs ?? 0)

/**
 * Finds the response for a path below `/console/`. A path that is no file is the page itself, which shows what belongs
 * there. A new build is served without a restart.
 */
export const openConsoleFiles = ({ findDirectory, findMediaOrigins }: ConsoleFileSettings) => {
  const open = (directory: URL | undefined) => {
    const builtAt = readBuildTime(directory)
    const names = new Set(
      directory === undefined
        ? []
        : readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
            (name) => extname(name) !== '',
          ),
    )
    const responses = new Map<string, FixedResponse>()
    const readFile = (name: string): FixedResponse => {
      const found = responses.get(name)
      if (found !== undefined) return found
      const response = createFixedResponse(readFileSync(new URL(name, directory)), {
        'content-type': contentTypes[extname(name)] ?? 'application/octet-stream',
        'cache-control': isImmutable(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      })
      responses.set(name, response)
      return response
    }
    const html = directory === undefined ? missingPage : readFileSync(new URL('index.html', directory))
    const createPage = async (): Promise<FixedResponse> =>
      createFixedResponse(html, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        ...policyHeaders(pagePolicy(await findMediaOrigins())),
      })
    let page: Promise<FixedResponse> | undefined
    const servePage: FixedResponse = async (header) => (await (page ??= createPage()))(header)
    return { directory, builtAt, names, responses, readFile, servePage }
  }
  let opened = open(findDirectory())
  const reopen = () => {
    const directory = opened.directory ?? findDirectory()
    const builtAt = readBuildTime(directory)
    if (builtAt !== 0 && builtAt !== opened.builtAt) opened = open(directory)
  }
  return (name: string): FixedResponse | undefined => {
    // A file that was read needs no look at the disk.
    if (!opened.responses.has(name)) reopen()
    if (name !== 'index.html' && opened.names.has(name)) return opened.readFile(name)
    return isImmutable(name) ? undefined : opened.servePage
  }
}

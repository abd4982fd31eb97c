/** The built files of Scalar that the API reference loads. `tools/build.ts` copies them into the package. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'

import { createFixedResponse, type FixedResponse } from '../platform/fixed-response.ts'

const packaged = new URL('../../reference/', import.meta.url)
const installed = new URL('../../../node_modules/@scalar/api-reference/', import.meta.url)

/** The file that loads the others. */
const entryFile = 'standalone.esm.js'

/** The files of `dist/browser` that are needed. */
export const isDocsFile = (name: string): boolean => name === entryFile || /^chunks\/[^/]+\.js$/.test(name)

export interface DocsFiles {
  /** Has the version, so that browsers may keep the files forever. */
  path: string
  entryPath: string
  /** Reads and compresses each file at its first request. */
  find: (name: string) => FixedResponse | undefined
}

/** Undefined in a checkout without development dependencies. */
export const openDocsFiles = (): DocsFiles | undefined => {
  const directory = [packaged, installed].find((each) => existsSync(each))
  if (directory === undefined) return undefined
  const { version } = JSON.parse(readFileSync(new URL('package.json', directory), 'utf8')) as {
    version: string
  }
  const root = new URL('dist/browser/', directory)
  const names = new Set(readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isDocsFile))
  const responses = new Map<string, FixedResponse>()
  const path = `/docs/files/${version}/`
  return {
    path,
    entryPath: path + entryFile,
    find: (name) => {
      if (!names.has(name)) return undefined
      const known = responses.get(name)
      if (known !== undefined) return known
      const response = createFixedResponse(readFileSync(new URL(name, root)), {
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
      })
      responses.set(name, response)
      return response
    },
  }
}

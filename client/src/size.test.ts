/** What a page loads. */
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

const gzipBytesMax = 12_000

test(`the public part has at most ${gzipBytesMax} bytes, and runs without Node`, async () => {
  const bundle = await rolldown({ input: join(import.meta.dirname, 'index.ts'), platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  const [{ code, imports, dynamicImports }, ...others] = output
  expect(others).toEqual([])
  expect([...imports, ...dynamicImports].filter((name) => builtinModules.includes(name))).toEqual([])
  const { length } = gzipSync(code)
  console.log(`@kinora/client has ${length} bytes`)
  expect(length).toBeLessThanOrEqual(gzipBytesMax)
})

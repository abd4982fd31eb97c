import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { pythonSnippets } from './python.ts'

test('every Python example of the documentation is run by a behaviour', () => {
  const examples = readdirSync(join(import.meta.dirname, '../../docs/snippets')).filter((name) =>
    name.endsWith('.py'),
  )
  expect(examples.length).toBeGreaterThan(0)
  expect(pythonSnippets.toSorted()).toEqual(examples.toSorted())
})

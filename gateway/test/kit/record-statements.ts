/** Records the statements that tests execute, with the lines of gateway/src that they come from, for `tools/statements`. */
import { appendFileSync } from 'node:fs'
import { getCallSites } from 'node:util'

import pg from 'pg'
import { inject } from 'vitest'

const file = `${inject('statements')}/${process.pid}.jsonl`
const recorded = new Set<string>()

const isSource = (path: string) =>
  path.includes('/gateway/src/') && !path.endsWith('.test.ts') && !path.endsWith('/platform/postgres.ts')

/** The lines of gateway/src that led to this call, from the innermost outwards. */
const readCallers = (): string[] => {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 50
  const { stack = '' } = new Error('for its stack')
  Error.stackTraceLimit = stackTraceLimit
  return stack.match(/gateway\/src\/\S+?\.ts:\d+/g) ?? []
}

const record = (query: string | { text?: string }) => {
  const text = typeof query === 'string' ? query : query.text
  if (text === undefined || recorded.has(text)) return
  // Tests execute many statements themselves. Call sites are cheaper than a stack, which is mapped to TypeScript.
  if (!getCallSites(50).some(({ scriptName }) => isSource(scriptName))) return
  recorded.add(text)
  appendFileSync(file, `${JSON.stringify({ text, callers: readCallers() })}\n`)
}

type Prototype = { query: (...given: never[]) => unknown }
for (const prototype of [pg.Client.prototype, pg.Pool.prototype] as Prototype[]) {
  const { query } = prototype
  // The test files of a process share the prototypes.
  if (query.name === 'recordedQuery') continue
  prototype.query = function recordedQuery(...given) {
    record(given[0] as unknown as string)
    return query.apply(this, given)
  }
}

import { readForTest } from '../kit/access/access-calls.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { member, textOf } from '../kit/json/lenient-json.ts'
import type { Access } from '../port/access.ts'
import type { EngineState } from '../port/provider.ts'

/** Reads the engines of the built-in provider's models; invalid rows are skipped. */
export function localEngines(settings: {
  baseUrl: string
}): (signal: AbortSignal) => Promise<Record<string, EngineState>> {
  const upstream = upstreamAt({ baseUrl: settings.baseUrl, connections: 1 })
  return async (signal) => {
    const { body } = await upstream.callJson({ what: 'engines', method: 'GET', path: '/engines', signal })
    const rows = typeof body === 'object' && body !== null ? Object.entries(body) : []
    return Object.fromEntries(
      rows.flatMap(([model, row]): [string, EngineState][] => {
        const engine = textOf(member(row, 'engine'))
        const wanted = textOf(member(row, 'wanted'))
        const quality = textOf(member(row, 'quality'))
        if (engine === undefined || wanted === undefined || quality === undefined) return []
        return [[model, { engine, wanted, quality, pull: textOf(member(row, 'pull')) }]]
      }),
    )
  }
}

/** The list of its engines is the cheapest call of the built-in provider. */
export function localAccess({ baseUrl }: { baseUrl: string }): Access {
  const upstream = upstreamAt({ baseUrl, connections: 1 })
  return {
    host: new URL(baseUrl).host,
    check: async (signal) => {
      await readForTest(upstream, '/engines', signal)
      return { kind: 'not-verified', why: 'The built-in provider has no key.' }
    },
  }
}

import { expect, test } from 'vitest'

import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import { localEngines } from './local-engines.ts'

test('engines are read row by row, and invalid rows are skipped', async () => {
  let engineRows: unknown
  await using server = await listenForTest((request, response) => {
    response.statusCode = request.url === '/engines' ? 200 : 404
    response.end(JSON.stringify(engineRows))
  })
  const engines = () => localEngines({ baseUrl: server.url })(AbortSignal.timeout(120_000))
  const row = { engine: 'kokoro-small', wanted: 'kokoro', quality: 'Natural.' }
  engineRows = {
    a: { ...row, pull: 'kinora models pull speech', more: 1 },
    b: row,
    c: { engine: 'x' },
    d: null,
    e: 'f',
  }
  expect(await engines()).toEqual({
    a: { ...row, pull: 'kinora models pull speech' },
    b: { ...row, pull: undefined },
  })
  for (engineRows of [null, 'text', 7, []]) expect(await engines()).toEqual({})
})

test('an unreachable provider is a failure of the call', async () => {
  const server = await listenForTest(() => undefined)
  await server[Symbol.asyncDispose]()
  const engines = localEngines({ baseUrl: server.url })
  expect(await failureOf(engines(AbortSignal.timeout(120_000)))).toMatchObject({ kind: 'not_delivered' })
})

/**
 * One seeded console for all test files. The first file that asks starts it, so that it does not run beside the tests of
 * other projects.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { TestProject } from 'vitest/node'

import { startSeededConsole } from './seeded-console.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with the seeded console as JSON. */
    consoleUrl: string
  }
}

export default async (project: TestProject) => {
  let starting: ReturnType<typeof startSeededConsole> | undefined
  const server = createServer((_request, response) => {
    starting ??= startSeededConsole(process.env['KINORA_TEST_COMMAND'])
    starting.then(
      ({ seeded }) => response.end(JSON.stringify(seeded)),
      (error: unknown) => response.writeHead(500).end(String((error as Error).stack)),
    )
  })
  // A request lasts as long as the start.
  server.requestTimeout = 0
  await new Promise<void>((resolve) => {
    server.listen({ host: '127.0.0.1', port: 0 }, resolve)
  })
  project.provide('consoleUrl', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return async () => {
    server.close()
    server.closeAllConnections()
    const started = await starting?.catch(() => undefined)
    await started?.[Symbol.asyncDispose]()
  }
}

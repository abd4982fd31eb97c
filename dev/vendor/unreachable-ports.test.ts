import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'

import { expect, test } from 'vitest'

import { startBlackHole, startPlainPort } from './unreachable-ports.ts'

test('a black hole neither accepts nor refuses a connection, and closes', async () => {
  const hole = await startBlackHole()
  const port = Number(new URL(hole.url).port)
  const socket = connectTcp(port, '127.0.0.1')
  const outcome = once(socket, 'connect', { signal: AbortSignal.timeout(300) })
  await expect(outcome).rejects.toMatchObject({ name: 'AbortError' })
  socket.destroy()
  await hole.close()
  await expect(once(connectTcp(port, '127.0.0.1'), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('a plain port does not support TLS', async () => {
  const plain = await startPlainPort()
  const socket = connectTls({ port: Number(new URL(plain.url).port), host: '127.0.0.1' })
  await expect(once(socket, 'secureConnect')).rejects.toMatchObject({
    code: expect.stringMatching(/SSL|TLS/),
  })
  await plain.close()
})

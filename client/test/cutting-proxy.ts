/** A proxy in front of the API that breaks connections while responses pass through it. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** `lose`: the response is never sent. `cut`: the connection breaks after this part of it. */
export type Fate = 'pass' | 'lose' | 'cut'

export interface CuttingProxy extends AsyncDisposable {
  url: string
}

/** `decide` gets the first line of the request and says what happens to a part of its response. */
export const startCuttingProxy = async (
  targetUrl: string,
  decide: (requestLine: string, part: Buffer) => Fate,
): Promise<CuttingProxy> => {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    let requestLine = ''
    const far = connect({ host: target.hostname, port: Number(target.port) })
    const close = () => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', close).on('close', () => {
        sockets.delete(socket)
        close()
      })
    }
    near.on('data', (part: Buffer) => {
      requestLine = /^[A-Z]+ \S+(?= HTTP)/.exec(part.toString('latin1'))?.[0] ?? requestLine
      far.write(part)
    })
    far.on('data', (part: Buffer) => {
      const fate = decide(requestLine, part)
      if (fate === 'pass') near.write(part)
      if (fate === 'lose') close()
      if (fate === 'cut') near.write(part, close)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

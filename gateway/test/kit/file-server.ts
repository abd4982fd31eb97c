/** A third-party web server that serves files. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FileServer extends AsyncDisposable {
  url: string
  /** The requested paths. */
  asked: string[]
}

/** Every response waits for `ready`. */
export const serveFiles = async (
  files: Record<string, Buffer>,
  ready = Promise.resolve(),
): Promise<FileServer> => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const file = files[path]
    void ready.then(() => {
      if (file === undefined) response.writeHead(404).end()
      else response.writeHead(200, { 'content-type': 'video/mp4' }).end(file)
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => {
        server.close(resolve)
      })
      server.closeAllConnections()
      await closed
    },
  }
}

/** A third-party web server that serves files. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FileServer extends AsyncDisposable {
  url: string
  /** The requested paths. */
  asked: string[]
}

export const serveFiles = async (files: Record<string, Buffer>): Promise<FileServer> => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const file = files[path]
    if (file === undefined) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': 'video/mp4' }).end(file)
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

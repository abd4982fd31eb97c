/** A server that only shows a certificate, in the place of the proxy at PUBLIC_URL. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'

export const startCertifiedServer = async (): Promise<{ url: string } & AsyncDisposable> => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-certificate-'))
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(directory.path, name)) as [string, string]
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-noenc', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    ...['-subj', '/CN=kinora', '-days', '90', '-keyout', key, '-out', cert],
  ])
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (socket) =>
    socket.on('error', () => undefined).end(),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}

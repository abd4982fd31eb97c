/** The certificate of a server. */
import { connect, type TLSSocket } from 'node:tls'

export interface Validity {
  from: Date
  to: Date
}

/** When the certificate of the other side is valid; undefined if it has shown none. */
export const validityOf = (socket: TLSSocket): Validity | undefined => {
  const { valid_from: from, valid_to: to } = socket.getPeerCertificate()
  return from === undefined || to === undefined ? undefined : { from: new Date(from), to: new Date(to) }
}

/** Connects to the host of an https URL. A certificate that is not trusted, or has expired, is returned as well. */
export const readCertificate = (url: string, timeoutMs: number): Promise<Validity | undefined> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const socket = connect({
      ...{ host, port: port === '' ? 443 : Number(port), rejectUnauthorized: false },
      // An address is no name of a server.
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    })
    const timer = setTimeout(
      () => socket.destroy(new Error(`no certificate within ${timeoutMs} ms`)),
      timeoutMs,
    )
    socket
      .once('secureConnect', () => {
        const validity = validityOf(socket)
        socket.destroy()
        resolve(validity)
      })
      .once('error', reject)
      .once('close', () => {
        clearTimeout(timer)
        reject(new Error('the connection was closed before a certificate was shown'))
      })
  })

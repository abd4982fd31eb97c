import type { Log } from '../platform/log.ts'
import { isMeasured, observe } from '../platform/metrics/metrics.ts'
/** How long the certificate at PUBLIC_URL is valid. */
import { readCertificate, type Validity } from './read-certificate.ts'

const everyMs = 3_600_000
/** The proxy may start after the worker. */
const retryMs = 300_000
const timeoutMs = 20_000

/** Reads the certificate now, and every hour, until the returned function is called. */
export const observeCertificate = (publicUrl: string, log: Log): (() => void) => {
  if (!publicUrl.startsWith('https:')) return () => undefined
  let validity: Validity | undefined
  let hasWarned = false
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const read = async () => {
    if (!isMeasured()) return everyMs
    try {
      validity = await readCertificate(publicUrl, timeoutMs)
      hasWarned = false
      return everyMs
    } catch (error) {
      if (!hasWarned) log.warn({ err: error, url: publicUrl }, 'certificate.not-read')
      hasWarned = true
      return retryMs
    }
  }
  const refresh = async () => {
    const delayMs = await read()
    if (!isStopped) timer = setTimeout(() => void refresh(), delayMs).unref()
  }
  void refresh()
  const stop = observe('kinora.certificate.expires_in', () =>
    validity === undefined ? [] : [[(validity.to.getTime() - Date.now()) / 1000, {}]],
  )
  return () => {
    isStopped = true
    clearTimeout(timer)
    stop()
  }
}

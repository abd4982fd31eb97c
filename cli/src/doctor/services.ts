/** Checks the services that the roles connect to. */
import { connect } from 'node:http2'

import { inspectDatabase, pingRedis } from '@kinora/gateway/main'

import { absent, codeOf, failed, messageOf, ok, timeoutMs, warning, type Check } from './check.ts'

const startsItsOwn = 'kinora dev starts its own'

const preparedFix =
  'use PgBouncer 1.21 or later with max_prepared_statements = 200, or its session mode, or let DATABASE_URL lead to PostgreSQL itself'
const databaseFixes: Record<string, string> = {
  ECONNREFUSED: 'start PostgreSQL, or correct the host and port in DATABASE_URL',
  ENOTFOUND: 'correct the host in DATABASE_URL',
  EAI_AGAIN: 'correct the host in DATABASE_URL, or the DNS of this machine',
  ETIMEDOUT: 'correct the host in DATABASE_URL, or let the firewall pass this machine',
  // Codes of PostgreSQL: invalid password, no entry in pg_hba.conf or no such role, no such database.
  '28P01': 'correct DATABASE_PASSWORD, or the password in DATABASE_URL',
  '28000': 'correct the user in DATABASE_URL, or allow it in pg_hba.conf',
  // Codes of a pooler: a refused timeout, and prepared statements that it does not know.
  '08P01': 'set DATABASE_DIRECT_URL to the address of PostgreSQL itself: DATABASE_URL leads to a pooler',
  '26000': preparedFix,
  '42P05': preparedFix,
  '3D000': 'create the database (createdb), or correct its name in DATABASE_URL',
}
const serverMajorMin = 15
/** Expiry and leases compare the clocks of several machines. */
const clockSkewMsMax = 5_000

export const postgres = async (
  settings: Parameters<typeof inspectDatabase>[0] | undefined,
): Promise<Check> => {
  const name = 'PostgreSQL'
  if (settings === undefined) return absent(name, `DATABASE_URL is not set; ${startsItsOwn}`)
  try {
    const beganAtMs = Date.now()
    const state = await inspectDatabase(settings, timeoutMs)
    const { migrationProblem, loggingFixes, serverMajor, now, timeoutFixes } = state
    // The time of the server lies between the two, unless a clock is wrong.
    const clockSkewMs = Math.max(beganAtMs - now.getTime(), now.getTime() - Date.now(), 0)
    if (serverMajor < serverMajorMin)
      return failed(name, `version ${serverMajor} is too old`, `upgrade it to ${serverMajorMin} or later`)
    if (migrationProblem !== undefined) return failed(name, migrationProblem, 'kinora migrate')
    if (clockSkewMs > clockSkewMsMax) {
      const seconds = Math.round(clockSkewMs / 1000)
      return failed(
        name,
        `its clock differs from that of this machine by ${seconds} s`,
        'apt-get install chrony',
      )
    }
    if (!state.hearsNotifications) {
      const fix =
        settings.DATABASE_DIRECT_URL === undefined
          ? 'set DATABASE_DIRECT_URL to the address of PostgreSQL itself'
          : 'let DATABASE_DIRECT_URL lead to PostgreSQL itself'
      return failed(name, 'notifications do not arrive: a pooler in transaction mode drops them', fix)
    }
    if (timeoutFixes.length > 0) {
      return warning(
        name,
        'statements behind the pooler have no timeouts',
        `${timeoutFixes.join(' ')} Then restart the pooler`,
      )
    }
    if (loggingFixes.length > 0) {
      return warning(
        name,
        'its log may contain rows and values of customers',
        `as a superuser: ${loggingFixes.join(' ')} Then restart the roles`,
      )
    }
    return ok(name, `version ${serverMajor}, reachable and up to date`)
  } catch (error) {
    return failed(name, messageOf(error), databaseFixes[codeOf(error)] ?? 'start it, or correct DATABASE_URL')
  }
}

export const redis = async (url: string | undefined): Promise<Check> => {
  if (url === undefined)
    return absent('Redis', 'REDIS_URL is not set; only needed with several API processes')
  try {
    await pingRedis(url, timeoutMs)
    return ok('Redis', 'reachable')
  } catch (error) {
    const isRefused = /WRONGPASS|NOAUTH|invalid password/.test(messageOf(error))
    const fix = isRefused ? 'correct the password in REDIS_URL' : 'start it, or correct REDIS_URL'
    return failed('Redis', messageOf(error), fix)
  }
}

export const restate = async (
  adminUrls: string[] | undefined,
  ingressUrls: string[] | undefined,
): Promise<Check> => {
  if (adminUrls === undefined || ingressUrls === undefined) {
    return absent('Restate', `RESTATE_ADMIN_URL and RESTATE_INGRESS_URL are not set; ${startsItsOwn}`)
  }
  try {
    for (const address of [
      ...adminUrls.map((url) => `${url.trim()}/health`),
      ...ingressUrls.map((url) => `${url.trim()}/restate/health`),
    ]) {
      const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`${address} responded with ${response.status}`)
    }
    return ok('Restate', 'reachable')
  } catch (error) {
    return failed(
      'Restate',
      messageOf(error),
      'start it, or correct RESTATE_ADMIN_URL and RESTATE_INGRESS_URL',
    )
  }
}

/** Calls a worker without the signature of Restate; returns the status of the response. */
const callUnsigned = (workerUrl: string): Promise<number> =>
  new Promise<number>((resolve, reject) => {
    const session = connect(workerUrl)
    const fail = (error: Error) => {
      session.destroy()
      reject(error)
    }
    session.on('error', fail).setTimeout(timeoutMs, () => fail(new Error(`${workerUrl} does not respond`)))
    const stream = session.request({ ':path': '/discover' }).on('error', fail)
    stream.on('response', ({ ':status': status = 0 }) => {
      session.destroy()
      resolve(status)
    })
  })

export const engineKey = async (workerUrl: string | undefined): Promise<Check> => {
  const name = 'engine key'
  if (workerUrl === undefined) return absent(name, `WORKER_URL is not set; ${startsItsOwn}`)
  try {
    return (await callUnsigned(workerUrl)) === 401
      ? ok(name, 'workers refuse calls that Restate has not signed')
      : failed(
          name,
          `${workerUrl} accepts calls that Restate has not signed`,
          'kinora engine-key <directory>; see docs/operating.md, Restate',
        )
  } catch (error) {
    return absent(name, `not checked: ${messageOf(error)}`, 'start the worker, or correct WORKER_URL')
  }
}

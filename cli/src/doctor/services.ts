/** Checks the services that the roles connect to. */
import { connect } from 'node:http2'

import { inspectDatabase, pingRedis } from '@kinora/gateway/main'

import { absent, codeOf, failed, messageOf, ok, timeoutMs, warning, type Check } from './check.ts'

const startsItsOwn = 'kinora dev starts its own'

const databaseFixes: Record<string, string> = {
  ECONNREFUSED: 'start PostgreSQL, or correct the host and port in DATABASE_URL',
  ENOTFOUND: 'correct the host in DATABASE_URL',
  EAI_AGAIN: 'correct the host in DATABASE_URL, or the DNS of this machine',
  ETIMEDOUT: 'correct the host in DATABASE_URL, or let the firewall pass this machine',
  // Codes of PostgreSQL: invalid password, no entry in pg_hba.conf or no such role, no such database.
  '28P01': 'correct DATABASE_PASSWORD, or the password in DATABASE_URL',
  '28000': 'correct the user in DATABASE_URL, or allow it in pg_hba.conf',
  '3D000': 'create the database (createdb), or correct its name in DATABASE_URL',
}
const serverMajorMin = 15
/** Expiry and leases compare the clocks of several machines. */
const clockSkewMsMax = 5_000

export const postgres = async (url: string | undefined): Promise<Check> => {
  const name = 'PostgreSQL'
  if (url === undefined || url === '') return absent(name, `DATABASE_URL is not set; ${startsItsOwn}`)
  try {
    const beganAtMs = Date.now()
    const { migrationProblem, loggingFixes, serverMajor, now } = await inspectDatabase(
      { DATABASE_URL: url },
      timeoutMs,
    )
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
  adminUrl: string | undefined,
  ingressUrl: string | undefined,
): Promise<Check> => {
  if (adminUrl === undefined || ingressUrl === undefined) {
    return absent('Restate', `RESTATE_ADMIN_URL and RESTATE_INGRESS_URL are not set; ${startsItsOwn}`)
  }
  try {
    for (const address of [`${adminUrl}/health`, `${ingressUrl}/restate/health`]) {
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

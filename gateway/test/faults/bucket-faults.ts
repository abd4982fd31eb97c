/** Faults of the bucket. Creates and reads of tasks go on meanwhile, and results wait to be stored. */
import { setTimeout as sleep } from 'node:timers/promises'

import type { BucketFault, BucketPart } from './bucket-part.ts'
import { headersOf } from './retrying.ts'
import type { Fault, FaultScene } from './run-fault.ts'

const killedMs = 60_000
const faultMs = 30_000

const bucketOf = ({ stack: { bucket } }: FaultScene): BucketPart => {
  if (bucket === undefined) throw new Error('the stack has no bucket')
  return bucket
}

/** The response to a request for the content of a completed task. */
const readResult = async ({ stack, client }: FaultScene): Promise<string> => {
  for (const customer of client.customers) {
    const request = { headers: headersOf(customer) }
    const list = await fetch(`${stack.origins[0]}/v1/videos?limit=100`, request)
    const { data } = (await list.json()) as { data: { id: string; status: string }[] }
    const completed = data.find(({ status }) => status === 'completed')
    if (completed === undefined) continue
    const response = await fetch(`${stack.origins[0]}/v1/videos/${completed.id}/content`, request)
    const text = response.ok ? '' : await response.text()
    await response.body?.cancel().catch(() => undefined)
    return `${response.status} ${text}`
  }
  return 'no task was completed before'
}

/** Reports whether the APIs say what is wrong: in readiness, and in the response to a request for a result. */
const reportMessages = async (scene: FaultScene, readiness: RegExp, result: RegExp) => {
  const { stack, client, report } = scene
  const ready = await fetch(`${stack.origins[0]}/readyz`)
  const { warnings = [] } = (await ready.json()) as { warnings?: string[] }
  const check = (name: string, isMet: boolean, found: string) => {
    report(name, isMet ? 1 : 0)
    if (!isMet) client.failures.push(`${name}: ${found}`)
  }
  check(
    'readiness says why',
    ready.ok && warnings.some((text) => readiness.test(text)),
    `${ready.status} ${JSON.stringify(warnings)}`,
  )
  const answer = await readResult(scene)
  check('a result says why', result.test(answer), answer)
}

const unavailable = /^503 .*The media storage is unavailable at the moment/
/** A bucket that is full can be read. */
const readable = /^200 /

const withProxy = (fault: BucketFault, pattern?: RegExp): Fault => ({
  run: async (scene) => {
    const bucket = bucketOf(scene)
    bucket.set(fault)
    await sleep(faultMs)
    if (pattern !== undefined) await reportMessages(scene, pattern, unavailable)
    bucket.set(undefined)
  },
})

const withAdministrator = (
  begin: string[][],
  end: string[][],
  pattern: RegExp,
  result = unavailable,
): Fault => ({
  run: async (scene) => {
    const { ceph } = bucketOf(scene)
    for (const parameters of begin) await ceph.administer(...parameters)
    await sleep(faultMs)
    await reportMessages(scene, pattern, result)
    for (const parameters of end) await ceph.administer(...parameters)
  },
})

const quota = '--quota-scope=bucket'

export const bucketFaults: Record<string, Fault> = {
  'bucket killed': {
    run: async (scene) => {
      const { ceph } = bucketOf(scene)
      await ceph.killGateway()
      await sleep(killedMs)
      await reportMessages(scene, /cannot be used: ECONN/, unavailable)
      await ceph.startGateway()
    },
  },
  'bucket slow': withProxy('slow'),
  'bucket busy': withProxy('busy', /cannot be used: it responds with status 503/),
  'bucket answers cut': withProxy('truncated'),
  'bucket denies access': withAdministrator(
    [['user', 'suspend']],
    [['user', 'enable']],
    /cannot be used: access is denied/,
  ),
  'bucket full': withAdministrator(
    [
      ['quota', 'set', quota, '--max-objects=1'],
      ['quota', 'enable', quota],
    ],
    [['quota', 'disable', quota]],
    /QuotaExceeded/,
    readable,
  ),
}

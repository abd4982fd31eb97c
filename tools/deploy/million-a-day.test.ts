/** The overlay for a million tasks a day: valid, and as large as docs/scale.md calculates. */
import { readFileSync } from 'node:fs'

import { settings } from '@kinora/gateway/config'
import { afterAll, expect, test } from 'vitest'

import { planFor } from '../scale/plan.ts'
import { assumed } from '../scale/task-costs.ts'
import { buildKustomization, type Manifest } from './kustomize.ts'
import { copyMillion, isWorkload, type Container, type Workload } from './manifests.ts'
import { problemsOf } from './validate-manifest.ts'

const { directory, remove } = copyMillion()
afterAll(remove)
const manifests = buildKustomization(directory)
const plan = planFor(1_000_000)

const find = (kind: string, name: string): Manifest => {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name)
  if (found === undefined) throw new Error(`no ${kind} ${name}`)
  return found
}
const workloadOf = (kind: 'Deployment' | 'StatefulSet', name: string): Workload => {
  const found = find(kind, name)
  if (!isWorkload(found)) throw new Error(`${kind} ${name} has no pods`)
  return found
}
const worker = workloadOf('Deployment', 'kinora-worker')
const restate = workloadOf('StatefulSet', 'kinora-restate')
const containerOf = ({ spec }: Workload): Container => spec.template.spec.containers[0]
const shared = find('ConfigMap', 'kinora-settings').data ?? {}
const scaler = (find('HorizontalPodAutoscaler', 'kinora-api') as { spec?: Record<string, number> } & Manifest)
  .spec

const processors = (quantity = '0') =>
  quantity.endsWith('m') ? Number(quantity.slice(0, -1)) / 1_000 : Number(quantity)

test.for(manifests.map((each) => [`${each.kind} ${each.metadata.name}`, each] as const))(
  '%s is valid',
  ([, manifest]) => {
    expect(problemsOf(manifest)).toEqual([])
  },
)

test('every shared setting exists and has a valid value', () => {
  for (const [name, value] of Object.entries(shared)) {
    expect(Object.keys(settings)).toContain(name)
    settings[name as keyof typeof settings].read(value)
  }
})

test('there are as many API processes and workers as calculated, and they may use the processors that they need', () => {
  expect(scaler?.['minReplicas']).toBeGreaterThanOrEqual(plan.apis)
  const workers = worker.spec.replicas ?? 0
  expect(workers).toBeGreaterThanOrEqual(plan.workers)
  const decoding = Number(settings.RESULT_DECODE_PERCENT.default) / 100
  expect(processors(containerOf(worker).resources.requests['cpu'])).toBeGreaterThanOrEqual(
    plan.busy.worker / workers + decoding,
  )
  const api = containerOf(workloadOf('Deployment', 'kinora-api')).resources.requests
  expect(processors(api['cpu']) * (scaler?.['minReplicas'] ?? 0)).toBeGreaterThanOrEqual(plan.busy.api)
  expect(processors(containerOf(restate).resources.requests['cpu'])).toBeGreaterThanOrEqual(plan.busy.restate)
})

test('workers download as many results at once as arrive at the peak, and Restate allows it', () => {
  const downloads = Number(shared['LIMIT_DOWNLOADS'])
  const workers = worker.spec.replicas ?? 0
  expect(downloads * workers).toBeGreaterThanOrEqual(plan.perSecond.peak * assumed.downloadSeconds.value)
  const limit = containerOf(restate).env?.find(
    ({ name }) => name === 'RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT',
  )
  expect(Number(limit?.value)).toBe(downloads * workers + 24)
})

test('PostgreSQL allows the connections of as many processes as there may be', () => {
  const page = readFileSync(new URL('../../docs/scale.md', import.meta.url), 'utf8')
  const [, connectionsMax] = /`max_connections` of (\d+)/.exec(page) ?? []
  const processes = (scaler?.['maxReplicas'] ?? 0) + (worker.spec.replicas ?? 0)
  // As docs/operating.md counts them, and those of PostgreSQL for superusers.
  const connections = processes * (Number(settings.DATABASE_CONNECTIONS.default) + 3) + 10
  expect(Number(connectionsMax)).toBeGreaterThanOrEqual(connections)
})

test('a customer with a tenth of the tasks may poll from one address', () => {
  expect(Number(shared['LIMIT_ADDRESS_PER_3_MINUTES'])).toBeGreaterThanOrEqual((plan.reads / 10) * 180)
})

test('results are in the bucket: no pod has a shared volume, and both roles have the credentials', () => {
  expect(manifests.filter(({ metadata }) => metadata.name === 'kinora-media')).toEqual([])
  expect(shared['MEDIA_STORE']).toMatch(/^s3:/)
  expect(Number(shared['MEDIA_REDIRECT_SECONDS'])).toBeGreaterThan(0)
  for (const name of ['kinora-api', 'kinora-worker']) {
    const pods = workloadOf('Deployment', name)
    expect(
      pods.spec.template.spec.volumes.every((volume) => volume.persistentVolumeClaim === undefined),
    ).toBe(true)
    const secrets = (containerOf(pods).envFrom ?? []).flatMap(({ secretRef }) => secretRef?.name ?? [])
    expect(secrets).toEqual(['kinora-bucket'])
    expect(Object.keys(find('Secret', 'kinora-bucket').data ?? {})).toEqual([
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
    ])
  }
})

/** The manifests in deploy/kubernetes: valid, complete and in agreement with the settings, the image and compose.yaml. */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { settings } from '@kinora/gateway/config'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { repeatForMs } from '../../gateway/src/platform/while-unavailable.ts'
import { buildKustomization, type Manifest } from './kustomize.ts'
import {
  compose,
  copyExample,
  copyMillion,
  exampleManifests,
  isWorkload,
  root,
  type Container,
  type Workload,
} from './manifests.ts'
import { problemsOf } from './validate-manifest.ts'

const manifests = exampleManifests()
const workloads = manifests.filter(isWorkload)
const roles = ['api', 'worker', 'local', 'migrate', 'pull-models']
const decoding = ['api', 'worker', 'local']

const componentOf = (workload: Workload) => workload.metadata.labels?.['app.kubernetes.io/component'] ?? ''
const workload = (component: string): Workload => {
  const found = workloads.find((each) => componentOf(each) === component)
  if (found === undefined) throw new Error(`no workload ${component}`)
  return found
}
/** The migration is the init container of the API and the workers. */
const podOf = (component: string) => workload(component === 'migrate' ? 'api' : component).spec.template.spec
const containerOf = (component: string): Container => {
  const { initContainers, containers } = podOf(component)
  if (component !== 'migrate') return containers[0]
  if (initContainers === undefined) throw new Error('no init container')
  return initContainers[0]
}
const named = (kind: string, name: string): Manifest | undefined =>
  manifests.find((each) => each.kind === kind && each.metadata.name === name)
const keysOf = (kind: string, name: string) => Object.keys(named(kind, name)?.data ?? {})

/** The settings that a role gets, with the values that are not secret. */
const environmentOf = (component: string): Record<string, string | undefined> => {
  const { env = [], envFrom = [] } = containerOf(component)
  const shared = envFrom.map(({ configMapRef }) => named('ConfigMap', configMapRef?.name ?? '')?.data ?? {})
  const own = env.map(({ name, value, valueFrom }) => {
    const { configMapKeyRef: reference } = valueFrom ?? {}
    const referenced = reference && named('ConfigMap', reference.name)?.data?.[reference.key]
    return [name, value ?? referenced] as const
  })
  return { ...Object.assign({}, ...shared), ...Object.fromEntries(own) }
}

test.for(manifests.map((each) => [`${each.kind} ${each.metadata.name}`, each] as const))(
  '%s is valid',
  ([, manifest]) => {
    expect(problemsOf(manifest)).toEqual([])
  },
)

const misspelled = (component: string, right: string, wrong: string): Manifest =>
  JSON.parse(JSON.stringify(workload(component)).replace(`"${right}":`, `"${wrong}":`)) as Manifest

test('an unknown field, a wrong value and an unknown kind are found', () => {
  expect(problemsOf(misspelled('api', 'strategy', 'stratgy'))).toEqual(['/spec/stratgy is not a field'])
  expect(problemsOf(misspelled('api', 'timeoutSeconds', 'timeoutSecond'))).toEqual([
    '/spec/template/spec/containers/0/readinessProbe/timeoutSecond is not a field',
  ])
  expect(problemsOf(misspelled('api', 'selector', 'selectors'))).not.toEqual([])
  const wrong = structuredClone(workload('worker'))
  Object.assign(wrong.spec, { replicas: 'two' })
  expect(problemsOf(wrong).join()).toContain('replicas')
  expect(problemsOf({ ...workload('api'), kind: 'Deploymnt' })).toEqual(['apps/v1 Deploymnt has no schema'])
})

const kubectl = spawnSync('kubectl', ['version', '--client', '--output=json'], { encoding: 'utf8' })

// An extra check of our own reader, which is what all other tests use.
if (kubectl.stdout?.includes('kustomizeVersion')) {
  test.for([
    ['the example', () => copyExample()],
    ['a sandbox', () => copyExample(['sandbox', 'apparmor-profile', 'worker-autoscaling'])],
    ['a sandbox without AppArmor', () => copyExample(['sandbox', 'without-apparmor'])],
    ['a million tasks a day', copyMillion],
  ] as const)(
    'kubectl builds the same manifests, apart from the hashes in generated names: %s',
    ([, copy]) => {
      const { directory, remove } = copy()
      try {
        const { stdout, stderr } = spawnSync('kubectl', ['kustomize', directory], { encoding: 'utf8' })
        expect(stderr).toBe('')
        const built = parseAllDocuments(
          stdout.replaceAll(/(kinora-(?:settings|secrets|engine-identity|bucket))-[\da-z]{10}\b/g, '$1'),
        ).map((document) => document.toJS() as Manifest)
        const ordered = (list: Manifest[]) =>
          list.toSorted((a, b) => (a.kind + a.metadata.name < b.kind + b.metadata.name ? -1 : 1))
        expect(ordered(built)).toEqual(ordered(buildKustomization(directory)))
      } finally {
        remove()
      }
    },
  )
}

test('the build fails if a secret is missing, and the repository contains none', () => {
  const example = join(root, 'deploy/kubernetes/overlays/example')
  expect(() => buildKustomization(example)).toThrow(/secrets.DATABASE_PASSWORD/)
  const { directory, remove } = copyExample()
  rmSync(join(directory, 'secrets/AUDIT_SECRETS'))
  expect(() => buildKustomization(directory)).toThrow(/AUDIT_SECRETS/)
  remove()
})

test('without an overlay, PUBLIC_URL is refused at the start', () => {
  const base = buildKustomization(join(root, 'deploy/kubernetes/base'))
  const given = base.find((each) => each.metadata.name === 'kinora-settings')?.data?.['PUBLIC_URL'] ?? ''
  expect(() => settings.PUBLIC_URL.read(given)).toThrow(/must be a URL/)
})

test.for(roles)('every environment variable of %s is a setting with a valid value', (role) => {
  for (const [name, value] of Object.entries(environmentOf(role))) {
    expect(Object.keys(settings)).toContain(name)
    if (value !== undefined) settings[name as keyof typeof settings].read(value)
  }
})

test.for(workloads.map(componentOf))('every reference of %s resolves', (component) => {
  const pod = podOf(component)
  const { env = [], envFrom = [], volumeMounts } = containerOf(component)
  for (const { configMapRef } of envFrom)
    expect(keysOf('ConfigMap', configMapRef?.name ?? '')).not.toEqual([])
  for (const { secretKeyRef, configMapKeyRef } of env.flatMap(({ valueFrom }) => valueFrom ?? [])) {
    if (secretKeyRef) expect(keysOf('Secret', secretKeyRef.name)).toContain(secretKeyRef.key)
    if (configMapKeyRef) expect(keysOf('ConfigMap', configMapKeyRef.name)).toContain(configMapKeyRef.key)
  }
  for (const { persistentVolumeClaim, configMap, secret } of pod.volumes) {
    if (persistentVolumeClaim)
      expect(named('PersistentVolumeClaim', persistentVolumeClaim.claimName)).toBeDefined()
    if (configMap) expect(named('ConfigMap', configMap.name)).toBeDefined()
    if (secret) for (const { key } of secret.items) expect(keysOf('Secret', secret.secretName)).toContain(key)
  }
  const claims = workload(component).spec.volumeClaimTemplates ?? []
  const volumes = [...pod.volumes.map(({ name }) => name), ...claims.map(({ metadata }) => metadata.name)]
  expect(volumeMounts.map(({ name }) => name).toSorted()).toEqual(volumes.toSorted())
  expect(named('ServiceAccount', pod.serviceAccountName)).toBeDefined()
})

interface Selecting extends Manifest {
  spec: {
    selector: Record<string, string> & { matchLabels?: Record<string, string> }
    ports?: { name: string; port: number; targetPort: string }[]
    endpoints?: { port: string }[]
  }
}
const allOf = (kind: string) => manifests.filter((each): each is Selecting => each.kind === kind)
const matches = (selector: Record<string, string>, labels: Record<string, string> | undefined) =>
  Object.entries(selector).every(([name, value]) => labels?.[name] === value)

test('every Service, PodDisruptionBudget and ServiceMonitor selects one workload, and its ports', () => {
  const podsOf = (selector: Record<string, string>) =>
    workloads.filter(({ spec }) => matches(selector, spec.template.metadata.labels))
  for (const { spec } of allOf('Service')) {
    const [selected, ...others] = podsOf(spec.selector)
    expect(others).toEqual([])
    const ports = selected?.spec.template.spec.containers[0].ports ?? []
    for (const { port, targetPort } of spec.ports ?? [])
      expect(ports).toContainEqual({ name: targetPort, containerPort: port })
  }
  for (const { spec } of allOf('PodDisruptionBudget'))
    expect(podsOf(spec.selector.matchLabels ?? {})).toHaveLength(1)
  for (const { spec } of allOf('ServiceMonitor')) {
    const selected = allOf('Service').filter((each) =>
      matches(spec.selector.matchLabels ?? {}, each.metadata.labels),
    )
    expect(selected).toHaveLength(1)
    for (const { port } of spec.endpoints ?? [])
      expect(selected[0]?.spec.ports?.map(({ name }) => name)).toContain(port)
  }
})

test('the HorizontalPodAutoscaler and the Ingress refer to the API, whose replicas nothing else sets', () => {
  const scaled = named('HorizontalPodAutoscaler', 'kinora-api')
  expect(scaled).toMatchObject({ spec: { scaleTargetRef: { kind: 'Deployment', name: 'kinora-api' } } })
  expect(workload('api').spec.replicas).toBeUndefined()
  const rules = [{ host: new URL(environmentOf('api')['PUBLIC_URL'] ?? '').host }]
  expect(named('Ingress', 'kinora')).toMatchObject({ spec: { rules } })
  const text = JSON.stringify(named('Ingress', 'kinora'))
  expect(text).toContain('"service":{"name":"kinora-api","port":{"name":"http"}}')
})

test.for([
  ['RESTATE_INGRESS_URL', 'restate'],
  ['RESTATE_ADMIN_URL', 'restate'],
  ['WORKER_URL', 'worker'],
  ['LOCAL_URL', 'local'],
] as const)('%s of the API and the workers is a port of the Service of %s', ([setting, component]) => {
  for (const role of ['api', 'worker']) {
    const { hostname, port } = new URL(environmentOf(role)[setting] ?? '')
    const service = allOf('Service').find(({ metadata }) => metadata.name === hostname)
    expect(service?.metadata.labels?.['app.kubernetes.io/component']).toBe(component)
    expect(service?.spec.ports?.map((each) => String(each.port))).toContain(port)
  }
})

test('each role listens on the ports that its container names, on all addresses', () => {
  const portsOf = (role: string) => {
    const [first, ...others] = containerOf(role).ports ?? []
    expect(others).toEqual([{ name: 'metrics', containerPort: Number(environmentOf(role)['METRICS_PORT']) }])
    expect(environmentOf(role)['METRICS_HOST']).toBe('0.0.0.0')
    return [String(first?.containerPort)]
  }
  expect(portsOf('api')).toEqual([environmentOf('api')['PORT']])
  expect(portsOf('worker')).toEqual([environmentOf('worker')['WORKER_PORT']])
  expect(portsOf('local')).toEqual([new URL(environmentOf('local')['LOCAL_URL'] ?? '').port])
  expect(environmentOf('api')['HOST']).toBe('0.0.0.0')
  expect(environmentOf('worker')['WORKER_HOST']).toBe('0.0.0.0')
})

test.for(['api', 'worker', 'local', 'restate'])('%s has startup, readiness and liveness probes', (name) => {
  const { startupProbe, readinessProbe, livenessProbe, ports } = containerOf(name)
  for (const probe of [startupProbe, readinessProbe, livenessProbe])
    expect(ports?.map((each) => each.name)).toContain((probe?.httpGet ?? probe?.tcpSocket)?.port)
})

test('the probes of the API are its liveness and readiness endpoints', () => {
  expect(containerOf('api')).toMatchObject({
    startupProbe: { httpGet: { path: '/livez' } },
    readinessProbe: { httpGet: { path: '/readyz' } },
    livenessProbe: { httpGet: { path: '/livez' } },
  })
})

test.for(decoding)(
  '%s is killed only after it had DRAIN_SECONDS to finish, and a worker to record',
  (role) => {
    const { DRAIN_SECONDS, LAME_DUCK_SECONDS = '0' } = environmentOf(role)
    const preStop = containerOf(role).lifecycle?.preStop.sleep.seconds ?? 0
    const recordSeconds = role === 'worker' ? repeatForMs / 1_000 : 0
    expect(podOf(role).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
      preStop + Number(LAME_DUCK_SECONDS) + Number(DRAIN_SECONDS) + recordSeconds + 5,
    )
  },
)

const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')

test.for(roles)('%s runs as the user of the image and writes only to volumes', (role) => {
  const user = Number(/^USER (\d+):\1$/m.exec(dockerfile)?.[1])
  expect(podOf(role).securityContext).toMatchObject({ runAsUser: user, runAsGroup: user, fsGroup: user })
  const mounts = containerOf(role).volumeMounts.map(({ mountPath }) => mountPath)
  const { MEDIA_DIRECTORY, LOCAL_DIRECTORY, MODEL_DIR, PROVIDERS_FILE } = environmentOf(role)
  const { DATABASE_PASSWORD_FILE, ENGINE_IDENTITY_KEYS_FILE } = environmentOf(role)
  const paths = [MEDIA_DIRECTORY, LOCAL_DIRECTORY, MODEL_DIR, PROVIDERS_FILE, '/tmp/']
  for (const path of [...paths, DATABASE_PASSWORD_FILE, ENGINE_IDENTITY_KEYS_FILE])
    if (path !== undefined) expect(mounts.some((mount) => path.startsWith(`${mount}/`))).toBe(true)
  const { MEDIA_DIRECTORY: ofImage } = Object.fromEntries(
    [...dockerfile.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  )
  if (MEDIA_DIRECTORY !== undefined) expect(MEDIA_DIRECTORY).toBe(ofImage)
})

test('the database is migrated before the API and the workers start, and no Job needs to be deleted for an update', () => {
  for (const role of ['api', 'worker']) {
    expect(podOf(role).initContainers?.map(({ args, image }) => [args, image])).toEqual([
      [['migrate'], containerOf(role).image],
    ])
    expect(podOf(role).initContainers).toEqual(podOf('migrate').initContainers)
  }
  expect(manifests.filter(({ kind }) => kind === 'Job').map(({ metadata }) => metadata.name)).toEqual([
    'kinora-pull-models',
  ])
})

const enforced = (given: Manifest[]) =>
  given.find(({ kind }) => kind === 'Namespace')?.metadata.labels?.['pod-security.kubernetes.io/enforce']

test('the namespace of the example enforces `restricted`', () => {
  expect(enforced(manifests)).toBe('restricted')
})

test.for([...workloads.map(componentOf), 'migrate'])(
  '%s meets the Pod Security Standard `restricted` on any node',
  (component) => {
    const { securityContext, automountServiceAccountToken, volumes } = podOf(component)
    expect(automountServiceAccountToken).toBe(false)
    expect(containerOf(component).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    expect(securityContext.appArmorProfile).toBeUndefined()
    for (const volume of volumes) expect(volume).not.toHaveProperty('hostPath')
    expect(JSON.stringify(podOf(component))).not.toMatch(/"host(Network|PID|IPC|Port)"|"privileged"/)
  },
)

test('without a profile on the nodes, media is decoded without a sandbox', () => {
  for (const role of decoding) expect(environmentOf(role)['REQUIRE_SANDBOX']).toBe('false')
})

test.for([
  ['apparmor-profile', { type: 'Localhost', localhostProfile: 'kinora' }, 'restricted'],
  ['without-apparmor', { type: 'Unconfined' }, 'privileged'],
] as const)(
  'with the sandbox and %s, media is decoded in the sandbox or not at all',
  ([name, appArmor, level]) => {
    const built = exampleManifests(['sandbox', name])
    expect(built.flatMap(problemsOf)).toEqual([])
    expect(enforced(built)).toBe(level)
    for (const each of built.filter(isWorkload)) {
      const { securityContext, containers } = each.spec.template.spec
      const isDecoding = decoding.includes(componentOf(each))
      expect(securityContext.seccompProfile).toEqual(
        isDecoding ? { type: 'Localhost', localhostProfile: 'kinora.json' } : { type: 'RuntimeDefault' },
      )
      expect(securityContext.appArmorProfile).toEqual(isDecoding ? appArmor : undefined)
      const own = containers[0].env?.find((variable) => variable.name === 'REQUIRE_SANDBOX')
      if (componentOf(each) === 'local') expect(own?.value).toBe('true')
    }
    const shared = built.find(({ metadata }) => metadata.name === 'kinora-settings')
    expect(shared?.data?.['REQUIRE_SANDBOX']).toBe('true')
  },
)

test('with autoscaling, Restate allows the largest number of workers, and nothing else sets the number', () => {
  const built = exampleManifests(['worker-autoscaling'])
  expect(built.flatMap(problemsOf)).toEqual([])
  const find = (kind: string, name: string) =>
    built.find((each) => each.kind === kind && each.metadata.name === name) as Workload | undefined
  const scaler = find('HorizontalPodAutoscaler', 'kinora-worker')
  const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'kinora-worker' }
  expect(scaler).toMatchObject({ spec: { scaleTargetRef, maxReplicas: 4 } })
  expect(find('Deployment', 'kinora-worker')?.spec.replicas).toBeUndefined()
  const limit = find('StatefulSet', 'kinora-restate')?.spec.template.spec.containers[0].env?.find(
    ({ name }) => name === 'RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT',
  )
  expect(Number(limit?.value)).toBe(Number(settings.LIMIT_DOWNLOADS.default) * 4 + 24)
})

test('the commands of the guide that run in the image are those of its PATH', () => {
  const guide = readFileSync(join(root, 'docs/operating.md'), 'utf8')
  const commands = [...guide.matchAll(/kubectl .*exec \S+ -- (\S+)/g)].map(([, program]) => program)
  expect(commands.length).toBeGreaterThan(1)
  for (const program of commands) expect(dockerfile).toContain(`/usr/local/bin/${program}`)
})

test.for([...workloads.map(componentOf), 'migrate'])(
  '%s has requests, and the limit of memory of compose.yaml',
  (component) => {
    const { requests, limits } = containerOf(component).resources
    expect(Object.keys(requests).toSorted()).toEqual(['cpu', 'memory'])
    const isJob = component === 'migrate' || workload(component).kind === 'Job'
    expect(limits['memory']).toBe(
      isJob ? '512Mi' : compose.services[component]?.mem_limit?.replace(/g$/, 'Gi'),
    )
  },
)

test('the API and the built-in provider run as many media programs as they have processors', () => {
  const processorsOf = (role: string) => containerOf(role).resources.limits['cpu']
  expect(environmentOf('api')['MEDIA_WORK_CONCURRENCY']).toBe(processorsOf('api'))
  expect(environmentOf('local')['LOCAL_RENDERS']).toBe(processorsOf('local'))
})

/** Settings that a role gets in only one of the two, each with the reason. */
const onlyInCompose: Record<string, string[]> = {
  // A file instead of an environment variable. The admin port is published on the machine instead of forwarded, and Docker
  // cannot stop restarting a role with invalid settings.
  api: ['DATABASE_PASSWORD', 'ADMIN_HOST', 'ON_INVALID_SETTINGS'],
  worker: ['DATABASE_PASSWORD', 'ON_INVALID_SETTINGS'],
  local: ['ON_INVALID_SETTINGS'],
  migrate: ['DATABASE_PASSWORD'],
}
const metricsSettings = ['METRICS_HOST', 'METRICS_PORT']
const onlyInKubernetes: Record<string, string[]> = {
  // The first is the file with the password. Only the Prometheus Operator gets metrics. Pods are replaced while requests arrive; nodes have more processors than a
  // pod may use; the workers share the settings of the API.
  api: [
    'DATABASE_PASSWORD_FILE',
    'DRAIN_SECONDS',
    'LAME_DUCK_SECONDS',
    'MEDIA_WORK_CONCURRENCY',
    ...metricsSettings,
  ],
  worker: ['DATABASE_PASSWORD_FILE', 'DRAIN_SECONDS', 'TRUSTED_PROXIES', ...metricsSettings],
  local: ['DRAIN_SECONDS', 'LOCAL_RENDERS', ...metricsSettings],
  migrate: ['DATABASE_PASSWORD_FILE'],
}

test.for(['api', 'worker', 'local', 'migrate'])('%s gets the same settings as in compose.yaml', (role) => {
  const without = (names: string[], except: string[] = []) =>
    names.filter((name) => !except.includes(name)).toSorted()
  const inCompose = Object.keys(compose.services[role]?.environment ?? {})
  const inKubernetes = Object.keys(environmentOf(role))
  expect(inCompose).toEqual(expect.arrayContaining(onlyInCompose[role] ?? []))
  expect(inKubernetes).toEqual(expect.arrayContaining(onlyInKubernetes[role] ?? []))
  expect(without(inKubernetes, onlyInKubernetes[role])).toEqual(without(inCompose, onlyInCompose[role]))
})

test('Restate has the version and the settings of compose.yaml, and a limit that fits the workers', () => {
  const { image, environment = {} } = compose.services['restate'] ?? {}
  const { RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT: limit, ...given } = environmentOf('restate')
  const { RESTATE_ADVERTISED_ADDRESS, RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: memory, ...shared } = given
  expect(containerOf('restate').image).toBe(image)
  const perPartition = { RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT: '72' }
  expect({ ...shared, ...perPartition }).toEqual(environment)
  const downloads = Number(settings.LIMIT_DOWNLOADS.default)
  expect(Number(limit)).toBe(downloads * (workload('worker').spec.replicas ?? 0) + 24)
  expect(RESTATE_ADVERTISED_ADDRESS).toBe('http://kinora-restate-0.kinora-restate-node:5122')
  expect(memory).toBe('512 MiB')
})

test('the providers file is that of compose.yaml', () => {
  expect(named('ConfigMap', 'kinora-providers')?.data).toEqual({
    'kinora.yaml': readFileSync(join(root, 'deploy/config/kinora.yaml'), 'utf8'),
  })
})

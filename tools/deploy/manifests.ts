/** Reads compose.yaml and the Kubernetes manifests for the tests of this folder. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parse } from 'yaml'

import { buildKustomization, type Manifest } from './kustomize.ts'

export const root = join(import.meta.dirname, '../..')

interface EnvironmentEntry {
  name: string
  value?: string
  valueFrom?: {
    secretKeyRef?: { name: string; key: string }
    configMapKeyRef?: { name: string; key: string }
  }
}

interface Probe {
  httpGet?: { path: string; port: string }
  tcpSocket?: { port: string }
}

export interface Container {
  name: string
  image: string
  args?: string[]
  env?: EnvironmentEntry[]
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[]
  ports?: { name: string; containerPort: number }[]
  startupProbe?: Probe
  readinessProbe?: Probe
  livenessProbe?: Probe
  lifecycle?: { preStop: { sleep: { seconds: number } } }
  resources: { requests: Record<string, string>; limits: Record<string, string> }
  securityContext: object
  volumeMounts: { name: string; mountPath: string }[]
}

interface Volume {
  name: string
  persistentVolumeClaim?: { claimName: string }
  configMap?: { name: string }
  secret?: { secretName: string; items: { key: string }[] }
  emptyDir?: object
}

interface PodSpec {
  serviceAccountName: string
  automountServiceAccountToken: boolean
  terminationGracePeriodSeconds?: number
  securityContext: { seccompProfile: object; appArmorProfile?: object }
  initContainers?: [Container]
  containers: [Container]
  volumes: Volume[]
}

export interface Workload extends Manifest {
  spec: {
    replicas?: number
    selector?: { matchLabels: Record<string, string> }
    template: { metadata: { labels: Record<string, string> }; spec: PodSpec }
    volumeClaimTemplates?: { metadata: { name: string } }[]
  }
}

const secretNames = [
  ...['DATABASE_PASSWORD', 'REDIS_URL', 'KEY_HASH_SECRETS', 'LINK_SECRETS', 'CREDENTIAL_SECRETS'],
  ...['AUDIT_SECRETS', 'private.pem', 'public.key'],
]
/** Those that fit any cluster. */
const componentNames = ['service-monitor', 'pull-models']

interface CopiedOverlay {
  directory: string
  remove: () => void
}

/** A copy of deploy/kubernetes in which these overlays have these secrets. The directory is that of the last one. */
const copyOverlays = (secrets: Record<string, string[]>): CopiedOverlay => {
  const copy = mkdtempSync(join(tmpdir(), 'kinora-kubernetes-'))
  cpSync(join(root, 'deploy/kubernetes'), copy, { recursive: true })
  let directory = copy
  for (const [overlay, names] of Object.entries(secrets)) {
    directory = join(copy, 'overlays', overlay)
    mkdirSync(join(directory, 'secrets'), { recursive: true })
    for (const name of names) writeFileSync(join(directory, 'secrets', name), `placeholder of ${name}`)
  }
  return { directory, remove: () => rmSync(copy, { recursive: true, force: true }) }
}

/** A copy of the overlay for a million tasks a day, with the example that it changes. */
export const copyMillion = (): CopiedOverlay =>
  copyOverlays({ example: secretNames, 'million-a-day': ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'] })

/** A copy of deploy/kubernetes whose example has all secrets, and these components besides those for any cluster. */
export const copyExample = (more: string[] = []): CopiedOverlay => {
  const { directory, remove } = copyOverlays({ example: secretNames })
  const components = [...componentNames, ...more].map((name) => `  - ../../components/${name}\n`).join('')
  writeFileSync(join(directory, 'kustomization.yaml'), `components:\n${components}`, { flag: 'a' })
  return { directory, remove }
}

export const exampleManifests = (more: string[] = []): Manifest[] => {
  const { directory, remove } = copyExample(more)
  try {
    return buildKustomization(directory)
  } finally {
    remove()
  }
}

export const isWorkload = (manifest: Manifest): manifest is Workload =>
  ['Deployment', 'StatefulSet', 'Job'].includes(manifest.kind)

interface Service {
  image?: string
  environment?: Record<string, string>
  networks: string[]
  mem_limit?: string
  pids_limit?: number
}

export const compose = parse(readFileSync(join(root, 'compose.yaml'), 'utf8'), { merge: true }) as {
  services: Record<string, Service>
}

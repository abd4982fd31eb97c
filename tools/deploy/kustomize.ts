/**
 * Builds a kustomization, so that the tests need neither kubectl nor a cluster. It supports what deploy/kubernetes uses and
 * throws for everything else. Generated names have no hash suffix. `kubernetes.test.ts` compares it with kubectl.
 */
import { readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

import { parse, parseAllDocuments } from 'yaml'

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string> }
  data?: Record<string, string>
}

interface Generator {
  name: string
  behavior?: 'merge'
  literals?: string[]
  files?: string[]
  options?: { disableNameSuffixHash: boolean }
}

interface Patch {
  target: { kind: string; name: string }
  /** A JSON patch (RFC 6902) as YAML, or an object whose `$patch` is `delete`. */
  patch: string
}

interface Kustomization {
  apiVersion: string
  kind: string
  namespace?: string
  resources?: string[]
  components?: string[]
  configMapGenerator?: Generator[]
  secretGenerator?: Generator[]
  images?: { name: string; newName: string; newTag: string }[]
  patches?: Patch[]
}

const features = [
  ...['apiVersion', 'kind', 'namespace', 'resources', 'components', 'images', 'patches'],
  ...['configMapGenerator', 'secretGenerator'],
]

const readKustomization = (directory: string): Kustomization => {
  const kustomization = parse(readFileSync(join(directory, 'kustomization.yaml'), 'utf8')) as Kustomization
  const unknown = Object.keys(kustomization).find((key) => !features.includes(key))
  if (unknown !== undefined) throw new Error(`${directory}: ${unknown} is not supported`)
  return kustomization
}

const readResource = (path: string): Manifest[] =>
  statSync(path).isDirectory()
    ? buildKustomization(path)
    : parseAllDocuments(readFileSync(path, 'utf8')).map((document) => document.toJS() as Manifest)

const entriesOf = (directory: string, { literals = [], files = [] }: Generator): [string, string][] => [
  ...literals.map((literal): [string, string] => {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(literal) ?? []
    return [name, value]
  }),
  ...files.map((file): [string, string] => [basename(file), readFileSync(join(directory, file), 'utf8')]),
]

const generate = (
  manifests: Manifest[],
  kind: 'ConfigMap' | 'Secret',
  generator: Generator,
  entries: [string, string][],
): Manifest[] => {
  const { name, behavior } = generator
  const existing = manifests.find((each) => each.kind === kind && each.metadata.name === name)
  if ((behavior === 'merge') !== (existing !== undefined))
    throw new Error(`${kind} ${name}: behavior must be merge if, and only if, it exists already`)
  const encode = (value: string) => (kind === 'Secret' ? Buffer.from(value).toString('base64') : value)
  const data = Object.fromEntries(entries.map(([key, value]) => [key, encode(value)]))
  if (existing !== undefined) {
    existing.data = { ...existing.data, ...data }
    return manifests
  }
  const type = kind === 'Secret' ? { type: 'Opaque' } : {}
  return [...manifests, { apiVersion: 'v1', kind, metadata: { name }, data, ...type }]
}

type Container = Record<string, unknown>
interface Operation {
  op: 'add' | 'replace' | 'remove'
  path: string
  value?: unknown
}

const applyPatch = (manifest: Manifest, { op, path, value }: Operation) => {
  const keys = path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = keys.pop() ?? ''
  const parent = keys.reduce<unknown>((node, key) => (node as Container | undefined)?.[key], manifest)
  const isPresent = typeof parent === 'object' && parent !== null && last in parent
  if (typeof parent !== 'object' || parent === null || (op !== 'add' && !isPresent))
    throw new Error(`${manifest.metadata.name} has no ${path}`)
  if (Array.isArray(parent) && last === '-') parent.push(value)
  else if (op === 'remove') delete (parent as Container)[last]
  else (parent as Container)[last] = value
}

/** The manifests after the patch. */
const patchAll = (manifests: Manifest[], { target, patch }: Patch): Manifest[] => {
  const name = new RegExp(`^(?:${target.name})$`)
  const isMatching = (each: Manifest) => each.kind === target.kind && name.test(each.metadata.name)
  const given = parse(patch) as Operation[] | { $patch: string }
  if (!Array.isArray(given)) {
    if (given.$patch !== 'delete') throw new Error(`a patch of ${target.name} is not supported`)
    return manifests.filter((each) => !isMatching(each))
  }
  for (const manifest of manifests.filter(isMatching))
    for (const operation of given) applyPatch(manifest, operation)
  return manifests
}

const replaceImages = (node: unknown, images: NonNullable<Kustomization['images']>) => {
  if (typeof node !== 'object' || node === null) return
  const container = node as Container
  const image = images.find(({ name }) => container['image'] === name)
  if (image !== undefined) container['image'] = `${image.newName}:${image.newTag}`
  for (const child of Object.values(container)) replaceImages(child, images)
}

const addComponent = (manifests: Manifest[], directory: string): Manifest[] => {
  const { resources = [], patches = [] } = readKustomization(directory)
  const all = [...manifests, ...resources.flatMap((path) => readResource(join(directory, path)))]
  return patches.reduce(patchAll, all)
}

/** The manifests of a directory with a kustomization.yaml. Throws if a file is missing. */
export const buildKustomization = (directory: string): Manifest[] => {
  const kustomization = readKustomization(directory)
  const { resources = [], components = [], images = [], patches = [], namespace } = kustomization
  let manifests = resources.flatMap((path) => readResource(join(directory, path)))
  for (const path of components) manifests = addComponent(manifests, join(directory, path))
  for (const generator of kustomization.configMapGenerator ?? [])
    manifests = generate(manifests, 'ConfigMap', generator, entriesOf(directory, generator))
  for (const generator of kustomization.secretGenerator ?? [])
    manifests = generate(manifests, 'Secret', generator, entriesOf(directory, generator))
  manifests = patches.reduce(patchAll, manifests)
  replaceImages(manifests, images)
  if (namespace !== undefined)
    for (const { kind, metadata } of manifests) if (kind !== 'Namespace') metadata.namespace = namespace
  return manifests
}

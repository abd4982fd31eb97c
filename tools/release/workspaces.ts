import { readFile } from 'node:fs/promises'

interface Manifest {
  name: string
  version: string
}

const readJson = async <Value>(file: string) => JSON.parse(await readFile(file, 'utf8')) as Value

/** The folders of the packages, each after those it depends on, and their common version. */
export const readWorkspaces = async (): Promise<{ folders: string[]; version: string }> => {
  const { workspaces: folders } = await readJson<{ workspaces: string[] }>('package.json')
  const manifests = await Promise.all(folders.map((folder) => readJson<Manifest>(`${folder}/package.json`)))
  const [version = '', ...others] = new Set(manifests.map((manifest) => manifest.version))
  if (others.length > 0)
    throw new Error(`The packages have several versions: ${[version, ...others].join(', ')}`)
  return { folders, version }
}

/** Where the version is written, apart from the packages. */
export const versionPlaces = [
  { file: 'Dockerfile', pattern: /(?<=^ARG VERSION=).+$/m },
  { file: 'deploy/kubernetes/overlays/example/kustomization.yaml', pattern: /(?<=^ +newTag: ).+$/m },
]

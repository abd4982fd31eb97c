/** Compares the stored videos, and what customers download, with what the vendors have served for the tasks. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'

import { findJobOfVideo } from '../../../dev/vendor/job-video.ts'
import type { Client } from './client.ts'
import type { WatchedStack } from './fault-stack.ts'
import type { Task } from './read-tasks.ts'
import { send } from './retrying.ts'

const sample = await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url))

/** So many are also downloaded from the API, evenly distributed over the run. */
const downloadsMax = 1_000
const atOnce = 8

const isJobOf = (video: Buffer, { prompt }: Task, jobIds: Set<string> | undefined) => {
  const job = findJobOfVideo(sample, video)
  return job !== undefined && job.prompt === prompt && (jobIds === undefined || jobIds.has(job.id))
}

const forEachOf = async <Item>(items: Item[], work: (item: Item) => Promise<void>) => {
  const left = items.values()
  const workOff = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, workOff))
}

export const findWrongBytes = async (
  stack: WatchedStack,
  client: Client,
  tasks: Task[],
  /** Undefined if a vendor has forgotten some. */
  jobIds: Set<string> | undefined,
): Promise<{ missing: string[]; wrong: string[] }> => {
  const missing: string[] = []
  const wrong: string[] = []
  const completed = tasks.filter(({ state }) => state === 'completed')

  await forEachOf(completed, async (task) => {
    const { id, storageKey, sha256 } = task
    const video = await stack.mediaStore
      .open(storageKey ?? 'videos/none')
      .then(buffer)
      .catch(() => undefined)
    if (video === undefined) missing.push(`${id} has no video`)
    else if (!isJobOf(video, task, jobIds))
      wrong.push(`the file of ${id} has ${video.length} bytes, and they are not those of its job`)
    else if (createHash('sha256').update(video).digest('hex') !== sha256)
      wrong.push(`the file of ${id} has another hash than recorded`)
  })

  const customers = new Map(client.customers.map((customer) => [customer.accountId, customer]))
  const step = Math.max(1, Math.ceil(completed.length / downloadsMax))
  const downloaded = completed.filter((_, index) => index % step === 0)
  await forEachOf(downloaded, async (task) => {
    const { id, accountId } = task
    const customer = customers.get(accountId)
    if (customer === undefined) return
    const sent = await send({
      ...{ ...customer, origins: stack.origins, path: `/v1/videos/${id}/content` },
      headers: { accept: 'application/binary' },
      // The service has recovered.
      retriesMax: 1,
      signal: new AbortController().signal,
    })
    if (sent.kind === 'failed') wrong.push(`the download of ${id} failed: ${sent.reason}`)
    else if (!isJobOf(sent.bytes, task, jobIds))
      wrong.push(`the download of ${id} has ${sent.bytes.length} bytes, and they are not those of its job`)
  })
  return { missing, wrong }
}

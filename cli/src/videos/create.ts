/** `kinora video create` and `kinora video remix`. */
import type { Kinora, RemixVideoParams, Video } from '@kinora/client'

import { connect } from '../connection/connect.ts'
import { checkOutput } from '../connection/output-file.ts'
import { readText } from '../connection/read-text.ts'
import { print, printJson, tell } from '../terminal/print.ts'
import { deliverVideo, type ResultInput } from './deliver.ts'
import { followVideo } from './follow.ts'
import { prepareVideo, type VideoInput } from './prepare.ts'

interface CreateInput extends ResultInput {
  prompt: string
  noWait: boolean
  profile: string | undefined
}

const createAndFollow = async (
  input: CreateInput,
  create: (kinora: Kinora, prompt: string) => Promise<Video>,
): Promise<void> => {
  const prompt = await readText(input.prompt)
  await checkOutput(input.output)
  const { kinora } = await connect(input)
  const startedMs = performance.now()
  const created = await create(kinora, prompt)
  if (input.noWait) return input.json ? printJson(created) : print(created.id)
  tell(`Video ${created.id}`)
  const video = await followVideo(kinora, created.id, input.json ? () => undefined : undefined)
  await deliverVideo(kinora, video, input, startedMs)
}

export const createVideo = async (input: CreateInput & VideoInput): Promise<void> =>
  createAndFollow(input, async (kinora, prompt) =>
    kinora.videos.create({ ...(await prepareVideo(kinora, prompt, input)), dry_run: false }),
  )

export const remixVideo = async (
  input: CreateInput & { id: string; size: string | undefined },
): Promise<void> =>
  createAndFollow(input, (kinora, prompt) => {
    const params = { prompt, ...(input.size !== undefined && { size: input.size }) } as RemixVideoParams
    return kinora.videos.remix(input.id, { ...params, dry_run: false })
  })

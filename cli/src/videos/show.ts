/** `kinora video get`, `list`, `cancel` and `delete`. */
import type { Video } from '@kinora/client'

import { connect } from '../connection/connect.ts'
import { checkOutput } from '../connection/output-file.ts'
import { UsageError } from '../frame/usage-error.ts'
import { canAsk, confirm } from '../terminal/ask.ts'
import { cleanText } from '../terminal/clean-text.ts'
import { formatTime, styleOfStatus } from '../terminal/format.ts'
import { print, printJson, style, tell } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { saveFile } from './deliver.ts'

interface OneInput {
  id: string
  json: boolean
  profile: string | undefined
}

const styleStatus = (status: string): string => {
  const styles = styleOfStatus(status)
  return styles === undefined ? status : style(styles, status)
}

const showVideo = (video: Video): void => {
  const rows: [string, string][] = [
    ['id', video.id],
    ['status', `${styleStatus(video.status)}${video.status === 'processing' ? ` ${video.progress} %` : ''}`],
    ['model', `${video.model}, ${video.seconds} s, ${video.size}`],
    ['prompt', cleanText(video.enhanced_prompt)],
    ['created', formatTime(video.created_at)],
    ...(video.remixed_from_video_id === null
      ? []
      : [['remix of', video.remixed_from_video_id] as [string, string]]),
    ...(video.error === undefined || video.error === null
      ? []
      : [['error', `${video.error.code}: ${cleanText(video.error.message)}`] as [string, string]]),
    ...(video.video_url === null ? [] : [['video', video.video_url] as [string, string]]),
  ]
  for (const [name, value] of rows) print(`${style('dim', name.padEnd(9))} ${value}`)
}

export const getVideo = async (input: OneInput & { output: string | undefined }): Promise<void> => {
  await checkOutput(input.output)
  const { kinora } = await connect(input)
  const video = await kinora.videos.get(input.id)
  if (input.output !== undefined) await saveFile(await kinora.videos.content(input.id), input.output)
  if (input.output === '-') return
  if (input.json) return printJson(video)
  showVideo(video)
}

export const listVideos = async (input: {
  limit: number
  json: boolean
  profile: string | undefined
}): Promise<void> => {
  const { kinora } = await connect(input)
  const page = await kinora.videos.list({ limit: input.limit })
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'id', cell: ({ id }) => id },
    {
      title: 'status',
      cell: ({ status, progress }) => (status === 'processing' ? `${progress} %` : status),
      style: ({ status }) => styleOfStatus(status),
    },
    { title: 'created', cell: ({ created_at }) => formatTime(created_at) },
    { title: 'prompt', cell: ({ enhanced_prompt }) => enhanced_prompt, isFlexible: true },
  ])
}

export const cancelVideo = async (input: OneInput): Promise<void> => {
  const { kinora } = await connect(input)
  const video = await kinora.videos.cancel(input.id)
  if (input.json) return printJson(video)
  const isCancelled = video.error?.code === 'task_cancelled'
  print(
    isCancelled ? 'Cancelled. Nothing is charged.' : `The video is ${video.status}; it was not cancelled.`,
  )
}

/** Asks before something is deleted, on a terminal; elsewhere --yes is needed. */
export const confirmDeletion = async (what: string, isConfirmed: boolean): Promise<boolean> => {
  if (isConfirmed) return true
  if (!canAsk()) throw new UsageError(`Add --yes to delete ${what}.`)
  return confirm(`Delete ${what}?`)
}

export const deleteVideo = async (input: OneInput & { yes: boolean }): Promise<void> => {
  if (!(await confirmDeletion(`the video ${input.id} and its file`, input.yes)))
    return tell('Nothing was deleted.')
  const { kinora } = await connect(input)
  const deleted = await kinora.videos.delete(input.id)
  if (input.json) return printJson(deleted)
  print(`Deleted ${deleted.id}.`)
}

/** Builds the job that is submitted to a provider for a task. */
import type { Postgres } from '../../platform/postgres.ts'
import { ProviderFailure } from '../../providers/port/failure.ts'
import type { Opaque, ReferenceFile, SourceVideo, VideoJob } from '../../providers/port/video.ts'
import type { Route } from '../../routing/route.ts'
import { MediaNotFound, type MediaStore } from '../../storage/port/media-store.ts'
import { findStoredFile, referencesOfTask, type StoredFile } from '../../storage/stored-file-store.ts'
import { dayOfTaskId } from '../task-id.ts'
import { findProviderJob } from '../task-store.ts'
import type { VideoTask } from '../task.ts'

export interface JobDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  /** The portraits of these characters. Deleted characters have none. */
  portraitsOf: (characterIds: string[]) => Promise<Map<string, StoredFile>>
  /** The URL for a provider's webhooks about a task. */
  webhookUrlOf: (provider: string, taskId: string) => string
}

/** The job cannot be submitted anywhere, for a reason of ours. */
const missing = (what: string) => new ProviderFailure('rejected', `${what} is missing`, { isLocal: true })

const readable = (mediaStore: MediaStore, file: StoredFile): ReferenceFile => ({
  contentType: file.contentType,
  sizeBytes: file.sizeBytes,
  open: async () => {
    try {
      return await mediaStore.open(file.storageKey)
    } catch (error) {
      throw error instanceof MediaNotFound ? missing(`${file.kind} ${file.id}`) : error
    }
  },
})

/** The source video of a remix. If the same provider made the source, its job reference is included. */
const sourceOf = async (
  { postgres, mediaStore }: JobDependencies,
  { provider, order: { remixOf } }: VideoTask,
): Promise<SourceVideo | undefined> => {
  if (remixOf === undefined) return undefined
  const file = await findStoredFile(postgres, remixOf.mediaId)
  if (file === undefined) throw missing(`source ${remixOf.mediaId}`)
  const job = await findProviderJob(postgres, dayOfTaskId(remixOf.taskId) ?? '', remixOf.taskId)
  const isSameProvider = job?.provider === provider && job.upstream !== null
  return { ...readable(mediaStore, file), ref: isSameProvider ? (job.upstream as Opaque) : undefined }
}

/** The characters with their portraits. A character deleted since admission remains only a name in the prompt. */
const charactersOf = async (
  { mediaStore, portraitsOf }: JobDependencies,
  { order: { characters = [] } }: VideoTask,
): Promise<VideoJob['characters']> => {
  if (characters.length === 0) return []
  const portraits = await portraitsOf(characters.map(({ id }) => id))
  return characters.flatMap(({ id, username }) => {
    const portrait = portraits.get(id)
    return portrait === undefined ? [] : { username, image: readable(mediaStore, portrait) }
  })
}

export const jobOf = async (
  dependencies: JobDependencies,
  task: VideoTask,
  { provider, upstreamModel }: Pick<Route, 'provider' | 'upstreamModel'>,
): Promise<VideoJob> => {
  const { postgres, mediaStore, webhookUrlOf } = dependencies
  const { images, hasReferenceVideo, hasReferenceAudio } = task.order
  const hasFiles = images !== undefined || hasReferenceVideo === true || hasReferenceAudio === true
  const files = hasFiles ? await referencesOfTask(postgres, task.id) : []
  const filesOf = (type: string) => files.filter(({ contentType }) => contentType.startsWith(`${type}/`))
  const [video] = filesOf('video')
  const [audio] = filesOf('audio')
  const {
    seconds,
    width,
    height,
    watermark,
    isPrivate,
    style,
    imageRoles = [],
    sound,
    isSoundOptional,
  } = task.order
  return {
    seconds,
    width,
    height,
    watermark,
    isPrivate,
    taskId: task.id,
    model: upstreamModel,
    prompt: task.enhancedPrompt,
    style,
    references: filesOf('image').map((file, index) => ({
      ...readable(mediaStore, file),
      role: imageRoles[index] ?? 'style',
    })),
    referenceVideo: video && readable(mediaStore, video),
    referenceAudio: audio && readable(mediaStore, audio),
    sound: isSoundOptional === true ? sound : undefined,
    source: await sourceOf(dependencies, task),
    characters: await charactersOf(dependencies, task),
    webhookUrl: provider.sendsWebhooks ? webhookUrlOf(provider.name, task.id) : undefined,
  }
}

/** The requests that `kinora dev` makes to its own service when a key is pressed. */
import { createWriteStream } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Marks these requests in the log, so that they are not shown as the caller's. */
export const ownRequestId = 'kinora-dev'

const pollEveryMs = 500

interface Service {
  url: string
  key: string
  signal: AbortSignal
}

interface Video {
  id: string
  status: string
  progress: number
  video_url?: string
  error?: { code: string; message: string }
}

const call = async <Body>(
  { url, key, signal }: Service,
  path: string,
  body?: object,
): Promise<{ body: Body; headers: Headers }> => {
  const response = await fetch(`${url}${path}`, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-client-request-id': ownRequestId,
    },
    signal,
  })
  const answer = (await response.json()) as Body & { error?: { message: string } }
  if (!response.ok) throw new Error(answer.error?.message ?? `The API returned ${response.status}.`)
  return { body: answer, headers: response.headers }
}

/** Creates a key of the development account and returns its text. */
export const createKey = async (service: Service): Promise<string> => {
  const { body } = await call<{ secret: string }>(service, '/v1/keys', { name: 'kinora dev' })
  return body.secret
}

/** A link that signs a browser in to the console with these keys; undefined if the service has no console. */
export const createConsoleLink = async (
  service: Service,
  keys: string[],
  next?: string,
): Promise<string | undefined> => {
  const response = await fetch(`${service.url}/console/v1/links`, {
    method: 'POST',
    body: JSON.stringify({ keys }),
    headers: { 'content-type': 'application/json', 'x-client-request-id': ownRequestId },
    signal: service.signal,
  })
  const answer = (await response.json()) as { url?: string }
  if (!response.ok || answer.url === undefined) return undefined
  const link = new URL(answer.url)
  if (next !== undefined) link.searchParams.set('next', next)
  return link.href
}

const sample = {
  model: 'vidB-2',
  seconds: 4,
  size: '1280x720',
  prompt: 'A whale swimming through a calm ocean at sunset',
}

/** Marks the video that the first page of the console shows. */
const sampleMark = { sample: 'first-run' }

/** Creates the video that the first page of the console shows, once. A service without it works as well. */
export const createSample = async (service: Service): Promise<void> => {
  try {
    const { body } = await call<{ data: unknown[] }>(
      service,
      `/v1/videos?limit=1&metadata[sample]=${sampleMark.sample}`,
    )
    if (body.data.length === 0) await call(service, '/v1/videos', { ...sample, metadata: sampleMark })
  } catch {
    // The page offers to make a video.
  }
}

/** Makes a video, saves it in a directory and returns its path. `show` is told how far it is. */
export const makeVideo = async (
  service: Service,
  directory: string,
  show: (progress: string) => void,
): Promise<string> => {
  let { body: video, headers } = await call<Video>(service, '/v1/videos', sample)
  while (video.status !== 'completed') {
    if (video.status === 'failed') throw new Error(video.error?.message ?? 'The video failed.')
    const left = headers.get('x-time-left')
    show(`${Math.round(video.progress)} %${left === null ? '' : `, ${left} s left`}`)
    await sleep(pollEveryMs, undefined, { signal: service.signal })
    ;({ body: video, headers } = await call<Video>(service, `/v1/videos/${encodeURIComponent(video.id)}`))
  }
  const file = join(directory, `${video.id.replaceAll(/[^\w.-]/g, '-')}.mp4`)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const response = await fetch(video.video_url ?? '', {
    headers: { 'x-client-request-id': ownRequestId },
    signal: service.signal,
  })
  if (!response.ok || response.body === null) throw new Error(`The download returned ${response.status}.`)
  await pipeline(Readable.fromWeb(response.body), createWriteStream(`${file}.part`), {
    signal: service.signal,
  })
  await rename(`${file}.part`, file)
  return file
}

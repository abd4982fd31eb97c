import type { Readable } from 'node:stream'

import { ProviderFailure } from '../../port/failure.ts'
import type { Opaque, VideoJobStatus } from '../../port/video.ts'
import type { Upstream } from '../http/upstream-http.ts'
import { member, textOf } from '../json/lenient-json.ts'

/** Member names of the result URL, the most specific first. */
const places = ['video_url', 'result_url', 'video', 'output_url', 'url', 'unsigned_urls', 'videos', 'output']
const layers = ['metadata', 'data', 'result', 'detail']

/** Finds the result URL in a status response. */
export function resultLinkIn(reply: unknown): string | undefined {
  return [reply, ...layers.map((layer) => first(member(reply, layer)))]
    .flatMap((held) => [...places.map((place) => linkOf(member(held, place))), linkOf(held)])
    .find((link) => link !== undefined)
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value
}

/** Accepts a URL, a list of URLs, or an object with a URL. */
function linkOf(value: unknown): string | undefined {
  const held = first(value)
  const link = textOf(typeof held === 'string' ? held : member(held, 'url'))
  return link !== undefined && /^(https?:\/\/|\/(?!\/))\S/i.test(link) ? link : undefined
}

/** Some vendors return JSON unless video is requested explicitly. */
const acceptVideo = 'video/mp4, application/octet-stream;q=0.9, */*;q=0.5'

/** Opens a finished video: at its URL if the status has one, else at the content path of its job. */
export async function openVideo(
  upstream: Pick<Upstream, 'openStream' | 'openLink'>,
  {
    result,
    contentPath,
    poll,
    signal,
  }: {
    result: Opaque
    contentPath: () => string
    poll: () => Promise<VideoJobStatus>
    signal: AbortSignal
  },
): Promise<Readable> {
  const url = textOf(member(result, 'url'))
  if (url === undefined) {
    const headers = { accept: acceptVideo }
    return upstream.openStream({ what: 'download', method: 'GET', path: contentPath(), headers, signal })
  }
  return openOrRefreshUrl((at) => upstream.openLink({ what: 'download', url: at, signal }), url, poll)
}

/** Opens a result. If its URL has expired, polls for a new one. */
export async function openOrRefreshUrl(
  open: (url: string) => Promise<Readable>,
  url: string,
  poll: () => Promise<VideoJobStatus>,
): Promise<Readable> {
  try {
    return await open(url)
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.kind !== 'rejected') throw error
    const status = await poll()
    const fresh = status.kind === 'done' ? textOf(member(status.result, 'url')) : undefined
    if (fresh === undefined || fresh === url) throw error
    return open(fresh)
  }
}

import type { Readable } from 'node:stream'

import { ProviderFailure } from '../../port/failure.ts'
import type { Opaque, VideoJobStatus } from '../../port/video.ts'
import type { Upstream } from '../http/upstream-http.ts'
import { member, textOf } from '../json/lenient-json.ts'

/** Where vendors of the common protocols put the address of a finished video, the most telling name first. */
const places = ['video_url', 'result_url', 'video', 'output_url', 'url', 'unsigned_urls', 'videos', 'output']
const layers = ['metadata', 'data', 'result', 'detail']

/** The address of the result in a status reply, wherever this vendor keeps it. */
export function resultLinkIn(reply: unknown): string | undefined {
  return [reply, ...layers.map((layer) => first(member(reply, layer)))]
    .flatMap((held) => [...places.map((place) => linkOf(member(held, place))), linkOf(held)])
    .find((link) => link !== undefined)
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value
}

/** An address, the first of several, or the one that an object has. */
function linkOf(value: unknown): string | undefined {
  const held = first(value)
  const link = textOf(typeof held === 'string' ? held : member(held, 'url'))
  return link !== undefined && /^(https?:\/\/|\/(?!\/))\S/i.test(link) ? link : undefined
}

/** Some vendors send JSON to whoever takes it, so bytes are asked for by name. */
const admitVideo = 'video/mp4, application/octet-stream;q=0.9, */*;q=0.5'

/** Opens a finished video of the common protocols: by its address where the status gave one, else below its job. */
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
    const headers = { accept: admitVideo }
    return upstream.openStream({ what: 'download', method: 'GET', path: contentPath(), headers, signal })
  }
  return openOrAskAnew((at) => upstream.openLink({ what: 'download', url: at, signal }), url, poll)
}

/** Opens a result, and where its address no longer leads to it, the address that the vendor gives now. */
export async function openOrAskAnew(
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

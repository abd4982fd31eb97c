/** Checks presigned URLs as a client uses them. */
import { fetch } from 'undici'

import type { MediaStore } from '../port/media-store.ts'
import { assertSame, StoreProblem } from '../port/store-problem.ts'

type PresignOptions = Parameters<NonNullable<MediaStore['presign']>>[1]

const options: PresignOptions = {
  contentType: 'video/mp4',
  disposition: 'inline; filename="check.mp4"',
  expiresInSeconds: 60,
}
const timeoutMs = 15_000
const clockSkewMsMax = 5_000

/** Fetches an object by a presigned URL, and returns the time of the server. */
export const fetchPresigned = async (
  presign: (options: PresignOptions) => Promise<string | undefined>,
  bytes: Buffer,
): Promise<string | null> => {
  const url = (await presign(options)) ?? ''
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) }).catch((error: unknown) => {
    throw (error as Error).cause ?? error
  })
  const body = Buffer.from(await response.arrayBuffer())
  if (response.status !== 200) {
    throw new StoreProblem(
      `a presigned URL returned ${response.status}: ${body.toString().slice(0, 200)}`,
      'set MEDIA_REDIRECT_SECONDS=0, or let the server accept presigned URLs',
    )
  }
  assertSame(body, bytes, 'a presigned URL')
  const headers = { 'content-type': options.contentType, 'content-disposition': options.disposition }
  for (const [name, expected] of Object.entries(headers)) {
    const found = response.headers.get(name)
    if (found === expected) continue
    throw new StoreProblem(
      `a presigned URL returned the ${name} ${found}, and not ${expected}`,
      'set MEDIA_REDIRECT_SECONDS=0: this server ignores the headers of a presigned URL',
    )
  }
  return response.headers.get('date')
}

export const assertClock = (serverDate: string | null): void => {
  const skewMs = Math.abs(Date.parse(serverDate ?? '') - Date.now())
  // Without the header, nothing is known.
  if (Number.isNaN(skewMs) || skewMs < clockSkewMsMax) return
  throw new StoreProblem(
    `the clock of the server differs from that of this machine by ${Math.round(skewMs / 1000)} s, so presigned URLs expire early or late`,
    'apt-get install chrony',
  )
}

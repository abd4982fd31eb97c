/** The source does not respond at all, so other downloads from it would fail too. */
export class SourceUnreachable extends Error {}

export interface DownloadLimits {
  /** Time until the response headers arrive. */
  answerMs: number
  /** Time between two chunks of the body. */
  stallMs: number
}

export interface DownloadOptions {
  limits: DownloadLimits
  signal: AbortSignal
  onProgress?: (receivedBytes: number, totalBytes: number | undefined) => void
}

const seconds = (ms: number) => `${ms / 1000} s`

/** `fetch` throws a generic error. The system's error code is in its cause, or in the causes of its cause. */
const reasonOf = (error: unknown): string => {
  const { cause } = error as { cause?: { code?: string; message?: string; errors?: { code?: string }[] } }
  return cause?.code ?? cause?.errors?.[0]?.code ?? cause?.message ?? String(error)
}

/** Downloads a URL and yields the bytes as they arrive. */
export async function* download(
  url: string,
  { limits, signal, onProgress }: DownloadOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { host } = new URL(url)
  const stop = new AbortController()
  const ended = AbortSignal.any([signal, stop.signal])
  const within = async <Value>(ms: number, reason: Error, work: Promise<Value>): Promise<Value> => {
    const timer = setTimeout(() => stop.abort(reason), ms)
    try {
      return await work
    } catch (error) {
      throw ended.aborted ? (ended.reason as Error) : error
    } finally {
      clearTimeout(timer)
    }
  }

  try {
    const response = await within(
      limits.answerMs,
      new SourceUnreachable(`${host} did not respond within ${seconds(limits.answerMs)}`),
      // Requests the raw bytes, because the hash is that of the file itself.
      fetch(url, { signal: ended, headers: { 'accept-encoding': 'identity' } }),
    ).catch((error: unknown) => {
      throw error instanceof TypeError
        ? new SourceUnreachable(`${host} cannot be reached (${reasonOf(error)})`)
        : error
    })
    if (!response.ok || response.body === null) throw new Error(`${host} responded with ${response.status}`)

    const length = Number(response.headers.get('content-length') ?? Number.NaN)
    const totalBytes = Number.isNaN(length) ? undefined : length
    const reader = response.body.getReader()
    let receivedBytes = 0
    for (;;) {
      const stalled = new Error(`${host} sent nothing for ${seconds(limits.stallMs)}`)
      const { done, value } = await within(limits.stallMs, stalled, reader.read()).catch((error: unknown) => {
        throw error instanceof TypeError
          ? new Error(`${host} closed the connection (${reasonOf(error)})`)
          : error
      })
      if (done) return
      receivedBytes += value.length
      onProgress?.(receivedBytes, totalBytes)
      yield Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
  } finally {
    // A reader that stops early closes the connection.
    stop.abort()
  }
}

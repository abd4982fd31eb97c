/** Whoever was asked did not answer at all, so there is no use in asking for something else there. */
export class NoAnswer extends Error {}

export interface DownloadLimits {
  /** Until the first line of an answer. */
  answerMs: number
  /** Between two pieces of it. */
  stallMs: number
}

export interface DownloadOptions {
  limits: DownloadLimits
  signal: AbortSignal
  onProgress?: (receivedBytes: number, totalBytes: number | undefined) => void
}

const seconds = (ms: number) => `${ms / 1000} s`

/** The system's word for what went wrong on the way is in the cause of what `fetch` throws, or in its causes. */
const reasonOf = (error: unknown): string => {
  const { cause } = error as { cause?: { code?: string; message?: string; errors?: { code?: string }[] } }
  return cause?.code ?? cause?.errors?.[0]?.code ?? cause?.message ?? String(error)
}

/** The bytes at an address, as they arrive. */
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
      new NoAnswer(`${host} does not answer within ${seconds(limits.answerMs)}`),
      // The bytes as they are: what counts is their hash.
      fetch(url, { signal: ended, headers: { 'accept-encoding': 'identity' } }),
    ).catch((error: unknown) => {
      throw error instanceof TypeError
        ? new NoAnswer(`${host} cannot be reached (${reasonOf(error)})`)
        : error
    })
    if (!response.ok || response.body === null) throw new Error(`${host} answers ${response.status}`)

    const length = Number(response.headers.get('content-length') ?? Number.NaN)
    const totalBytes = Number.isNaN(length) ? undefined : length
    const reader = response.body.getReader()
    let receivedBytes = 0
    for (;;) {
      const stalled = new Error(`${host} sent nothing for ${seconds(limits.stallMs)}`)
      const { done, value } = await within(limits.stallMs, stalled, reader.read()).catch((error: unknown) => {
        throw error instanceof TypeError ? new Error(`${host} broke off (${reasonOf(error)})`) : error
      })
      if (done) return
      receivedBytes += value.length
      onProgress?.(receivedBytes, totalBytes)
      yield Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    }
  } finally {
    // Whoever stops listening half way lets go of the connection.
    stop.abort()
  }
}

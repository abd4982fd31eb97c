/** `fetch` with the progress of the upload, which browsers only report for an `XMLHttpRequest`. */
const readHeaders = (request: XMLHttpRequest): Headers => {
  const headers = new Headers()
  for (const line of request.getAllResponseHeaders().trim().split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return headers
}

/** `onProgress` gets the sent part, from 0 to 1. */
export const createUploadFetch =
  (onProgress: (share: number) => void) =>
  (url: string, init: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.open(init.method ?? 'GET', url)
      for (const [name, value] of new Headers(init.headers)) request.setRequestHeader(name, value)
      request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded / total))
      request.upload.addEventListener('load', () => onProgress(1))
      let output: ReadableStreamDefaultController<Uint8Array> | undefined
      let readCharacters = 0
      const encoder = new TextEncoder()
      const passOn = () => {
        const text = request.responseText.slice(readCharacters)
        readCharacters += text.length
        if (text !== '') output?.enqueue(encoder.encode(text))
      }
      request.addEventListener('readystatechange', () => {
        if (request.readyState !== XMLHttpRequest.HEADERS_RECEIVED) return
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => {
            output = controller
          },
          cancel: () => request.abort(),
        })
        resolve(new Response(body, { status: request.status, headers: readHeaders(request) }))
      })
      request.addEventListener('progress', passOn)
      request.addEventListener('load', () => {
        passOn()
        output?.close()
      })
      const fail = (error: unknown) => {
        reject(error)
        output?.error(error)
      }
      request.addEventListener('error', () => fail(new TypeError('The connection failed.')))
      init.signal?.addEventListener('abort', () => {
        request.abort()
        fail(init.signal?.reason)
      })
      request.send((init.body ?? null) as FormData | null)
    })

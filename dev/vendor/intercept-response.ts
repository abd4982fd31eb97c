import type { ServerResponse } from 'node:http'

/**
 * Buffers the response and passes its body to `send`, which sends another response instead. Status and headers are set by
 * then. Interceptors nest: the last one added is called first.
 */
export function interceptResponse(response: ServerResponse, send: (body: Buffer) => void): void {
  const before = {
    writeHead: response.writeHead.bind(response),
    write: response.write.bind(response),
    end: response.end.bind(response),
  }
  const chunks: Buffer[] = []
  const append = (chunk: unknown): void => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk))
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  response.writeHead = (status: number, ...rest: unknown[]) => {
    response.statusCode = status
    const headers = rest.find((value) => typeof value === 'object' && value !== null) ?? {}
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value as string)
    return response
  }
  response.write = ((chunk: unknown) => {
    append(chunk)
    return true
  }) as ServerResponse['write']
  response.end = ((chunk: unknown) => {
    append(chunk)
    Object.assign(response, before)
    response.removeHeader('content-length')
    send(Buffer.concat(chunks))
    return response
  }) as ServerResponse['end']
}

/** Passes every named value of a JSON response through `change`; undefined drops it. Other responses stay unchanged. */
export function rewriteJson(
  response: ServerResponse,
  change: (name: string, value: unknown) => unknown,
): void {
  interceptResponse(response, (body) => {
    const isJson = String(response.getHeader('content-type') ?? '').includes('json')
    const text = isJson ? JSON.stringify(JSON.parse(body.toString()), change) : body
    response.end(text)
  })
}

import type { ServerResponse } from 'node:http'

/**
 * Keeps back what is about to be answered and hands over its body, status and headers being on the response by then. Who
 * takes it sends what they like instead. Several may do so: the last to ask is the first to be given it.
 */
export function catchAnswer(response: ServerResponse, send: (body: Buffer) => void): void {
  const before = {
    writeHead: response.writeHead.bind(response),
    write: response.write.bind(response),
    end: response.end.bind(response),
  }
  const chunks: Buffer[] = []
  const keep = (chunk: unknown): void => {
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
    keep(chunk)
    return true
  }) as ServerResponse['write']
  response.end = ((chunk: unknown) => {
    keep(chunk)
    Object.assign(response, before)
    response.removeHeader('content-length')
    send(Buffer.concat(chunks))
    return response
  }) as ServerResponse['end']
}

/** Passes every named value of a JSON answer through `change`; undefined drops it. Other answers stay as they are. */
export function rewordJson(
  response: ServerResponse,
  change: (name: string, value: unknown) => unknown,
): void {
  catchAnswer(response, (body) => {
    const isJson = String(response.getHeader('content-type') ?? '').includes('json')
    const text = isJson ? JSON.stringify(JSON.parse(body.toString()), change) : body
    response.end(text)
  })
}

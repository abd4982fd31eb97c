import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'

import { Busboy } from '@fastify/busboy'

/** A create request; only the size of images is used. */
export interface CreateRequest {
  fields: Map<string, string>
  referenceBytes: number
}

/** Reads a create request; returns undefined if it is invalid. */
export async function readCreate(request: IncomingMessage): Promise<CreateRequest | undefined> {
  const contentType = request.headers['content-type'] ?? ''
  if (contentType.startsWith('multipart/form-data')) return readMultipart(request, contentType)
  const text = await readText(request)
  try {
    return readJson(JSON.parse(text))
  } catch {
    return undefined
  }
}

async function readMultipart(
  request: IncomingMessage,
  contentType: string,
): Promise<CreateRequest | undefined> {
  const create: CreateRequest = { fields: new Map(), referenceBytes: 0 }
  try {
    const parser = new Busboy({ headers: { ...request.headers, 'content-type': contentType } })
    parser.on('field', (name, value) => create.fields.set(name, value))
    parser.on('file', (_name, stream) => {
      stream.on('data', (chunk: Buffer) => (create.referenceBytes += chunk.length))
    })
    await pipeline(request, parser)
  } catch {
    return undefined
  }
  return create
}

function readJson(body: unknown): CreateRequest {
  const create: CreateRequest = { fields: new Map(), referenceBytes: 0 }
  for (const [name, value] of Object.entries(body as Record<string, unknown>)) {
    if (typeof value === 'string' || typeof value === 'number') create.fields.set(name, String(value))
  }
  const { input_reference: reference } = body as { input_reference?: { image_url?: string } | null }
  const [, data] = /^data:[^;,]+;base64,(.*)$/s.exec(reference?.image_url ?? '') ?? []
  if (data !== undefined) create.referenceBytes = Buffer.byteLength(data, 'base64')
  return create
}

export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

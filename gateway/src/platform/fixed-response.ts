/** A response that is the same for everybody, compressed once per encoding, with an ETag. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const toBrotli = promisify(brotliCompress)
const toGzip = promisify(gzip)

const compressions = {
  br: async (body: Buffer): Promise<Buffer> =>
    toBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: async (body: Buffer): Promise<Buffer> => toGzip(body),
}
type Encoding = keyof typeof compressions

const encodings = Object.keys(compressions) as Encoding[]

const accepts = (accepted: string, encoding: Encoding) =>
  accepted.split(',').some((each) => {
    const [name, quality] = each
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/)
    return name === encoding && Number(quality ?? 1) > 0
  })

/** The headers of a request, by lower-case name. */
type ReadHeader = (name: string) => string | undefined

export type FixedResponse = (
  header: ReadHeader,
) => Promise<
  | { headers: Record<string, string>; body: Buffer }
  | { status: 304; headers: Record<string, string>; body: undefined }
>

export const createFixedResponse = (
  text: string | Buffer,
  headers: { 'content-type': string; 'cache-control': string } & Record<string, string>,
): FixedResponse => {
  const body = Buffer.from(text)
  const tag = createHash('sha256').update(body).digest('base64url').slice(0, 22)
  // Weak, because all encodings have the same tag.
  const caching = { ...headers, etag: `W/"${tag}"`, vary: 'accept, accept-encoding' }
  const compressed = new Map<Encoding, Promise<Buffer>>()
  const compress = (encoding: Encoding): Promise<Buffer> => {
    const made = compressed.get(encoding) ?? compressions[encoding](body)
    compressed.set(encoding, made)
    return made
  }
  return async (header) => {
    if (header('if-none-match')?.includes(tag) === true) {
      return { status: 304, headers: caching, body: undefined }
    }
    const accepted = header('accept-encoding') ?? ''
    const encoding = encodings.find((each) => accepts(accepted, each))
    return encoding === undefined
      ? { headers: caching, body }
      : { headers: { ...caching, 'content-encoding': encoding }, body: await compress(encoding) }
  }
}

import { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'
import type { FastifyRequest } from 'fastify'

import { noFields, type Fields } from '../body/fields.ts'
import { readJsonBody, type BodyReading } from '../body/json-body.ts'
import { readForm, type FormLimits } from '../body/multipart.ts'
import type { UploadSpool } from '../body/upload-spool.ts'
import { dryRun } from './read-query.ts'

export interface BodySettings {
  form: Omit<FormLimits, keyof FormParts>
  spool: UploadSpool
  /** False where limits are switched off. */
  isGuarded: boolean
}

export type FormParts = Pick<FormLimits, 'fileNames' | 'singleNames' | 'listNames'>

interface FormProperty {
  type?: string
  format?: string
  'x-image'?: boolean
}

/** Which parts of an operation's form may be files, may come only once, or are lists. Only images may be repeated. */
export const formPartsOf = ({ body }: Operation): FormParts => {
  const properties = (body?.form ?? []).flatMap((schema) =>
    Object.entries((schema as { properties?: Record<string, FormProperty> }).properties ?? {}),
  )
  const namesWhere = (isWanted: (property: FormProperty) => boolean) =>
    new Set(properties.filter(([, property]) => isWanted(property)).map(([name]) => name))
  return {
    fileNames: namesWhere(({ format }) => format === 'binary'),
    singleNames: namesWhere((property) => property['x-image'] !== true).add(dryRun),
    listNames: namesWhere(({ type }) => type === 'array'),
  }
}

/** The media type alone, lower-case; empty unless the header is `type/subtype` with plain parameters. */
const mediaTypeOf = (header: string | undefined): string => {
  const match = /^([a-z]+\/[a-z0-9.+-]+)(?:;[\x20-\x7e]*)?$/i.exec(header ?? '')
  return match?.[1]?.toLowerCase() ?? ''
}

/** JSON is always UTF-8. Decoding another charset as UTF-8 would change the text without an error. */
const assertUtf8 = (contentType: string) => {
  for (const [, charset = ''] of contentType.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)/gi)) {
    if (!/^(?:utf-?8|(?:us-)?ascii)$/i.test(charset)) {
      throw new ApiError('invalid_request', {
        message: `The charset '${charset.slice(0, 40)}' is not supported for JSON. Send the body as UTF-8.`,
      })
    }
  }
}

export const readBody = async (
  { body }: Operation,
  request: FastifyRequest,
  reading: BodyReading,
  parts: FormParts,
  { form, spool, isGuarded }: BodySettings,
): Promise<{ fields: Fields; discard: () => Promise<void> }> => {
  if (body === undefined || body.bytes === true) {
    return { fields: noFields, discard: () => Promise.resolve() }
  }
  const contentType = request.headers['content-type']
  const mediaType = mediaTypeOf(contentType)
  if (mediaType === 'application/json' && body.json !== null) {
    assertUtf8(contentType ?? '')
    return readJsonBody(request.raw, reading, { spool, isGuarded, spoolsTexts: body.spoolsTexts === true })
  }
  if (mediaType === 'multipart/form-data' && body.form !== null) {
    const { fileBytesMax } = body
    const fileLimits = fileBytesMax === undefined ? {} : { fileBytesMax, refusedFile: 'file' }
    return readForm(request.raw, reading, { ...form, ...fileLimits, ...parts }, spool)
  }
  const accepted = [body.form && 'multipart/form-data', body.json && 'application/json']
    .filter(Boolean)
    .join(' or ')
  throw new ApiError('invalid_request', {
    message: `Send the body as ${accepted}${mediaType === '' ? '; no usable content type was given' : `, not ${mediaType}`}.`,
  })
}

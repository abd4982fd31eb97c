/** Audio files uploaded with a request. */
import { createReadStream } from 'node:fs'

import { ApiError } from '@kinora/contract/errors'

import type { Fields, ReceivedFile } from '../http/body/fields.ts'
import type { AudioFile } from '../providers/port/transcription.ts'
import type { AudioFormat } from './audio-format.ts'

/** Returns the file of a required form field. */
export const uploadedFile = (fields: Fields, param: string): ReceivedFile => {
  const [file] = fields.files(param)
  if (file === undefined) {
    throw fields.value(param) === undefined
      ? new ApiError('missing_parameter', { param, message: `'${param}' is required.` })
      : new ApiError('invalid_parameter', { param, message: `'${param}' must be sent as a file.` })
  }
  return file
}

/** File name and content type follow from the content, because providers look at either. */
export const audioFileAt = (
  path: string,
  sizeBytes: number,
  { extension, contentType }: AudioFormat,
): AudioFile => ({
  filename: `audio.${extension}`,
  contentType,
  sizeBytes,
  open: async () => createReadStream(path),
})

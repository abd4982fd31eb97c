/** A recording that came with a request, as what it was found to be. */
import { createReadStream } from 'node:fs'

import { ApiError } from '@kinora/contract/errors'

import type { Fields, ReceivedFile } from '../http/body/fields.ts'
import type { AudioFile } from '../providers/port/transcription.ts'
import type { AudioFormat } from './audio-format.ts'

/** The one file a form has under this name. */
export const uploadedFile = (fields: Fields, param: string): ReceivedFile => {
  const [file] = fields.files(param)
  if (file === undefined) {
    throw fields.value(param) === undefined
      ? new ApiError('missing_parameter', { param, message: `'${param}' is required.` })
      : new ApiError('invalid_parameter', { param, message: `'${param}' must be sent as a file.` })
  }
  return file
}

/** Named and typed by its content, because providers go by either. */
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

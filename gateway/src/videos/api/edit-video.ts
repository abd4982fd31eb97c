import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { EditBody } from '@kinora/contract/operations/remixes'

import type { Fields } from '../../http/body/fields.ts'
import type { Handler } from '../../http/call.ts'
import { remix, type RemixDependencies } from './remix-video.ts'

const readVideoId = (fields: Fields): string => {
  if (fields.hasFile('video')) {
    throw new ApiError('invalid_parameter', {
      param: 'video',
      message: `'video' cannot be a file: only videos that were created here can be edited. Send {id} with the id of one.`,
    })
  }
  const given = fields.value('video')
  if (given === undefined) {
    throw new ApiError('missing_parameter', { param: 'video', message: `'video' is required: {id}.` })
  }
  const id = typeof given === 'object' && given !== null && 'id' in given ? given.id : undefined
  if (typeof id === 'string' && id !== '') return id
  throw new ApiError('invalid_parameter', {
    param: 'video',
    message: `'video' must be {id} with the id of a completed video.`,
  })
}

/** A remix whose source is named in the body, as the `openai` SDKs do. */
export const editVideo =
  (dependencies: RemixDependencies): Handler<typeof operations.editVideo> =>
  async (call) =>
    remix(dependencies, call, {
      id: readVideoId(call.fields),
      param: 'video',
      parametersOf: () => EditBody,
    })

import { CharacterBody } from '@kinora/contract/characters'
import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { CharacterMaker } from './make-character.ts'
import { presentCharacter, type CharacterLinks } from './present-character.ts'

const params = { url: 'url', fromTask: 'from_task', timestamps: 'timestamps' }

export const createCharacter =
  ({
    maker,
    ...links
  }: CharacterLinks & { maker: CharacterMaker }): Handler<typeof operations.createCharacter> =>
  async (call) => {
    const { url, from_task: fromTask, timestamps } = call.read(CharacterBody)
    if (url === undefined && fromTask === undefined) {
      throw new ApiError('missing_parameter', {
        param: 'url',
        message: `One of 'url' and 'from_task' is required.`,
      })
    }
    if (url !== undefined && fromTask !== undefined) {
      throw new ApiError('invalid_parameter', {
        param: 'from_task',
        message: `Give 'url' or 'from_task', not both.`,
      })
    }
    const { accountId } = call.caller
    const character = await maker.forLibrary({ accountId, url, fromTask, timestamps, params })
    return { body: presentCharacter(links, character) }
  }

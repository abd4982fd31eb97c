import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import type { Quote } from '@kinora/contract/operations/account'
import { CharacterBody } from '@kinora/contract/operations/characters'
import type { Static } from 'typebox'

import type { Handler } from '../http/call.ts'
import type { CharacterMaker } from './make-character.ts'
import { presentCharacter, type CharacterLinks } from './present-character.ts'

/** The quote for a character: characters are free. */
const freeQuote = (parameters: Static<typeof CharacterBody>, currency: string): Quote => ({
  object: 'quote',
  model: null,
  parameters,
  lines: [],
  total_micros: 0,
  currency,
  fits: true,
  refusal: null,
})

const params = { url: 'url', fromTask: 'from_task', timestamps: 'timestamps' }

export const createCharacter =
  ({
    maker,
    ...links
  }: CharacterLinks & { maker: CharacterMaker }): Handler<typeof operations.createCharacter> =>
  async (call) => {
    const body = call.read(CharacterBody)
    const { url, from_task: fromTask, timestamps } = body
    if (url === undefined && fromTask === undefined) {
      throw new ApiError('missing_parameter', {
        param: 'url',
        message: `Either 'url' or 'from_task' is required.`,
      })
    }
    if (url !== undefined && fromTask !== undefined) {
      throw new ApiError('invalid_parameter', {
        param: 'from_task',
        message: `Give 'url' or 'from_task', not both.`,
      })
    }
    const { accountId } = call.caller
    const request = { accountId, url, fromTask, timestamps, params, isSaved: true }
    if (call.wantsQuote) {
      await maker.check(request, call)
      return { body: freeQuote(body, call.caller.currency) }
    }
    const character = await maker.forLibrary(request, call)
    return { body: presentCharacter(links, character) }
  }

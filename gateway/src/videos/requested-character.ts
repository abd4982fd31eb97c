/** Characters as an order sees them: who they are and which parameters ask for one. What makes them is elsewhere. */
import { ApiError } from '@kinora/contract/errors'

import type { Fields } from '../http/body/fields.ts'
import type { Call } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'

/** As many as one video has room for; further ones stay words of the prompt. */
export const charactersMax = 4

/** The characters of an account that a prompt names as `@username`. */
export type NamedCharacters = (
  accountId: string,
  prompt: string,
) => Promise<{ id: string; username: string }[]>

/** A character that was made for an order. */
export interface RequestedCharacter {
  id: string
  username: string
  /** Notes it in the admission's own transaction; absent for one that is in the library already. */
  record?: (database: Database, taskId: string) => Promise<void>
}

/** What the parameters of an order ask for; each problem is told under the parameter's own name. */
export interface CharacterWish {
  url: string | undefined
  fromTask: string | undefined
  timestamps: string | undefined
  /** Keep it for later prompts. Otherwise it goes with the task. */
  isSaved: boolean
}

/** Makes the character that is wished for and gives it to `work`; if `work` fails, what was made goes again. */
export interface WithCharacter {
  <Result>(
    call: Pick<Call, 'caller' | 'signal' | 'mediaWork' | 'mediaFetch'>,
    wish: CharacterWish | undefined,
    work: (character: RequestedCharacter | undefined) => Promise<Result>,
  ): Promise<Result>
  /** Refuses a wish that cannot come true; nothing is kept of the attempt. */
  check: (
    call: Pick<Call, 'caller' | 'signal' | 'mediaWork' | 'mediaFetch' | 'findInsolvency'>,
    wish: CharacterWish | undefined,
  ) => Promise<void>
}

const invalidCreate = (message: string) =>
  new ApiError('invalid_parameter', { param: 'character_create', message })

const flagOf = (name: string, value: unknown): boolean => {
  if (value === undefined || value === null || value === '') return false
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^\s*(true|false)\s*$/i.test(value)) {
    return value.trim().toLowerCase() === 'true'
  }
  throw invalidCreate(`'${name}' must be true or false.`)
}

/** `character_create` as it may come: an object, its fields in brackets, JSON text, or one boolean. */
const readCreate = (value: unknown): { isSaved: boolean } => {
  const isText = typeof value === 'string' && value.trim().startsWith('{')
  let given = value
  if (isText) {
    try {
      given = JSON.parse(value) as unknown
    } catch (error) {
      throw new ApiError('invalid_parameter', {
        param: 'character_create',
        message: `'character_create' is not valid JSON.`,
        cause: error,
      })
    }
  }
  if (typeof given !== 'object' || given === null) return { isSaved: flagOf('character_create', given) }
  if (Array.isArray(given)) throw invalidCreate(`'character_create' must be an object or a boolean.`)
  const fields = new Map<string, unknown>(Object.entries(given))
  // A portrait is made of every character, so the first option only has to be well-formed.
  flagOf('character_create[create_self_portrait]', fields.get('create_self_portrait'))
  return { isSaved: flagOf('character_create[save_to_library]', fields.get('save_to_library')) }
}

/** Reads what an order says of a character; undefined when it asks for none. */
export const characterWishOf = (
  form: { character_url?: string; character_timestamps?: string; character_from_task?: string },
  fields: Fields,
): CharacterWish | undefined => {
  const { character_url: url, character_from_task: fromTask, character_timestamps: timestamps } = form
  const { isSaved } = readCreate(fields.value('character_create'))
  if (url !== undefined && fromTask !== undefined) {
    throw new ApiError('invalid_parameter', {
      param: 'character_from_task',
      message: `Give 'character_url' or 'character_from_task', not both.`,
    })
  }
  if (url === undefined && fromTask === undefined) {
    if (timestamps === undefined) return undefined
    throw new ApiError('invalid_parameter', {
      param: 'character_timestamps',
      message: `'character_timestamps' needs a video to be taken from: 'character_url' or 'character_from_task'.`,
    })
  }
  return { url, fromTask, timestamps, isSaved }
}

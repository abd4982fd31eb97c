/** The character parameters of an order. Characters are created in `characters/`. */
import { ApiError } from '@kinora/contract/errors'

import type { Fields } from '../http/body/fields.ts'
import type { Call } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'

/** The most characters of one video. Names beyond it remain plain text of the prompt. */
export const charactersMax = 4

/** The characters of an account that a prompt names as `@username`. */
export type NamedCharacters = (
  accountId: string,
  prompt: string,
) => Promise<{ id: string; username: string }[]>

/** A character created for an order. */
export interface RequestedCharacter {
  id: string
  username: string
  /** Records it in the transaction of the admission; absent for a character that is saved to the library already. */
  record?: (database: Database, taskId: string) => Promise<void>
}

/** The character that an order requests. Errors name the parameter concerned. */
export interface CharacterRequest {
  url: string | undefined
  fromTask: string | undefined
  timestamps: string | undefined
  /** Save it for later prompts. Otherwise it is deleted with the task. */
  isSaved: boolean
}

/** Creates the requested character and passes it to `work`; deletes it again if `work` fails. */
export interface WithCharacter {
  <Result>(
    call: Pick<Call, 'caller' | 'signal' | 'mediaWork' | 'mediaFetch'>,
    request: CharacterRequest | undefined,
    work: (character: RequestedCharacter | undefined) => Promise<Result>,
  ): Promise<Result>
  /** Throws if the request cannot be fulfilled. Stores nothing. */
  check: (
    call: Pick<Call, 'caller' | 'signal' | 'mediaWork' | 'mediaFetch'>,
    request: CharacterRequest | undefined,
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

/** Reads `character_create`: an object, its fields in brackets, JSON text, or one boolean. */
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
  // Every character gets a portrait, so this option is only validated.
  flagOf('character_create[create_self_portrait]', fields.get('create_self_portrait'))
  return { isSaved: flagOf('character_create[save_to_library]', fields.get('save_to_library')) }
}

/** Reads the character that an order requests; undefined if it requests none. */
export const readCharacterRequest = (
  form: { character_url?: string; character_timestamps?: string; character_from_task?: string },
  fields: Fields,
): CharacterRequest | undefined => {
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
      message: `'character_timestamps' needs a video: give 'character_url' or 'character_from_task' as well.`,
    })
  }
  return { url, fromTask, timestamps, isSaved }
}

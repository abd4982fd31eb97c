/** `/vidB/v1/characters` and the public pages of characters. */
import { Type, type Static } from 'typebox'

import { Deleted, listFields, listQuery, ObjectType } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { errorsOfBodies, errorsOfSpending, type Operation } from '../operation.ts'

/** `POST /vidB/v1/characters`: exactly one of `url` and `from_task`. */
export const CharacterBody = Type.Object({
  url: Type.Optional(
    Type.String({
      maxLength: 8_192,
      description: 'URL of a video that shows the character. Send either `url` or `from_task`.',
    }),
  ),
  from_task: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'Id of a completed task of your account. Send either `url` or `from_task`.',
    }),
  ),
  timestamps: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        'The part of the video to use: `<start>,<end>` in seconds, between one and three seconds long.',
    }),
  ),
})

const CharacterId = Type.String({ description: 'Id of the character.' })

export const Character = Type.Object({
  id: CharacterId,
  username: Type.String({ description: 'Name of the character. Refer to it in prompts as `@<username>`.' }),
  permalink: Type.String({ description: "URL of the character's page." }),
  profile_picture_url: Type.String({ description: "Signed URL of the character's portrait." }),
})
export type Character = Static<typeof Character>

const CharacterList = Type.Object(listFields(Character, 'The characters on this page.'))

/** `PATCH /vidB/v1/characters/{id}`. */
export const CharacterRename = Type.Object({
  username: Type.String({
    pattern: '^[a-z0-9_.]{3,32}$',
    'x-demand': '3 to 32 lower-case letters, digits, dots or underscores, such as red.panda_7',
    description: 'The new name. It must be unique on this instance.',
  }),
})

const DeletedCharacter = Type.Object({
  id: CharacterId,
  object: ObjectType('character.deleted'),
  deleted: Deleted,
})

const characterId = { id: CharacterId }

export const characterOperations = {
  createCharacter: {
    id: 'createCharacter',
    method: 'POST',
    path: '/vidB/v1/characters',
    summary: 'Create a character',
    description:
      'Creates a character from one to three seconds of a video. Use the character in prompts as `@<username>`.',
    access: 'key',
    scopes: ['create'],
    limit: 'create',
    creates: true,
    body: { form: null, json: [CharacterBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created character.', schema: Character },
    errors: [
      ...errorsOfBodies,
      ...errorsOfSpending,
      'task_not_found',
      'task_not_completed',
      'task_failed',
      'media_expired',
    ],
  },
  listCharacters: {
    id: 'listCharacters',
    method: 'GET',
    path: '/vidB/v1/characters',
    summary: 'List characters',
    description: "Lists the account's characters.",
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: { optionalQuery: listQuery },
    answer: { description: 'A page of characters.', schema: CharacterList },
    errors: ['invalid_parameter'],
  },
  getCharacter: {
    id: 'getCharacter',
    method: 'GET',
    path: '/vidB/v1/characters/{id}',
    summary: 'Get a character',
    description: 'Returns one character of the account.',
    access: 'key',
    scopes: ['read'],
    limit: 'read',
    parameters: { path: characterId },
    answer: { description: 'The character.', schema: Character },
    errors: ['character_not_found'],
  },
  renameCharacter: {
    id: 'renameCharacter',
    method: 'PATCH',
    path: '/vidB/v1/characters/{id}',
    summary: 'Rename a character',
    description: 'Changes the name of a character. Prompts must use the new name from then on.',
    access: 'key',
    scopes: ['create'],
    limit: 'read',
    parameters: { path: characterId },
    body: { form: null, json: [CharacterRename], sizeBytesMax: mebibyte },
    answer: { description: 'The renamed character.', schema: Character },
    errors: [...errorsOfBodies, 'character_not_found'],
  },
  deleteCharacter: {
    id: 'deleteCharacter',
    method: 'DELETE',
    path: '/vidB/v1/characters/{id}',
    summary: 'Delete a character',
    description: 'Deletes a character with its clip and its portrait.',
    access: 'key',
    scopes: ['create'],
    limit: 'read',
    parameters: { path: characterId },
    answer: { description: 'The character was deleted.', schema: DeletedCharacter },
    errors: ['character_not_found'],
  },
  showCharacter: {
    id: 'showCharacter',
    method: 'GET',
    path: '/characters/{username}',
    summary: 'Show the page of a character',
    description:
      "Returns the HTML page of a character. The page of a private character requires the signed query of the character's `permalink`.",
    access: 'none',
    parameters: {
      path: { username: Type.String({ description: 'Name of the character.' }) },
      optionalQuery: {
        expires: Type.String({
          description: 'Unix time in seconds at which the link expires. Only in links to private characters.',
        }),
        key: Type.String({ description: 'Id of the secret that signed the link.' }),
        signature: Type.String({ description: 'Signature of the link.' }),
      },
    },
    answer: { description: 'An HTML page.', contentType: 'text/html' },
    errors: ['invalid_parameter', 'character_not_found', 'link_expired'],
  },
} as const satisfies Record<string, Operation>

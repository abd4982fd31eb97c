import { Type, type Static } from 'typebox'

/** `POST /vidB/v1/characters`: exactly one of `url` and `from_task`. */
export const CharacterBody = Type.Object({
  url: Type.Optional(
    Type.String({ maxLength: 8_192, description: 'A video, of which one to three seconds are used.' }),
  ),
  from_task: Type.Optional(Type.String({ maxLength: 256, description: 'A completed task of yours.' })),
  timestamps: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'The part to use: `<start>,<end>` in seconds, one to three seconds apart.',
    }),
  ),
})

export const Character = Type.Object({
  id: Type.String(),
  username: Type.String({ description: 'Used in prompts as `@<username>`.' }),
  permalink: Type.String({ description: "A public page with the character's profile." }),
  profile_picture_url: Type.String(),
})
export type Character = Static<typeof Character>

export const CharacterList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(Character),
  has_more: Type.Boolean(),
  last_id: Type.Union([Type.String(), Type.Null()]),
})

/** `PATCH /vidB/v1/characters/{id}`. */
export const CharacterRename = Type.Object({
  username: Type.String({
    pattern: '^[a-z0-9_.]{3,32}$',
    'x-demand': '3 to 32 lower-case letters, digits, dots or underscores, such as red.panda_7',
    description: 'The new name, unique on this instance.',
  }),
})

export const DeletedCharacter = Type.Object({
  id: Type.String(),
  object: Type.Literal('character.deleted'),
  deleted: Type.Literal(true),
})

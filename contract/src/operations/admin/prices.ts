/** `/admin/v1/prices`. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Page, pageQuery, Time } from '../../fields.ts'
import { mebibyte } from '../../limits.ts'
import { Currency, Micros, RequestCurrency, RequestMicros, priceConditions } from '../../money.ts'
import { errorsOfBodies, type Operation } from '../../operation.ts'

export const PriceBody = Type.Object({
  model: Type.String({ description: 'Id of the model.' }),
  unit: Type.String({
    description:
      'The unit of the price. Videos are sold by the second or by the call; a price per reference image is added.',
    enum: [
      'second',
      'minute',
      'call',
      'image',
      'million_characters',
      'million_text_input_tokens',
      'million_audio_input_tokens',
      'million_text_output_tokens',
      'million_audio_output_tokens',
    ],
  }),
  resolution: Type.Optional(
    Nullable(
      Type.String({
        pattern: '^\\d{2,5}(x\\d{2,5}|p)$',
        'x-demand': 'a width and a height in pixels such as 1280x720, or a number of lines such as 720p',
        description: 'Width and height, or number of lines, that the price is for; null for all resolutions.',
      }),
    ),
  ),
  sound: Type.Optional(
    Nullable(
      Type.Boolean({ description: 'Whether the price is for videos with or without sound; null for both.' }),
    ),
  ),
  input: Type.Optional(
    Nullable(
      Type.String({
        enum: ['text', 'image', 'video'],
        description:
          'The price is for videos made from text alone, with an image, or from a video; null for all.',
      }),
    ),
  ),
  unit_micros: RequestMicros('Price of one unit.'),
  currency: Type.Optional(RequestCurrency),
  starts_at: Type.Optional(Time('When the price takes effect. Defaults to now.')),
})

export const PriceVersion = Type.Object({
  id: Nullable(Type.String({ description: 'Id of the price; null if no operator set it.' })),
  object: ObjectType('price'),
  model: Type.String({ description: 'Id of the model.' }),
  unit: Type.String({ description: 'The unit of the price.' }),
  ...priceConditions,
  unit_micros: Micros('Price of one unit.'),
  currency: Currency,
  version: Type.Integer({
    description:
      'Version of the price, counted per model, unit and conditions; 0 if no operator set the price.',
  }),
  starts_at: Nullable(Time('When the price takes effect; null if no operator set it.')),
  actor: Nullable(Type.String({ description: 'Id of the operator key that set the price.' })),
  source: Type.String({
    enum: ['catalog', 'file', 'record', 'operator'],
    description:
      'Where the price comes from: the built-in catalog, the providers file, the model as set with the admin API (`record`), or a price set by an operator.',
  }),
})
export type PriceVersion = Static<typeof PriceVersion>

export const priceOperations = {
  listPrices: {
    id: 'listPrices',
    method: 'GET',
    path: '/admin/v1/prices',
    summary: 'List prices',
    description: 'Lists the prices in effect. With `all`, also past and future versions.',
    access: 'operator',
    roles: ['read', 'support', 'finance', 'admin'],
    parameters: {
      optionalQuery: {
        ...pageQuery,
        model: Type.String({ description: 'Only prices of this model.' }),
        all: Type.Boolean({ default: false, description: 'Whether to include past and future versions.' }),
      },
    },
    answer: { description: 'A page of prices.', schema: Page(PriceVersion) },
    errors: ['invalid_parameter'],
  },
  setPrice: {
    id: 'setPrice',
    method: 'POST',
    path: '/admin/v1/prices',
    summary: 'Set a price',
    description: 'Sets a price from now or from a later time. Existing tasks keep their price.',
    access: 'operator',
    roles: ['finance', 'admin'],
    body: { form: null, json: [PriceBody], sizeBytesMax: mebibyte },
    answer: { description: 'The price.', schema: PriceVersion },
    errors: [...errorsOfBodies, 'model_not_found'],
  },
} as const satisfies Record<string, Operation>

/** The config of prices and of costs: a list of rules in one form. */
import { Type, type Static } from 'typebox'

import {
  hasSameConditions,
  priceUnits,
  unitsOfKinds,
  videoInputs,
  type PriceRule,
  type PriceUnit,
} from '../models/price-rule.ts'
import { wholeNumber } from './setting-types.ts'
import type { Problem } from './validate-config.ts'

const unitsText = Object.entries(unitsOfKinds)
  .map(([kind, units]) => `${kind}: ${units.map((unit) => `\`${unit}\``).join(', ')}`)
  .join('; ')

export const priceRuleSchema = Type.Object(
  {
    unit: Type.Enum(Object.keys(priceUnits), { description: `What is counted. ${unitsText}.` }),
    micros: wholeNumber({
      minimum: 0,
      maximum: 1_000_000_000_000,
      description: 'The price of one unit, in millionths of CURRENCY.',
    }),
    resolution: Type.Optional(
      Type.String({
        pattern: '^[1-9][0-9]*(x[1-9][0-9]*|p)$',
        'x-demand': 'a size such as 1280x720, or a number of lines such as 720p',
        description:
          'Only for videos of this size, such as `1280x720`, or of this number of lines, such as `720p`.',
      }),
    ),
    sound: Type.Optional(Type.Boolean({ description: 'Only for videos with sound, or without.' })),
    input: Type.Optional(
      Type.Enum([...videoInputs], {
        description: 'Only for videos made from text alone, with images, or from a video, as a remix is.',
      }),
    ),
  },
  { additionalProperties: false },
)

/** Later sources replace the list as a whole. */
export const priceRules = (description: string) => Type.Array(priceRuleSchema, { minItems: 1, description })

export const rulesOf = (given: Static<typeof priceRuleSchema>[]): PriceRule[] =>
  given.map(({ unit, micros, resolution = null, sound = null, input = null }) => ({
    ...{ unit: unit as PriceUnit, unitMicros: micros, resolution, sound, input },
  }))

const measureOf = ({ unit }: PriceRule) => priceUnits[unit].measures

/** The problems of a list of rules for a kind of model. With `isComplete`, every request must have a price. */
export const problemsOfRules = (
  rules: PriceRule[],
  kind: keyof typeof unitsOfKinds,
  { isComplete }: { isComplete: boolean },
): Problem[] => {
  const units: readonly PriceUnit[] = unitsOfKinds[kind]
  const problems: Problem[] = rules.flatMap((rule, index) => {
    if (!units.includes(rule.unit)) {
      const message = `must be ${units.join(' or ')} for a model of kind ${kind}, not ${rule.unit}`
      return { path: [index, 'unit'], message }
    }
    if (kind !== 'video' && (rule.resolution ?? rule.sound ?? rule.input) !== null) {
      return { path: [index], message: 'cannot have conditions; only videos have them' }
    }
    const isRepeated = rules
      .slice(0, index)
      .some((other) => measureOf(other) === measureOf(rule) && hasSameConditions(other, rule))
    return isRepeated ? { path: [index], message: 'has the same conditions as an earlier rule' } : []
  })
  if (!isComplete || problems.length > 0) return problems
  const isPriced = (unit: PriceUnit) =>
    rules.some(
      (rule) =>
        measureOf(rule) === priceUnits[unit].measures &&
        hasSameConditions(rule, { resolution: null, sound: null, input: null }),
    )
  const missing = units.find((unit) => unit !== 'image' && !isPriced(unit))
  if (missing === undefined) return []
  const others = units.filter(
    (unit) => unit !== 'image' && priceUnits[unit].measures === priceUnits[missing].measures,
  )
  const message = `must have a rule without conditions for ${others.join(' or ')}, which applies if no other does`
  return [{ path: [], message }]
}

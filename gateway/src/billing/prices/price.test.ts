import { expect, test } from 'vitest'

import {
  hasSameConditions,
  priceUnits,
  unitsOfKinds,
  videoInputs,
  type PricedWork,
  type PriceRule,
  type PriceUnit,
} from '../../models/price-rule.ts'
import { costOf, formatQuantity, priceAt, priceOf, pricesFor, totalOf, workOf } from './price.ts'

test('a price keeps its inputs beside its total', () => {
  expect(priceOf('second', 300_000, 25)).toEqual({
    unit: 'second',
    unitMicros: 300_000,
    quantity: 25,
    totalMicros: 7_500_000,
  })
  expect(
    priceAt({ unit: 'call', unitMicros: 5, version: 3, resolution: null, sound: null, input: null }, 1),
  ).toEqual({
    ...{ unit: 'call', unitMicros: 5, quantity: 1, totalMicros: 5, version: 3 },
  })
})

test.each([
  [0, '0'],
  [4, '4'],
  [90.5, '90.5'],
  [0.001, '0.001'],
  [2.7 + 0.1 + 0.2, '3'],
  [1.0004, '1'],
  [12_345_678.9, '12345678.9'],
])('%d counted items are the quantity %s', (counted, text) => {
  expect(formatQuantity(counted)).toBe(text)
})

test.each([
  [2.7, 270],
  [2.701, 271],
  [0.001, 1],
  [86_400, 8_640_000],
])(
  '%d seconds by the minute cost %i micros, and not one more for how a fraction is written',
  (seconds, micros) => {
    expect(priceOf('minute', 6_000, seconds).totalMicros).toBe(micros)
  },
)

/** Random numbers that are the same in every run. */
const randomOf = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Plain arithmetic: looks for a rule with each set of conditions, from the narrowest to none. */
const expectedMicros = (
  rules: PriceRule[],
  unitsOfMeasure: PriceUnit[],
  work: Required<PricedWork>,
): bigint => {
  const exact = `${work.width}x${work.height}`
  const lines = `${Math.min(work.width, work.height)}p`
  const [sound, input] = [work.sound, work.input]
  const narrowing: Pick<PriceRule, 'resolution' | 'sound' | 'input'>[] = [
    { resolution: exact, sound, input },
    { resolution: lines, sound, input },
    { resolution: exact, sound: null, input },
    { resolution: exact, sound, input: null },
    { resolution: lines, sound: null, input },
    { resolution: lines, sound, input: null },
    { resolution: null, sound, input },
    { resolution: exact, sound: null, input: null },
    { resolution: lines, sound: null, input: null },
    { resolution: null, sound: null, input },
    { resolution: null, sound, input: null },
    { resolution: null, sound: null, input: null },
  ]
  for (const conditions of narrowing) {
    const rule = rules.find(
      (each) =>
        unitsOfMeasure.includes(each.unit) &&
        each.resolution === conditions.resolution &&
        each.sound === conditions.sound &&
        each.input === conditions.input,
    )
    if (rule === undefined) continue
    const thousandths = BigInt(Math.round((work.counted[rule.unit] ?? 0) * 1_000))
    const divisor = { minute: 60_000n, second: 1_000n, call: 1_000n, image: 1_000n }[rule.unit as string]
    const by = divisor ?? 1_000_000_000n
    const product = BigInt(rule.unitMicros) * thousandths
    return product / by + (product % by === 0n ? 0n : 1n)
  }
  return 0n
}

test('10,000 random price lists agree with plain arithmetic, and less work never costs more than was held', () => {
  const random = randomOf(20_261_116)
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item
  const micros = () => random(pick([2, 100, 1_000_000, 1_000_000_000]))
  const sizes = [
    [1280, 720],
    [720, 1280],
    [1920, 1080],
    [480, 480],
  ] as const
  for (let round = 0; round < 10_000; round += 1) {
    const rules: PriceRule[] = []
    const add = (unit: PriceUnit, conditions: Partial<PriceRule>) => {
      const rule = { unit, unitMicros: micros(), resolution: null, sound: null, input: null, ...conditions }
      const isSame = (other: PriceRule) =>
        priceUnits[other.unit].measures === priceUnits[unit].measures && hasSameConditions(other, rule)
      if (!rules.some(isSame)) rules.push(rule)
    }
    for (let count = random(12); count > 0; count -= 1) {
      add(pick(unitsOfKinds.video), {
        ...(random(2) === 0 && {
          resolution: pick(['1280x720', '720x1280', '720p', '1080p', '480p', '480x480']),
        }),
        ...(random(2) === 0 && { sound: random(2) === 0 }),
        ...(random(2) === 0 && { input: pick(videoInputs) }),
      })
    }
    add(pick(['second', 'call']), {})
    for (const unit of ['minute', 'million_characters', ...unitsOfKinds.chat] as const) add(unit, {})
    const [width, height] = pick(sizes)
    const seconds = 1 + random(60)
    const [audioSeconds, characters, tokens] = [
      random(90_000_000) / 1_000,
      random(5_000_000),
      random(200_000),
    ]
    const counted = { second: seconds, call: 1, image: random(5), minute: audioSeconds }
    const work = {
      ...{ width, height, sound: random(2) === 0, input: pick(videoInputs) },
      counted: { ...counted, million_characters: characters, million_text_input_tokens: tokens },
    }
    const lines = pricesFor([rules], work)
    const expected = [
      expectedMicros(rules, ['second', 'call'], work),
      expectedMicros(rules, ['image'], work),
      expectedMicros(rules, ['minute'], work),
      expectedMicros(rules, ['million_characters'], work),
      expectedMicros(rules, ['million_text_input_tokens'], work),
    ]
    const held = totalOf(lines)
    expect(BigInt(held)).toBe(expected.reduce((sum, each) => sum + each, 0n))
    expect(lines.every(({ totalMicros }) => Number.isSafeInteger(totalMicros) && totalMicros >= 0)).toBe(true)
    // A part of the work is charged by the same rules, as for an interrupted speech.
    const part = random(1_000) / 1_000
    const done = Object.entries(work.counted).map(([unit, count]) => [unit, count * part])
    const charged = totalOf(pricesFor([rules], { ...work, counted: Object.fromEntries(done) }))
    expect(charged).toBeLessThanOrEqual(held)
    // What a receipt says about the work is what was charged for, so costs follow from it.
    const free = rules.filter((rule) =>
      hasSameConditions(rule, { resolution: null, sound: null, input: null }),
    )
    const plain = pricesFor([free], work)
    expect(costOf(free, workOf(plain))).toBe(totalOf(plain))
  }
})

test('an earlier list decides where it has a rule that applies', () => {
  const rule = (unit: PriceUnit, unitMicros: number, conditions: Partial<PriceRule> = {}): PriceRule => ({
    ...{ unit, unitMicros, resolution: null, sound: null, input: null, ...conditions },
  })
  const operator = [rule('second', 7, { resolution: '720p' })]
  const configured = [rule('second', 5), rule('second', 3, { sound: false, input: 'text' }), rule('image', 2)]
  const at = (width: number) =>
    pricesFor([operator, configured], {
      ...{ counted: { second: 10, call: 1, image: 2 }, width, height: width, sound: false, input: 'text' },
    })
  expect(at(720)).toMatchObject([
    { unit: 'second', totalMicros: 70, resolution: '720p' },
    { unit: 'image', quantity: 2, totalMicros: 4 },
  ])
  expect(at(480)[0]).toEqual({
    ...{ unit: 'second', unitMicros: 3, quantity: 10, totalMicros: 30, sound: false, input: 'text' },
  })
})

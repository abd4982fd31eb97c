import { describe, expect, test } from 'vitest'

import { UsageError } from '../frame/usage-error.ts'
import { formatMoney } from '../terminal/format.ts'
import { chooseByName, refuseSecret } from './choose-by-name.ts'
import { readAmount, readBudget, readNullable } from './read-amount.ts'

describe('amounts', () => {
  test.each([
    ['12.50', 12_500_000],
    ['12', 12_000_000],
    ['0.000001', 1],
    // In binary, neither of these is exact.
    ['4.35', 4_350_000],
    ['1.005', 1_005_000],
    ['999999999.999999', 999_999_999_999_999],
  ])('%s is exact, and is shown as it was entered', (text, micros) => {
    expect(readAmount('<amount>', text)).toBe(micros)
    expect(Number.parseFloat(formatMoney(micros, 'USD').replaceAll(',', ''))).toBe(Number(text))
  })

  test.each(['', '1,5', '1,000.50', '-1', '+1', '1e3', '.5', '5.', '$5', '12.50 USD', '0x10', 'none'])(
    '"%s" is refused',
    (text) => {
      expect(() => readAmount('<amount>', text)).toThrow(UsageError)
    },
  )

  test('neither rounded nor beyond what is exact', () => {
    expect(() => readAmount('<amount>', '0.0000001')).toThrow('more than 6 decimals')
    expect(() => readAmount('<amount>', '99999999999')).toThrow('too large')
  })

  test('a limit can be none, and a budget has a period', () => {
    const read = (text: string | undefined) => readNullable(text, (given) => readAmount('--spend-cap', given))
    expect([read(undefined), read('none'), read('0')]).toEqual([undefined, null, 0])
    expect(readBudget('day=5.00')).toEqual({ period: 'day', limit_micros: 5_000_000 })
    for (const text of ['5.00', 'year=5', 'day=', 'day']) expect(() => readBudget(text)).toThrow(UsageError)
  })
})

describe('names', () => {
  const aquarium = { id: '0199aaaa-0000-7000-8000-000000000001', name: 'Aquarium' }
  const aquaristics = { id: '0199aaab-0000-7000-8000-000000000002', name: 'Aquaristics' }
  const all = [aquarium, aquaristics]
  const choose = (given: string, candidates = all) => chooseByName('account', given, candidates)

  test('a name, an id, or the beginning of one is enough', () => {
    for (const given of [
      'Aquarium',
      'aquarium',
      'Aquariu',
      '0199aaaa',
      aquarium.id,
      aquarium.id.toUpperCase(),
    ]) {
      expect(choose(given)).toBe(aquarium)
    }
    // The whole name of one is the beginning of the other.
    const aqua = { id: '0199aaac-0000-7000-8000-000000000003', name: 'Aqua' }
    expect(choose('Aqua', [...all, aqua])).toBe(aqua)
  })

  test('what is ambiguous is refused, with the ids', () => {
    expect(() => choose('aqua')).toThrow(`Aquarium (${aquarium.id}), Aquaristics (${aquaristics.id})`)
    expect(() => choose('0199aa')).toThrow(UsageError)
    expect(() => choose('Aquarium', [aquarium, { ...aquaristics, name: 'Aquarium' }])).toThrow('Use the id')
    // The beginning of an id is long enough not to be met by chance.
    expect(() => choose('0199')).toThrow('There is no account')
    expect(() => choose('Aquarum')).toThrow('Did you mean Aquarium?')
  })

  test('a name cannot take the place of an id', () => {
    const named = { id: '0199aaad-0000-7000-8000-000000000004', name: '0199aaaa' }
    expect(() => choose('0199aaaa', [...all, named])).toThrow('can be several accounts')
    expect(choose(aquarium.id, [{ ...named, name: aquarium.id }, ...all])).toBe(aquarium)
  })

  test('names of others are shown with their escape codes, and a secret is not repeated', () => {
    const hostile = { ...aquaristics, name: 'Aqua\u001B[2J\u202E' }
    expect(() => choose('aqua', [aquarium, hostile])).toThrow(`Aqua\\u001b[2J\\u202e (${hostile.id})`)
    const secret = `sk-${'a'.repeat(36)}`
    expect(() => refuseSecret(secret)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining(secret) }),
    )
  })
})

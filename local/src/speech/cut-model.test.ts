import { expect, test } from 'vitest'

import { cutModel } from './cut-model.ts'

const field = (number: number, content: Buffer | string) => {
  const bytes = Buffer.from(content as string)
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length % 128) | 128, bytes.length >> 7]
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length]), bytes])
}
const node = (inputs: string[], output: string) =>
  field(1, Buffer.concat([...inputs.map((name) => field(1, name)), field(2, output), field(4, 'Add')]))
const weights = (name: string) => field(5, Buffer.concat([field(8, name), field(9, 'values')]))
const value = (number: number, name: string) => field(number, field(1, name))

/** text + early = plan; plan + style + late = sound. */
const model = Buffer.concat([
  Buffer.from([8, 9]),
  field(
    7,
    Buffer.concat([
      node(['text', 'early'], 'plan'),
      node(['style', 'late'], 'tone'),
      node(['plan', 'tone'], 'sound'),
      field(2, 'whole'),
      ...['early', 'late'].map(weights),
      ...['text', 'style'].map((name) => value(11, name)),
      value(12, 'sound'),
    ]),
  ),
])

const names = ['text', 'style', 'early', 'late', 'plan', 'tone', 'sound']
const namesIn = (half: Buffer) => names.filter((name) => half.includes(name))

test('each half contains exactly the nodes that it needs', () => {
  const { first, second } = cutModel(model, ['plan'])
  expect(namesIn(first())).toEqual(['text', 'early', 'plan'])
  expect(namesIn(second())).toEqual(['style', 'late', 'plan', 'tone', 'sound'])
  // A half is itself a valid model.
  expect(namesIn(cutModel(second(), ['tone']).first())).toEqual(['style', 'late', 'tone'])
})

test('a model without the tensors of the cut is rejected', () => {
  expect(() => cutModel(model, ['melody'])).toThrow('The model has no tensor melody.')
})

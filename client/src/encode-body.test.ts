import { expect, test } from 'vitest'

import { encodeBody } from './encode-body.ts'

test('several files are fields with the same name', async () => {
  const files = [new File(['one'], 'one.png'), new File(['two'], 'two.png')]
  const { body } = await encodeBody({ prompt: 'A kite', input_reference: files }, 'yes')
  expect(body).toBeInstanceOf(FormData)
  expect((body as FormData).getAll('input_reference').map((file) => (file as File).name)).toEqual([
    'one.png',
    'two.png',
  ])
})

import sharp from 'sharp'
import { expect, test } from 'vitest'

import { cutOut } from './cut-out.ts'

function drawing(body: string): Promise<Buffer> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="80" height="80">${body}</svg>`
  return sharp(Buffer.from(svg)).png().toBuffer()
}

const disc = '<circle cx="40" cy="40" r="24" fill="#c02020"/><circle cx="40" cy="40" r="8" fill="#fff"/>'

test.each([
  [
    'a plain background is removed, the same colour inside the subject stays',
    `<rect width="80" height="80" fill="#fff"/>${disc}`,
  ],
  ['a transparent background stays transparent', disc],
])('%s', async (_name, body) => {
  const cut = await cutOut(await drawing(body))
  const { data, info } = await sharp(cut).raw().toBuffer({ resolveWithObject: true })
  expect(info.width).toBeLessThan(60)
  const alphaAt = (x: number, y: number) => data[(y * info.width + x) * 4 + 3]
  expect(alphaAt(0, 0)).toBe(0)
  expect(alphaAt(Math.floor(info.width / 2), Math.floor(info.height / 2))).toBe(255)
})

test('an image without a plain background is not cut out', async () => {
  const gradient =
    '<defs><linearGradient id="g"><stop offset="0" stop-color="#000"/><stop offset="1" stop-color="#fff"/></linearGradient></defs><rect width="80" height="80" fill="url(#g)"/>'
  expect(await cutOut(await drawing(gradient))).toBeUndefined()
})

import { expect, test } from 'vitest'

import { layoutTitle } from './title-lines.ts'

const area = { width: 800, height: 400, sizeMax: 84 }

test('a short title has the largest size, on one line', () => {
  expect(layoutTitle('Jazz', area)).toEqual({ lines: ['Jazz'], fontSize: 84 })
})

test('lines end between words, and none is much shorter than the others', () => {
  const { lines } = layoutTitle('a violinist playing on a rooftop at sunset', { ...area, width: 400 })
  expect(lines.join(' ')).toBe('a violinist playing on a rooftop at sunset')
  const lengths = lines.map(({ length }) => length)
  expect(Math.min(...lengths)).toBeGreaterThan(Math.max(...lengths) / 2)
})

test('Chinese is broken between words, and no line begins with punctuation', () => {
  const { lines } = layoutTitle('春节快乐，万事如意', { width: 400, height: 600, sizeMax: 78 })
  expect(lines).toEqual(['春节快乐，', '万事如意'])
})

test.each(['long words '.repeat(15).trim(), '人工智能改变生活'.repeat(20), 'x'.repeat(160), '🐳'])(
  'the lines of %s fit into the area',
  (text) => {
    const { lines, fontSize } = layoutTitle(text, area)
    expect(fontSize).toBeGreaterThanOrEqual(4)
    expect(lines.length * fontSize).toBeLessThanOrEqual(area.height)
    expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
  },
)

import { expect, test } from 'vitest'
import { parse } from 'yaml'

import { createYamlParser } from './parse-yaml.ts'

/** Parses each text after the other, and compares it with a parser that has seen none of them. */
const parseAll = (texts: string[]): unknown[] => {
  const parseYaml = createYamlParser()
  return texts.map((text) => {
    const { content, problems, lineOf } = parseYaml(text)
    expect(problems, text).toEqual([])
    expect(content, text).toEqual(parse(text, { merge: true, stringKeys: true }))
    const { lineOf: lineInWhole } = createYamlParser()(text)
    for (const path of [['models'], ['models', 'b'], ['models', 'b', 'kind']]) {
      expect(lineOf(path), text).toBe(lineInWhole(path))
    }
    return content
  })
}

const entry = (name: string, seconds = 4) =>
  `  ${name}: # a comment\n    kind: video\n    seconds: [${seconds},\n      8]\n    routes:\n      - { provider: acme }\n`

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const modelsWith = (changed: string) => names.map((name) => entry(name, name === changed ? 5 : 4)).join('')
const head = 'providers:\n  acme:\n    kind: openai\n\nmodels:\n'

interface Content {
  models: Record<string, unknown>
  providers: Record<string, unknown>
}

test('only changed entries are parsed again; the others stay the same objects', () => {
  const [first, second, third] = parseAll([
    `${head}${modelsWith('')}`,
    `${head}${modelsWith('c')}`,
    `${head}${entry('new')}${modelsWith('c')}`,
  ]) as Content[]
  for (const name of names) expect(first?.models[name] === second?.models[name], name).toBe(name !== 'c')
  for (const name of names) expect(third?.models[name]).toBe(second?.models[name])
  expect(second?.providers['acme']).toBe(first?.providers['acme'])
})

test('an entry follows the anchors that it uses, also those of other entries and sections', () => {
  const text = (kind: string, seconds: number) =>
    `providers:\n  acme: &vendor { kind: ${kind} }\nmodels:\n  a: &base { seconds: [${seconds}] }\n` +
    `  b: &more { <<: *base, kind: video }\n  c: { <<: *more, family: A }\n  d: {vendor: *vendor, "e":*base}\n${names
      .slice(4)
      .map((name) => entry(name))
      .join('')}`
  const [, second, third] = parseAll([text('openai', 4), text('openai', 6), text('fal', 6)])
  expect(second).toMatchObject({ models: { c: { seconds: [6] }, d: { e: { seconds: [6] } } } })
  expect(third).toMatchObject({ models: { d: { vendor: { kind: 'fal' } } } })
  expect((third as Content).models['c']).toBe((second as Content).models['c'])
})

test.each([
  [
    'mappings in one line',
    (n: number) => `providers: {acme: {kind: openai}}\nmodels: {b: {seconds: [${n}]}}\n`,
  ],
  ['a document marker', (n: number) => `---\nmodels:\n  b: {seconds: [${n}]}\n`],
  ['lists at the indentation of their key', (n: number) => `models:\n  b:\n  - ${n}\n  - 8\n`],
  [
    'texts that look like entries',
    (n: number) => `models:\n  b:\n    kind: |\n     c: 1\n     # d\n\n     e: ${n}\n`,
  ],
  [
    'names in quotes and numbers as names',
    (n: number) => `models:\n  "b": {kind: ${n}}\n  4: {}\n  '1': {}\n`,
  ],
  ['explicit keys', (n: number) => `models:\n  ? b\n  : {kind: ${n}}\n`],
  ['merged entries', (n: number) => `x:\n  y: &z {b: ${n}}\nmodels:\n  <<: *z\n  c: 1\n`],
  ['entries without a value', (n: number) => `providers:\nmodels:\n  b:\n  c:\n  d: ${n}\n`],
  ['Windows line ends', (n: number) => `models:\r\n  a: 1\r\n  b:\r\n    kind: ${n}\r\n`],
])('%s are read as by the YAML parser', (_, text) => {
  parseAll([text(1), text(2), text(2), text(3)])
})

test('errors are found in a changed entry as in the whole file', () => {
  const good = `${head}${modelsWith('')}`
  for (const bad of [
    `${good}  x: {kind: [}\n`,
    `${good}${entry('a')}`,
    `${good}  x:\n    kind: a\n    kind: b\n`,
    `${good}  x: *nothing\n`,
    `${good}models:\n  x: 1\n`,
    `${good}  x: "no end\n`,
  ]) {
    const parseYaml = createYamlParser()
    parseYaml(good)
    const { problems } = parseYaml(bad)
    expect(problems, bad).toEqual(createYamlParser()(bad).problems)
    expect(problems.length, bad).toBeGreaterThan(0)
    expect(parseYaml(good)).toMatchObject({ problems: [], content: parse(good) as object })
  }
})

test('any number of entries may use an anchor', () => {
  const text = (seconds: number) =>
    `models:\n  b: &base { seconds: [${seconds}] }\n${Array.from({ length: 500 }, (_, index) => `  m${index}: { <<: *base, also: *base }\n`).join('')}`
  const { content, problems } = createYamlParser()(text(4))
  expect(problems).toEqual([])
  expect(content).toMatchObject({ models: { m499: { seconds: [4], also: { seconds: [4] } } } })
})

test('an alias without an anchor is reported with its line', () => {
  const { problems } = createYamlParser()('models:\n  a: *later\n  b: &later 1\n  c: *later\n')
  expect(problems).toEqual([
    {
      line: 2,
      message: '*later has no anchor; write &later at an earlier value, or remove it',
      isFatal: true,
    },
  ])
})

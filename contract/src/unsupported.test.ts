import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import { operations } from './operations.ts'
import { findOutOfScope, outOfScope, unsupportedOperations } from './unsupported.ts'

const library = fileURLToPath(new URL('../../node_modules/openai', import.meta.url))

/** Every path that the package requests, without its query, with `{id}` for each parameter. */
const requested = [
  ...new Set(
    ['resources', 'lib']
      .flatMap((folder) =>
        readdirSync(`${library}/${folder}`, { recursive: true, encoding: 'utf8' }).map(
          (file) => `${library}/${folder}/${file}`,
        ),
      )
      .filter((file) => file.endsWith('.mjs'))
      .flatMap((file) => [
        ...readFileSync(file, 'utf8').matchAll(
          /[cC]lient\s*\.(get|post|put|patch|delete|getAPIList)\(\s*(?:path\s*)?['`]\/([^'`?]+)/g,
        ),
      ])
      .map(([, method = '', path = '']) => ({
        method: method === 'getAPIList' ? 'GET' : method.toUpperCase(),
        path: path.replaceAll(/\$\{[^}]+\}/g, '{id}'),
      }))
      .map(({ method, path }) => `${method} ${path}`),
  ),
]

const shapeOf = (path: string) => path.replaceAll(/\{\w+\}/g, '{id}')
const answered = new Set(
  [...Object.values(operations), ...unsupportedOperations].map(
    ({ method, path }) => `${method} ${shapeOf(path).replace(/^\/v1\//, '')}`,
  ),
)

/** The service answers 405 for these, with the methods that the path has. */
const otherMethods = ['DELETE models/{id}']

test('every path of the openai package is an operation, or has the reason why not', () => {
  expect(requested.length).toBeGreaterThan(150)
  const unexplained = requested.filter(
    (request) => !answered.has(request) && findOutOfScope(request.split(' ')[1] ?? '') === undefined,
  )
  expect(unexplained).toEqual(otherMethods)
})

test('no reason hides an operation', () => {
  const hidden = Object.values(operations)
    .filter(({ path }) => path.startsWith('/v1/'))
    .map(({ path }) => path.slice('/v1/'.length))
    // A reason there is for the other methods of a path, and for paths below it.
    .filter((path) => findOutOfScope(path) !== undefined)
  expect(new Set(hidden)).toEqual(
    new Set(['chat/completions', 'audio/voices', 'audio/voices/{model}/{voice}/sample.mp3']),
  )
})

test('the package still calls each group that has a reason', () => {
  const unused = Object.keys(outOfScope).filter(
    (begin) => !requested.some((request) => `${request.split(' ')[1]}/`.startsWith(`${begin}/`)),
  )
  expect(unused).toEqual([])
})

test('every reason says what to do, or that there is nothing', () => {
  for (const [begin, reason] of Object.entries(outOfScope)) {
    expect(reason, begin).toMatch(/^[A-Z][^]{20,500}\.$/)
    expect(reason, begin).not.toMatch(/undefined|\$\{/)
  }
})

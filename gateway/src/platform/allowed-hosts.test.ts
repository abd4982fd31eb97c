import { expect, test } from 'vitest'

import { AllowedHosts } from './allowed-hosts.ts'

const local = new AllowedHosts(['localhost', '127.0.0.1', '[::1]'])

test.each([
  'localhost',
  'localhost:8787',
  'LOCALHOST:80',
  '127.0.0.1',
  '127.0.0.1:8787',
  '[::1]',
  '[::1]:8787',
])('%s is allowed', (header) => {
  expect(local.problemWith(header)).toBeUndefined()
})

test.each([
  undefined,
  '',
  ':8787',
  'evil.example',
  'evil.example:8787',
  'localhost.evil.example',
  'evil.example/localhost',
  'localhost@evil.example',
  'localhost:8787@evil.example',
  'localhost:evil.example',
  'localhost.',
  ' localhost',
  'localhost evil.example',
  '127.0.0.2',
  '127.0.0.1.evil.example',
  '[::1]evil.example',
  '[::2]',
  '::1',
])('%s is not allowed', (header) => {
  expect(local.problemWith(header)).toContain('add the host to ALLOWED_HOSTS')
})

test('the host of an own URL is allowed too', () => {
  const hosts = local.and('https://Media.Example:8443/api')
  expect(hosts.problemWith('media.example')).toBeUndefined()
  expect(hosts.problemWith('localhost')).toBeUndefined()
  expect(hosts.problemWith('example')).toContain('add the host to ALLOWED_HOSTS')
})

test('without a list every host is allowed', () => {
  const any = new AllowedHosts([]).and('https://media.example')
  expect(any.problemWith('evil.example')).toBeUndefined()
  expect(any.problemWith(undefined)).toBeUndefined()
})

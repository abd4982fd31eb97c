import { expect, test } from 'vitest'

import { ProviderFailure } from '../../port/failure.ts'
import { explainFailure, type FailedTest } from './explain-failure.ts'

const explain = (exchange: Partial<NonNullable<FailedTest['exchange']>>, failure?: ProviderFailure) =>
  explainFailure({
    provider: 'acme',
    host: 'api.acme.example',
    failure: failure ?? new ProviderFailure('unknown', 'test failed'),
    exchange: { what: 'test', method: 'GET', path: '/v1/models', status: undefined, answer: '', ...exchange },
  })

test.each([
  ['ENOTFOUND', 'could not be resolved'],
  ['EAI_AGAIN', 'could not be resolved'],
  ['ECONNREFUSED', 'refused the connection'],
  ['EHOSTUNREACH', 'cannot be reached from here'],
  ['TimeoutError', 'did not answer in time'],
  ['UND_ERR_CONNECT_TIMEOUT', 'did not answer in time'],
  ['CERT_HAS_EXPIRED', 'certificate of api.acme.example is not valid (CERT_HAS_EXPIRED)'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'NODE_EXTRA_CA_CERTS'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate of api.acme.example is not valid'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate of api.acme.example is not valid'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'does not speak TLS'],
  ['EPROTO', 'does not speak TLS'],
  ['HPE_INVALID_CONSTANT', 'does not speak HTTP'],
  ['UND_ERR_SOCKET', 'closed the connection without an answer'],
])('the network error %s is explained, with the setting to check', (answer, text) => {
  const message = explain({ answer })
  expect(message).toContain(text)
  expect(message).toContain('api.acme.example')
  expect(message).toContain('base_url')
})

test('a refused key is named, whatever status the vendor uses for it', () => {
  const message = explain({ status: 400 }, new ProviderFailure('unauthorized', 'API key not valid'))
  expect(message).toBe(
    'The provider refused the key (400): set a valid one with api_key of PUT /admin/v1/providers/acme, or apiKey in PROVIDERS_FILE.',
  )
})

test('a token request that gets no answer is not a failure of base_url', () => {
  expect(explain({ what: 'token', answer: 'ENOTFOUND' })).toMatch(
    /^The token_uri of the service account could/,
  )
})

test('a failure of this machine is not one of the provider', () => {
  const failure = new ProviderFailure('not_delivered', 'test failed: EMFILE', { isLocal: true })
  expect(explain({ answer: 'EMFILE' }, failure)).toContain('says nothing about the provider')
})

import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'

/** The account and time of a webhook; tests may forge each. */
export interface Claims {
  requestId: string
  userId?: string
  atSeconds?: number
}

/** Signs webhooks of the queue protocol, with rotating keys. */
export interface FalSigner {
  /** The document at `/.well-known/jwks.json`. */
  jwks: () => { keys: unknown[] }
  /** Signs with a new key from now on; the former stays published unless it is dropped. */
  rotate: (former: 'published' | 'dropped') => void
  headersOf: (body: string | Buffer, claims: Claims) => Record<string, string>
}

export function createFalSigner(): FalSigner {
  let pairs = [generateKeyPairSync('ed25519')]
  return {
    jwks: () => ({
      // A key of another kind, as published lists have.
      keys: [
        { kty: 'RSA', use: 'enc', kid: 'other', n: 'AQAB', e: 'AQAB' },
        ...pairs.map(({ publicKey }, index) => ({
          ...publicKey.export({ format: 'jwk' }),
          use: 'sig',
          kid: `key-${index}`,
        })),
      ],
    }),
    rotate: (former) => {
      pairs = [generateKeyPairSync('ed25519'), ...(former === 'published' ? pairs : [])]
    },
    headersOf: (body, claims) => signedHeaders(pairs[0]?.privateKey, body, claims),
  }
}

function signedHeaders(
  key: KeyObject | undefined,
  body: string | Buffer,
  { requestId, userId = 'user-of-tests', atSeconds = Math.floor(Date.now() / 1000) }: Claims,
): Record<string, string> {
  if (key === undefined) throw new Error('there is no key to sign with')
  const digest = createHash('sha256').update(body).digest('hex')
  const message = [requestId, userId, String(atSeconds), digest].join('\n')
  return {
    'x-fal-webhook-request-id': requestId,
    'x-fal-webhook-user-id': userId,
    'x-fal-webhook-timestamp': String(atSeconds),
    'x-fal-webhook-signature': sign(null, Buffer.from(message), key).toString('hex'),
  }
}

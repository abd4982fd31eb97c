import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'

/** Whom and when a webhook is said to be from; each may be a lie that a test wants told. */
export interface Claims {
  requestId: string
  userId?: string
  atSeconds?: number
}

/** Signs webhooks as the queue protocol wants them, with keys that change when told to. */
export interface FalSigner {
  /** The document at `/.well-known/jwks.json`. */
  jwks: () => { keys: unknown[] }
  /** Signs from now on with another key; the former stays published unless it is dropped. */
  rotate: (former: 'kept' | 'dropped') => void
  headersOf: (body: string | Buffer, claims: Claims) => Record<string, string>
}

export function createFalSigner(): FalSigner {
  let pairs = [generateKeyPairSync('ed25519')]
  return {
    jwks: () => ({
      // One of another kind beside them, as published lists have.
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
      pairs = [generateKeyPairSync('ed25519'), ...(former === 'kept' ? pairs : [])]
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

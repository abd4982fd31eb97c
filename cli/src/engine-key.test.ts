import { createPrivateKey, createPublicKey } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { openEngineKey, publicKeyOf } from './engine-key.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-engine-key-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const decoded = (text: string) => {
  const number = [...text].reduce((sum, digit) => sum * 58n + BigInt(digits.indexOf(digit)), 0n)
  return number.toString(16).padStart(64, '0')
}

test('the key pair is created once, and only its owner can read the private key', async () => {
  const created = await openEngineKey(join(directory, 'new'))
  expect(created.publicKey).toMatch(/^publickeyv1_[1-9A-HJ-NP-Za-km-z]{43,44}$/)
  expect((await stat(created.privateKeyFile)).mode & 0o777).toBe(0o600)
  expect(await readFile(created.publicKeyFile, 'utf8')).toBe(`${created.publicKey}\n`)
  const pem = await readFile(created.privateKeyFile, 'utf8')
  const { x = '' } = createPublicKey(createPrivateKey(pem)).export({ format: 'jwk' })
  expect(decoded(created.publicKey.slice('publickeyv1_'.length))).toBe(
    Buffer.from(x, 'base64url').toString('hex'),
  )
  expect(await openEngineKey(join(directory, 'new'))).toEqual(created)
})

test('a public key with leading zeros keeps them', () => {
  // Its public key begins with a zero byte.
  const seed = (byte: number) => {
    const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
    const key = createPrivateKey({
      key: Buffer.concat([prefix, Buffer.alloc(32, 0).fill(byte, 31), Buffer.alloc(0)]),
      format: 'der',
      type: 'pkcs8',
    })
    return key.export({ type: 'pkcs8', format: 'pem' }).toString()
  }
  for (let byte = 0; byte < 256; byte += 1) {
    const { x = '' } = createPublicKey(createPrivateKey(seed(byte))).export({ format: 'jwk' })
    const raw = Buffer.from(x, 'base64url')
    const text = publicKeyOf(seed(byte)).slice('publickeyv1_'.length)
    expect(decoded(text)).toBe(raw.toString('hex'))
    expect(text.startsWith('1')).toBe(raw[0] === 0)
  }
})

test('a damaged private key is not replaced silently', async () => {
  await writeFile(join(directory, 'private.pem'), 'damaged')
  await expect(openEngineKey(directory)).rejects.toThrow(/private\.pem is not a private key\. Delete it/)
})

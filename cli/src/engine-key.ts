/**
 * The key pair with which Restate signs its calls. Workers that know the public key refuse every other call. It is created
 * once in its own directory: `private.pem` for Restate, and `public.key` for the workers.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

export interface EngineKey {
  privateKeyFile: string
  publicKeyFile: string
  /** As ENGINE_IDENTITY_KEYS expects it. */
  publicKey: string
}

const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** The base58 encoding of Bitcoin: a number in base 58, preceded by a 1 for each leading zero byte. */
const base58 = (bytes: Buffer): string => {
  let number = BigInt(`0x0${bytes.toString('hex')}`)
  let text = ''
  for (; number > 0n; number /= 58n) text = digits.charAt(Number(number % 58n)) + text
  const leadingZeros = bytes.findIndex((byte) => byte !== 0)
  return '1'.repeat(leadingZeros < 0 ? bytes.length : leadingZeros) + text
}

export const publicKeyOf = (privatePem: string): string => {
  const { x = '' } = createPublicKey(createPrivateKey(privatePem)).export({ format: 'jwk' })
  return `publickeyv1_${base58(Buffer.from(x, 'base64url'))}`
}

/** Writes the whole file or nothing: a crash must not leave an incomplete key. */
const writeWhole = async (file: string, text: string, mode: number) => {
  const unfinished = `${file}.unfinished`
  await rm(unfinished, { force: true })
  await writeFile(unfinished, text, { mode })
  const handle = await open(unfinished)
  await handle.sync()
  await handle.close()
  await rename(unfinished, file)
}

const readPrivateKey = async (file: string): Promise<string> => {
  const stored = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  if (stored !== undefined) return stored
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  await writeWhole(file, pem, 0o600)
  return pem
}

/** Reads the key pair of a directory, or creates it. */
export const openEngineKey = async (directory: string): Promise<EngineKey> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const privateKeyFile = resolve(join(directory, 'private.pem'))
  const publicKeyFile = resolve(join(directory, 'public.key'))
  const pem = await readPrivateKey(privateKeyFile)
  let publicKey: string
  try {
    publicKey = publicKeyOf(pem)
  } catch (error) {
    throw new Error(`${privateKeyFile} is not a private key. Delete it to create a new one.`, {
      cause: error,
    })
  }
  await writeWhole(publicKeyFile, `${publicKey}\n`, 0o644)
  return { privateKeyFile, publicKeyFile, publicKey }
}

/** `kinora admin create`: creates an operator key from the database alone. */
import { operatorRoles, type OperatorRole } from '@kinora/contract/operator-key'
import { loadSettings } from '@kinora/gateway/config'
import { createOperatorKey as createKey } from '@kinora/gateway/seed'

const daysMax = 36_500

const readRole = (text: string): OperatorRole => {
  const role = operatorRoles.find((each) => each === text)
  if (role !== undefined) return role
  throw new Error(`--role must be one of ${operatorRoles.join(', ')}, got "${text}".`)
}

/** The time after this number of days; undefined for "never". */
const readExpiry = (text: string): Date | undefined => {
  if (text === 'never') return undefined
  const days = Number(text)
  if (/^\d+$/.test(text) && days >= 1 && days <= daysMax) return new Date(Date.now() + days * 86_400_000)
  throw new Error(`--expires must be a number of days between 1 and ${daysMax}, or "never", got "${text}".`)
}

export const createOperatorKey = async (given: {
  name: string
  role: string
  expires: string
}): Promise<void> => {
  const role = readRole(given.role)
  const expiresAt = readExpiry(given.expires)
  const settings = loadSettings(['DATABASE_URL', 'LOG_LEVEL', 'KEY_HASH_SECRETS', 'AUDIT_SECRETS'])
  const text = await createKey(settings, { name: given.name, role, expiresAt, userId: process.getuid?.() })
  const expiry =
    expiresAt === undefined ? 'does not expire' : `expires on ${expiresAt.toISOString().slice(0, 10)}`
  process.stdout.write(`${text}\n`)
  process.stderr.write(
    `The key has the role ${role} and ${expiry}. Save it now: only its hash is stored, so it cannot be shown again.\n`,
  )
}

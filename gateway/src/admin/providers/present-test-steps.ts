import type { adminOperations } from '@kinora/contract/admin-operations'
import type { Static } from 'typebox'

import type { AccessTest } from '../../providers/port/access.ts'

type Step = Static<typeof adminOperations.testProvider.answer.schema>['steps'][number]

const names = ['configuration', 'address', 'key'] as const
const titles = {
  configuration: 'Read the configuration',
  address: 'Call the address',
  key: 'Verify the key',
}
const passed = {
  configuration: 'The configuration is valid.',
  address: 'The provider answered as its protocol defines.',
  key: 'The provider accepted the key.',
}
const answered = 'The provider answered, so the address is right.'

/** The explanation of a failure has the reason before the colon, and the repair after it. */
const repairOf = (message: string): string => {
  const [, ...rest] = message.split(': ')
  const repair = rest.join(': ')
  return repair === '' ? message : `${repair.charAt(0).toUpperCase()}${repair.slice(1)}`
}

/** The steps of a test of a provider. Its one call shows the address and the key, so only the address takes time. */
export const presentTestSteps = ({
  failedAt,
  isKeyVerified,
  durationMs,
  message,
}: Pick<AccessTest, 'failedAt' | 'isKeyVerified' | 'durationMs' | 'message'>): Step[] =>
  names.map((name, index): Step => {
    const step = { name, title: titles[name], duration_ms: name === 'address' ? durationMs : 0, repair: null }
    if (failedAt === name) return { ...step, result: 'failed', message, repair: repairOf(message) }
    if (failedAt !== undefined && names.indexOf(failedAt) < index) {
      return { ...step, result: 'skipped', duration_ms: 0, message: 'An earlier step failed.' }
    }
    if (name === 'key' && !isKeyVerified) return { ...step, result: 'unknown', message }
    if (name === 'address' && failedAt === 'key') return { ...step, result: 'passed', message: answered }
    return { ...step, result: 'passed', message: passed[name] }
  })

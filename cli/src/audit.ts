/** `kinora audit`: audits the ledger from the database alone. */
import { loadSettings } from '@kinora/gateway/config'
import { auditLedger } from '@kinora/gateway/main'

/** Prints the findings and returns the exit code: 1 if any invariant is violated. */
export const audit = async ({ isJson }: { isJson: boolean }): Promise<number> => {
  const { findings, durationMs } = await auditLedger(loadSettings(['DATABASE_URL', 'LOG_LEVEL']))
  const violated = findings.filter(({ violations }) => violations > 0)
  const isSound = violated.length === 0
  const lines = findings.flatMap(({ invariant, violations, examples, meaning }) => [
    `${violations === 0 ? 'ok      ' : 'VIOLATED'}  ${invariant}${violations === 0 ? '' : `: ${violations}`}`,
    ...(violations === 0
      ? []
      : [`          ${meaning}`, ...examples.map((example) => `          ${example}`)]),
  ])
  const summary = isSound
    ? `The ledger is consistent (${durationMs} ms).`
    : `The ledger is inconsistent: ${violated.length} of ${findings.length} invariants are violated (${durationMs} ms).`
  const text = isJson
    ? JSON.stringify({ is_sound: isSound, duration_ms: durationMs, findings })
    : [...lines, summary].join('\n')
  process.stdout.write(`${text}\n`)
  return isSound ? 0 : 1
}

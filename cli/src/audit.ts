/** `kinora audit`: the books, audited from the record alone. */
import { loadSettings } from '@kinora/gateway/config'
import { auditBooks } from '@kinora/gateway/main'

/** Prints what was found; the exit code is 1 where anything was. */
export const audit = async ({ isJson }: { isJson: boolean }): Promise<number> => {
  const { findings, durationMs } = await auditBooks(loadSettings(['DATABASE_URL', 'LOG_LEVEL']))
  const broken = findings.filter(({ violations }) => violations > 0)
  const isSound = broken.length === 0
  const lines = findings.flatMap(({ invariant, violations, examples, meaning }) => [
    `${violations === 0 ? 'holds ' : 'BROKEN'}  ${invariant}${violations === 0 ? '' : `: ${violations}`}`,
    ...(violations === 0 ? [] : [`        ${meaning}`, ...examples.map((example) => `        ${example}`)]),
  ])
  const summary = isSound
    ? `The books are sound (${durationMs} ms).`
    : `The books are not sound: ${broken.length} of ${findings.length} rules are broken (${durationMs} ms).`
  const text = isJson
    ? JSON.stringify({ is_sound: isSound, duration_ms: durationMs, findings })
    : [...lines, summary].join('\n')
  process.stdout.write(`${text}\n`)
  return isSound ? 0 : 1
}

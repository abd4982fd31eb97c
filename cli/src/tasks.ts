/** `kinora tasks why`: prints the explanation that the admin API gives of a task. */
import { adminOperations } from '@kinora/contract/admin-operations'
import type { TaskExplanation } from '@kinora/contract/operations/admin/task-explanations'
import { adminUrlOf, loadSettings } from '@kinora/gateway/config'

import { isTerminal, style, wrapFrom } from './terminal/print.ts'

const timeoutMs = 30_000

/** On a terminal, the sentences are wrapped and apart, and the first says what happened. */
const showSentences = (sentences: string[]): string => {
  if (!isTerminal()) return sentences.join('\n')
  const [first = '', ...others] = sentences.map((sentence) => wrapFrom(0, sentence))
  return [style('bold', first), ...others].join('\n\n')
}

/** What the admin API says about a failed request. */
interface Problem {
  error?: { message?: string }
}

export const explain = async (
  id: string,
  { url, isJson }: { url: string | undefined; isJson: boolean },
): Promise<void> => {
  const settings = loadSettings(['HOST', 'PORT', 'PUBLIC_URL', 'ADMIN_HOST', 'ADMIN_PORT', 'OPERATOR_KEY'])
  const key = settings.OPERATOR_KEY
  if (key === undefined) {
    throw new Error(
      'OPERATOR_KEY is not set. Set it to the key of an operator; `kinora admin create --role read` creates one.',
    )
  }
  const base = url ?? adminUrlOf(settings)
  const path = adminOperations.explainTask.path.replace('{id}', encodeURIComponent(id))
  const response = await fetch(`${base.replace(/\/+$/, '')}${path}`, {
    headers: { authorization: `Bearer ${key.reveal()}` },
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    throw new Error(`The admin API at ${base} cannot be reached. Start it, or name another with --url.`, {
      cause: error,
    })
  })
  const body = (await response.json().catch(() => ({}))) as TaskExplanation & Problem
  if (!response.ok) {
    throw new Error(
      body.error?.message ?? `${base} responded with ${response.status}. Is it the admin API of Kinora?`,
    )
  }
  process.stdout.write(`${isJson ? JSON.stringify(body) : showSentences(body.sentences)}\n`)
}

/** Prints one line per attack when it ends; for a failed test also the responses to the attacker's requests. */
import type { Reporter, TestCase, TestModule } from 'vitest/node'

import { printTotals } from '../kit/print-totals.ts'

declare module 'vitest' {
  interface TaskMeta {
    attack?: { line: string; answers: Record<string, number>; ownDelayMs: number }
  }
}

const out = (line: string) => process.stdout.write(`${line}\n`)

// oxlint-disable-next-line import/no-default-export -- the runner takes no other
export default class PrintAttacks implements Reporter {
  #suite = ''

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result()
    if (state === 'skipped') return
    const suite = test.parent.type === 'suite' ? test.parent.name : ''
    if (suite !== this.#suite) out(`${suite}:`)
    this.#suite = suite
    const { attack } = test.meta()
    if (attack === undefined) {
      out(`${test.name}: no result`)
      for (const { message } of errors) out(`  ${message}`)
      return
    }
    out(attack.line)
    if (state !== 'failed') return
    out(
      `  answers to the attacker: ${JSON.stringify(attack.answers)}; delay of the probes themselves: ` +
        `p99 ${attack.ownDelayMs.toFixed(0)} ms`,
    )
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message: string }[]): void {
    printTotals(modules, errors)
  }
}

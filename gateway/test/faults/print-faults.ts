/** Prints one line per fault when it ends; for a failed test also the first examples of the damage. */
import type { Reporter, TestCase, TestModule } from 'vitest/node'

import { printTotals } from '../kit/print-totals.ts'

declare module 'vitest' {
  interface TaskMeta {
    fault?: { line: string; examples: string[] }
  }
}

const out = (line: string) => process.stdout.write(`${line}\n`)

// oxlint-disable-next-line import/no-default-export -- the runner takes no other
export default class PrintFaults implements Reporter {
  #suite = ''

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result()
    const { fault } = test.meta()
    if (state === 'skipped') return
    const suite = test.parent.type === 'suite' ? test.parent.name : ''
    if (suite !== this.#suite) out(`${suite}:`)
    this.#suite = suite
    const seconds = ((test.diagnostic()?.duration ?? 0) / 1_000).toFixed(0)
    if (fault !== undefined) out([`${fault.line}  (${seconds} s)`, ...fault.examples].join('\n  '))
    if (state !== 'failed') return
    if (fault === undefined) out(`${test.name}: no result`)
    for (const { message } of errors) out(`  ${message}`)
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message: string }[]): void {
    printTotals(modules, errors)
  }
}

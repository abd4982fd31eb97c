/** Prints each test with what it has measured. */
import type { Reporter, TestCase, TestModule } from 'vitest/node'

import { printTotals } from '../kit/print-totals.ts'

const out = (line: string) => process.stdout.write(`${line}\n`)

// oxlint-disable-next-line import/no-default-export -- the runner takes no other
export default class PrintQueries implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result()
    out(`${state === 'passed' ? '✓' : '✗'} ${test.name}`)
    for (const line of test.meta().lines ?? []) out(`    ${line}`)
    for (const { message, diff } of errors) out(`  ${diff ?? message}`)
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message: string }[]): void {
    printTotals(modules, errors)
  }
}

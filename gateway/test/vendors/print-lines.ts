/** Prints one line per test, and a summary at the end. */
import type { Reporter, TestCase, TestModule } from 'vitest/node'

import { type Findings, noFindings } from './findings.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** The finding of the test as text. */
    line?: string
    findings?: Partial<Findings>
  }
}

const marks = { passed: '✓', failed: '✗', skipped: '-', pending: '-' }

// oxlint-disable-next-line import/no-default-export -- the runner takes no other
export default class PrintLines implements Reporter {
  #sum = { ...noFindings }

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result()
    const { line, findings = {} } = test.meta()
    for (const [name, count] of Object.entries(findings)) this.#sum[name as keyof Findings] += count ?? 0
    process.stdout.write(`${marks[state]} ${test.fullName}${line === undefined ? '' : `: ${line}`}\n`)
    for (const { message, diff = '' } of errors ?? []) process.stdout.write(`  ${message}\n${diff}`)
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message: string }[]): void {
    for (const { message } of errors) process.stdout.write(`${message}\n`)
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const countOf = (state: string) => tests.filter((test) => test.result().state === state).length
    const broken = modules.flatMap((module) => module.errors())
    for (const { message } of broken) process.stdout.write(`${message}\n`)
    const { tasks, faults, lost, chargedTwice, duplicates, forgeries } = this.#sum
    process.stdout.write(
      `${faults.toLocaleString('en')} faults in ${tasks.toLocaleString('en')} tasks: ${lost} lost, ` +
        `${chargedTwice} charged twice, ${duplicates} duplicate jobs (paid by nobody's customer), ` +
        `${forgeries} forgeries believed; ${countOf('passed')} passed, ${countOf('failed') + broken.length} failed\n`,
    )
  }
}

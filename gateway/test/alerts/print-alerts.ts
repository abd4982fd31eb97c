/** Prints one line per fault, and the table of docs/proofs.md at the end. */
import type { TaskMeta } from 'vitest'
import type { Reporter, TestCase, TestModule } from 'vitest/node'

type Figures = NonNullable<TaskMeta['figures']>[number]

const lineOf = ({ alert, fault, firedSeconds, clearedSeconds }: Figures): string =>
  `| \`${alert}\` | ${fault} | ${firedSeconds.toFixed(0)} | ${clearedSeconds.toFixed(0)} |`

// oxlint-disable-next-line import/no-default-export -- the runner takes no other
export default class PrintAlerts implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result()
    const { figures = [] } = test.meta()
    process.stdout.write(`${[`${state} ${test.name}`, ...figures.map(lineOf)].join('\n')}\n`)
    for (const { message } of errors ?? []) process.stdout.write(`  ${message}\n`)
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message: string }[]): void {
    for (const { message } of [...errors, ...modules.flatMap((module) => module.errors())])
      process.stdout.write(`${message}\n`)
    const rows = modules
      .flatMap((module) => [...module.children.allTests()])
      .flatMap((test) => test.meta().figures ?? [])
      .map(lineOf)
    const head = ['| alert | fault | fired after, s | cleared after the repair, s |', '|---|---|---|---|']
    process.stdout.write(`\n${[...head, ...rows].join('\n')}\n`)
  }
}

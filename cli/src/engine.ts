/** `kinora engine check`: compares Restate with the database and repairs the difference. */
import { loadConfig } from '@kinora/gateway/config'
import { checkEngine } from '@kinora/gateway/main'

/** Returns the exit code: 1 if something had to be repaired. */
export const check = async ({ isJson }: { isJson: boolean }): Promise<number> => {
  const report = await checkEngine(loadConfig())
  const { openTasks, invocations, woken, lost, overdue, resumed, killed, repairs } = report
  const lines = [
    `tasks that Restate should carry: ${openTasks}`,
    `invocations of Restate: ${invocations}`,
    `loops that did not run, started again: ${woken.length}${woken.map((name) => `\n  ${name}`).join('')}`,
    `tasks that Restate did not carry, started again: ${lost}`,
    `tasks past their deadline or with an unprocessed outcome, started again: ${overdue}`,
    `paused invocations, resumed: ${resumed}`,
    `invocations of tasks that have ended, killed: ${killed}`,
    repairs === 0 ? 'Nothing had to be repaired.' : 'Run the command again to see whether this was enough.',
  ]
  process.stdout.write(`${isJson ? JSON.stringify(report) : lines.join('\n')}\n`)
  return repairs === 0 ? 0 : 1
}

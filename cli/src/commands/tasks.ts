/** Commands for the tasks of all accounts. */
import { defineCommand } from '../frame/command.ts'
import { currencyOption, operatorOptions, pageLimitOption, yesOption } from './operator-options.ts'

const id = { id: { summary: 'id of the task' } } as const

export const taskCommands = [
  defineCommand({
    words: 'tasks list',
    group: 'Operate',
    summary: 'Search the tasks of all accounts, newest first.',
    options: {
      account: { type: 'text', value: 'name', summary: 'only tasks of this account' },
      model: { type: 'text', short: 'm', value: 'id', summary: 'only tasks of this model' },
      provider: { type: 'text', value: 'name', summary: 'only tasks of this provider' },
      status: {
        type: 'text',
        choices: ['pending', 'processing', 'completed', 'failed'],
        summary: 'only tasks in this state',
      },
      error: { type: 'text', value: 'code', summary: 'only tasks that failed with this code' },
      ...pageLimitOption,
      ...operatorOptions,
    },
    example: 'kinora tasks list --account Aquarium --status failed',
    run: async (input) => (await import('../operator/tasks.ts')).listTasks(input),
  }),
  defineCommand({
    words: 'tasks why',
    group: 'Operate',
    summary: 'Tell what happened to a task, why, and what to do.',
    arguments: { id: { summary: 'id of a task, or of a request (req_…) that was rejected' } },
    options: operatorOptions,
    example: 'kinora tasks why vidB-2:1794783873-00wr0CHx8hiNIb',
    run: async (input) => (await import('../operator/tasks.ts')).explainTask(input),
  }),
  defineCommand({
    words: 'tasks retry',
    group: 'Operate',
    summary: 'Create a new task with the parameters of a failed one. The account is charged as for any task.',
    arguments: id,
    options: operatorOptions,
    example: 'kinora tasks retry vidB-2:1794783873-00wr0CHx8hiNIb',
    run: async (input) => (await import('../operator/tasks.ts')).retryTask(input),
  }),
  defineCommand({
    words: 'tasks refund',
    group: 'Operate',
    summary: 'Refund what a task or a request has cost, or a part of it.',
    arguments: {
      id: { summary: 'id of the task or of the request' },
      amount: {
        summary: 'how much, such as 1.50; by default all that is not refunded yet',
        isOptional: true,
      },
    },
    options: {
      reason: { type: 'text', isRequired: true, value: 'text', summary: 'the reason, for the audit log' },
      reference: {
        type: 'text',
        value: 'text',
        summary: 'your own reference; a refund that repeats it is not made again',
      },
      ...currencyOption,
      ...yesOption,
      ...operatorOptions,
    },
    example: 'kinora tasks refund vidB-2:1794783873-00wr0CHx8hiNIb 0.20 --reason "blurred frames"',
    run: async (input) => (await import('../operator/tasks.ts')).refundTask(input),
  }),
]

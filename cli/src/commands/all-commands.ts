/** Every command, in the order of the help. A new one needs a row in one of these tables. */
import type { Command } from '../frame/command.ts'
import { accountCommands } from './accounts.ts'
import { completionCommand } from './completion.ts'
import { followCommands } from './follow.ts'
import { makeCommands } from './make.ts'
import { operateCommands } from './operate.ts'
import { runCommands } from './run.ts'
import { logCommands, moneyCommands, providerCommands } from './services.ts'
import { taskCommands } from './tasks.ts'
import { webhookCommands } from './webhooks.ts'

export const commands: readonly Command[] = [
  ...makeCommands,
  ...followCommands,
  ...webhookCommands,
  ...accountCommands,
  ...moneyCommands,
  ...taskCommands,
  ...logCommands,
  ...providerCommands,
  ...operateCommands,
  ...runCommands,
  completionCommand,
]

/** What the commands with the same first word are for, in all groups or in one. */
export const nouns: Record<string, string> = {
  video: 'Create, follow and manage videos',
  'Make video': 'Create videos',
  'Follow video': 'Follow and manage videos',
  models: 'The models of the service, and the files of the built-in provider',
  'Run models': 'Model files of the built-in provider',
  characters: 'Characters for prompts',
  webhooks: 'Receive, inspect and repeat webhooks',
  accounts: 'Accounts of customers, or the own account',
  keys: 'API keys',
  plans: 'Plans of subscriptions',
  providers: 'Providers of the models',
  'Operate models': 'Add models and explain their routes',
  config: 'Settings and the providers file',
  admin: 'Operator keys, and signing in to the console',
  tasks: 'Inspect, retry and refund tasks',
  storage: 'Inspect and move stored media',
  engine: 'Inspect Restate',
}

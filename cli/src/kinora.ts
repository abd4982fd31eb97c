#!/usr/bin/env node
/** The `kinora` command: all roles of the service, the operator's commands and those of its callers. */
import { readFileSync } from 'node:fs'
import nodeModule from 'node:module'

// The modules that follow need more than older versions have, and would fail with errors that do not help.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `Kinora needs Node 22.18 or later; this is ${process.version} (${process.execPath}).\nInstall a newer one: https://nodejs.org/en/download\n`,
  )
  process.exit(1)
}

// The compile cache applies only to modules that are imported after this call, hence the dynamic imports.
nodeModule.enableCompileCache()
const { commands, nouns } = await import('./commands/all-commands.ts')
const { describeError, runWords } = await import('./frame/run-command.ts')

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}
const words = process.argv.slice(2)

try {
  process.exitCode = await runWords({ version, commands, nouns }, words)
} catch (error) {
  const { escapeControls } = await import('./frame/safe-text.ts')
  const { text, exitCode } = describeError(error)
  // It may have the words of a service, a provider or a file.
  process.stderr.write(`${escapeControls(text)}\n`)
  const { isRole, waitIfTold } = await import('./role.ts')
  if (exitCode === 78 && isRole(words[0])) await waitIfTold()
  // An open IPC channel to the parent process would keep this one alive.
  process.exit(exitCode)
}
